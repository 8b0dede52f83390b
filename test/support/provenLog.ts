/**
 * A small log, written from the definitions of RFC 6962 and C2SP with node:crypto alone: the tests of the verifier use no code of the
 * program that serves the log.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto"
import type { KeyObject } from "node:crypto"
import canonicalize from "canonicalize"

export const canonical = (value: unknown): string => canonicalize(value) ?? ""

export const sha256 = (...parts: ReadonlyArray<string | Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const leafHash = (entry: string) => sha256(Uint8Array.of(0), entry)
const nodeHash = (left: Uint8Array, right: Uint8Array) => sha256(Uint8Array.of(1), left, right)

/** The largest power of two below `count`. */
const split = (count: number): number => 2 ** Math.ceil(Math.log2(count) - 1)

/** MTH of RFC 6962, 2.1. */
export const rootOf = (leaves: ReadonlyArray<Buffer>): Buffer => {
  const [only] = leaves
  if (only === undefined) return sha256("")
  if (leaves.length === 1) return only
  const left = split(leaves.length)
  return nodeHash(rootOf(leaves.slice(0, left)), rootOf(leaves.slice(left)))
}

/** PATH of RFC 6962, 2.1.1. */
const pathOf = (index: number, leaves: ReadonlyArray<Buffer>): ReadonlyArray<Buffer> => {
  if (leaves.length <= 1) return []
  const left = split(leaves.length)
  return index < left
    ? [...pathOf(index, leaves.slice(0, left)), rootOf(leaves.slice(left))]
    : [...pathOf(index - left, leaves.slice(left)), rootOf(leaves.slice(0, left))]
}

/** An Ed25519 key of signed notes: 1 signs notes, 4 cosigns. */
export const noteKey = (name: string, type: 1 | 4 = 1) => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const material = Buffer.concat([
    Uint8Array.of(type),
    publicKey.export({ format: "der", type: "spki" }).subarray(-32)
  ])
  const id = sha256(`${name}\n`, material).subarray(0, 4)
  return {
    name,
    id,
    privateKey,
    verifierKey: `${name}+${id.toString("hex")}+${material.toString("base64")}`
  }
}

export interface NoteKey {
  readonly name: string
  readonly id: Buffer
  readonly privateKey: KeyObject
  readonly verifierKey: string
}

const line = ({ id, name }: NoteKey, signature: Buffer) =>
  `— ${name} ${Buffer.concat([id, signature]).toString("base64")}\n`

export const signatureLine = (key: NoteKey, body: string) =>
  line(key, sign(null, Buffer.from(body), key.privateKey))

export const cosignatureLine = (key: NoteKey, body: string, seconds: number) => {
  const at = Buffer.alloc(8)
  at.writeBigUInt64BE(BigInt(seconds))
  const signed = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`), key.privateKey)
  return line(key, Buffer.concat([at, signed]))
}

export const checkpointBody = (origin: string, entries: ReadonlyArray<string>) =>
  `${origin}\n${entries.length}\n${rootOf(entries.map(leafHash)).toString("base64")}\n`

/** A proof file by c2sp.org/tlog-proof; a string stands for extra data as it is. */
export const proofFile = (options: {
  readonly entries: ReadonlyArray<string>
  readonly index: number
  readonly key: NoteKey
  readonly extra?: Readonly<Record<string, string>> | string
  readonly cosigned?: ReadonlyArray<readonly [key: NoteKey, seconds: number]>
  readonly origin?: string
}): string => {
  const { entries, extra, index, key } = options
  const body = checkpointBody(options.origin ?? key.name, entries)
  const data = typeof extra === "string" || extra === undefined ? extra : canonical(extra)
  return [
    "c2sp.org/tlog-proof@v1\n",
    data === undefined ? "" : `extra ${Buffer.from(data).toString("base64")}\n`,
    `index ${index}\n`,
    ...pathOf(index, entries.map(leafHash)).map((hash) => `${hash.toString("base64")}\n`),
    "\n",
    body,
    "\n",
    signatureLine(key, body),
    ...(options.cosigned ?? []).map(([witness, seconds]) => cosignatureLine(witness, body, seconds))
  ].join("")
}

/** A sealed prediction, with everything that opens it. */
export const sealed = (fields: Readonly<Record<string, unknown>> = {}) => {
  const challengeId = "01a1fc93-cf15-7009-bfbe-56ab2106280a"
  const body = canonical({
    agent_id: "01a1fc93-4966-77af-ae60-9f02bae5a6cd",
    challenge_id: challengeId,
    kind: "directional",
    reasoning_sha256: sha256("lower highs for six hours").toString("hex"),
    received_at: "2026-11-21T05:28:27.724Z",
    revision: 0,
    values: { confidence: 0.7, direction: "bearish" },
    ...fields
  })
  const salt = randomBytes(32)
  const commit = sha256("auspex/commit/v1\0", salt, body).toString("hex")
  return {
    body,
    salt: salt.toString("hex"),
    commit,
    entry: canonical({ c: commit, challenge_id: challengeId, type: "prediction.commit" }),
    receipt: canonical({ body, commit, leaf_index: null, salt: salt.toString("hex") })
  }
}

export type Sealed = ReturnType<typeof sealed>

export const openingOf = ({ body, entry, salt }: Sealed) => ({ body, entry, salt })

/** This many other entries of the log. */
export const otherEntries = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) =>
    canonical({ c: sha256(String(index)).toString("hex"), type: "other" })
  )

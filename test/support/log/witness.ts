/**
 * A witness by c2sp.org/tlog-witness. It parses, verifies and cosigns with code of its own, so that the service's requests are read
 * as others read them.
 */
import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Effect } from "effect"
import { fakeServer } from "./fakeServer.ts"
import type { ReceivedRequest, FakeServer, Reply } from "./fakeServer.ts"
import { rootsByConsistency } from "./rfc6962.ts"

interface LogKey {
  readonly name: string
  readonly id: string
  readonly key: KeyObject
}

interface Head {
  readonly size: number
  readonly root: string
}

export interface Witness extends FakeServer {
  readonly name: string
  readonly verifierKey: string
  /** The value of its setting. */
  readonly setting: string
  /** The heads it knows of each log, by origin; a test may delete them. */
  readonly heads: Map<string, Head>
  /** The signature line under a note's text. */
  readonly cosign: (text: string, seconds?: number) => string
}

/** The witness's time: close to the beginning of a test's clock. */
const aMoment = 100

const logKey = (text: string): LogKey => {
  // Base64 contains plus signs, too.
  const [name = "", id = "", ...rest] = text.split("+")
  const encoded = rest.join("+")
  const x = Buffer.from(encoded, "base64").subarray(1).toString("base64url")
  return { name, id, key: createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } }) }
}

/** True if one of the keys signed the text. */
const isSigned = (text: string, signatures: ReadonlyArray<string>, keys: ReadonlyArray<LogKey>): boolean =>
  signatures.some((line) => {
    const [dash, name, encoded = ""] = line.split(" ")
    const bytes = Buffer.from(encoded, "base64")
    const known = keys.find((key) => key.name === name && key.id === bytes.subarray(0, 4).toString("hex"))
    return (
      dash === "—" && known !== undefined && verify(null, Buffer.from(text), known.key, bytes.subarray(4))
    )
  })

const isConsistent = (old: Head, head: Head, proof: ReadonlyArray<string>): boolean => {
  if (old.size === 0 || old.size === head.size) return proof.length === 0
  const roots = rootsByConsistency({
    oldSize: old.size,
    size: head.size,
    oldRoot: Buffer.from(old.root, "base64"),
    path: proof.map((hash) => Buffer.from(hash, "base64"))
  })
  return roots?.oldRoot.toString("base64") === old.root && roots.root.toString("base64") === head.root
}

/** The answers, in the order of the specification. */
const judge = (
  request: string,
  { cosign, heads, logs }: Pick<Witness, "cosign" | "heads"> & { readonly logs: ReadonlyArray<LogKey> }
): Reply => {
  const parsed =
    /^old (0|[1-9]\d*)\n((?:[A-Za-z0-9+/]{43}=\n){0,63})\n([^\n]+\n(0|[1-9]\d*)\n([A-Za-z0-9+/]{43}=)\n)\n((?:— [^\n]+\n)+)$/.exec(
      request
    )
  if (parsed === null) return { status: 400 }
  const [, oldText, hashes = "", text = "", sizeText, root = "", signatures = ""] = parsed
  const origin = text.split("\n")[0] ?? ""
  const keys = logs.filter(({ name }) => name === origin)
  if (keys.length === 0) return { status: 404 }
  if (!isSigned(text, signatures.trimEnd().split("\n"), keys)) return { status: 403 }
  const head = { size: Number(sizeText), root }
  const oldSize = Number(oldText)
  if (oldSize > head.size) return { status: 400 }
  const known = heads.get(origin) ?? { size: 0, root: "" }
  if (oldSize !== known.size) {
    return { status: 409, headers: { "content-type": "text/x.tlog.size" }, body: `${known.size}\n` }
  }
  if (oldSize === head.size && root !== known.root) return { status: 409 }
  if (!isConsistent(known, head, hashes === "" ? [] : hashes.trimEnd().split("\n"))) return { status: 422 }
  heads.set(origin, head)
  return { status: 200, body: cosign(text) }
}

export const makeWitness = Effect.fnUntraced(function* (name: string, logKeys: ReadonlyArray<string>) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32)
  const typed = Buffer.concat([Buffer.of(4), raw])
  const id = createHash("sha256").update(`${name}\n`).update(typed).digest().subarray(0, 4)
  const verifierKey = `${name}+${id.toString("hex")}+${typed.toString("base64")}`

  const cosign = (text: string, seconds = aMoment): string => {
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(BigInt(seconds))
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey)
    return `— ${name} ${Buffer.concat([id, time, signature]).toString("base64")}\n`
  }
  const heads = new Map<string, Head>()
  const logs = logKeys.map(logKey)
  const work = ({ body, path }: ReceivedRequest): Promise<Reply> =>
    Promise.resolve(
      path === "/add-checkpoint" ? judge(body.toString("utf8"), { cosign, heads, logs }) : { status: 404 }
    )
  const server = yield* fakeServer(work)
  const witness: Witness = {
    ...server,
    name,
    verifierKey,
    setting: `${server.url} ${verifierKey}`,
    heads,
    cosign
  }
  return witness
})

/** True if the line is a cosignature of the text by the holder of the verifier key. */
export const isCosignedBy = (verifierKey: string, text: string, line: string): boolean => {
  const { id, key, name } = logKey(verifierKey)
  const [, ofWhom, encoded = ""] = line.trimEnd().split(" ")
  const bytes = Buffer.from(encoded, "base64")
  const message = `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n${text}`
  return (
    ofWhom === name &&
    bytes.subarray(0, 4).toString("hex") === id &&
    verify(null, Buffer.from(message), key, bytes.subarray(12))
  )
}

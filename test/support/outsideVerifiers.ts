/**
 * Verifiers of transparency logs by other authors.
 *
 * Go's sumdb covers all parts that concern us: note signature, record inclusion, tiles. It is available if Debian's golang-go and
 * golang-golang-x-mod-dev are installed. Sigstore's Verifier checks a log's checkpoint and inclusion first and then the entry's
 * content, which is of no kind that it knows: it has to get that far.
 */
import { execFile } from "node:child_process"
import { createPublicKey } from "node:crypto"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { VerificationError, Verifier } from "@sigstore/verify"
import { DateTime } from "effect"
import { sha256 } from "./provenLog.ts"

const run = promisify(execFile)

/** Debian's directory of Go packages. */
const goPath = "/usr/share/gocode"

const program = fileURLToPath(new URL("outside/trackrecord.go", import.meta.url))

export interface GoVerifier {
  /** Checks a proof file; returns Go's output, or rejects with Go's complaint. */
  readonly proof: (verifierKey: string, proof: string) => Promise<string>
  /** Checks the whole log that a server serves. */
  readonly log: (verifierKey: string, url: string) => Promise<string>
  readonly remove: () => void
}

/** The verifier in Go, or the reason that it is missing. */
export const buildGoVerifier = async (): Promise<GoVerifier | { readonly missing: string }> => {
  if (!existsSync(join(goPath, "src/golang.org/x/mod/sumdb/tlog"))) {
    return { missing: "golang-golang-x-mod-dev is not installed" }
  }
  const directory = mkdtempSync(join(tmpdir(), "auspex-go-"))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  const binary = join(directory, "trackrecord")
  try {
    await run("go", ["build", "-o", binary, program], {
      env: {
        PATH: "/usr/local/go/bin:/usr/bin:/bin",
        GO111MODULE: "off",
        GOPATH: goPath,
        GOCACHE: join(directory, "cache")
      }
    })
  } catch (error) {
    remove()
    return { missing: `go cannot build it: ${String(error)}` }
  }
  const answer = async (...args: ReadonlyArray<string>) => (await run(binary, args)).stdout
  return {
    proof: (verifierKey, proof) => {
      const file = join(directory, `${sha256(proof).toString("hex")}.tlog-proof`)
      writeFileSync(file, proof)
      return answer("proof", verifierKey, file)
    },
    log: (verifierKey, url) => answer("log", verifierKey, url),
    remove
  }
}

/** Sigstore requires it, but checks it for other kinds of entries only. */
const epoch = DateTime.toDateUtc(DateTime.makeUnsafe(0))

/** The subject of an entry for Sigstore: ours are about nothing that it signed. */
const signature = {
  signature: Buffer.alloc(0),
  compareSignature: () => false,
  compareDigest: () => false,
  compareSignedDigest: () => false,
  verifySignature: () => false
}

/** An Ed25519 public key in DER is its 32 bytes after these. */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex")

/** Throws unless Sigstore's verifier accepts the checkpoint's signature and the entry's path to its root. */
export const checkWithSigstore = (verifierKey: string, proof: string): void => {
  const [name = "", , material = ""] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(verifierKey)?.slice(1) ?? []
  const key = Buffer.from(material, "base64")
  const logID = sha256(`${name}\n`, key)
  const publicKey = createPublicKey({
    key: Buffer.concat([derPrefix, key.subarray(1)]),
    format: "der",
    type: "spki"
  })
  const [above = "", ...below] = proof.split("\n\n")
  const [, extra = "", index = "", ...path] = above.split("\n")
  const { entry } = JSON.parse(Buffer.from(extra.slice("extra ".length), "base64").toString())
  const logIndex = index.slice("index ".length)
  const verifier = new Verifier(
    {
      certificateAuthorities: [],
      timestampAuthorities: [],
      ctlogs: [],
      tlogs: [{ logID, baseURL: `https://${name}`, publicKey, validFor: { start: epoch, end: epoch } }],
      publicKey: () => ({ publicKey, validFor: () => true })
    },
    { timestampThreshold: 0 }
  )
  const tlogEntry = {
    logIndex,
    logId: { keyId: logID },
    kindVersion: { kind: "", version: "" },
    integratedTime: "0",
    inclusionPromise: undefined,
    inclusionProof: {
      logIndex,
      rootHash: Buffer.alloc(0),
      treeSize: "0",
      hashes: path.map((hash) => Buffer.from(hash, "base64")),
      checkpoint: { envelope: below.join("\n\n") }
    },
    canonicalizedBody: Buffer.from(String(entry))
  }
  try {
    verifier.verify({
      signature,
      key: { $case: "public-key", hint: "" },
      timestamps: [],
      tlogEntries: [tlogEntry]
    })
  } catch (error) {
    if (!(error instanceof VerificationError) || error.code !== "TLOG_BODY_ERROR") throw error
  }
}

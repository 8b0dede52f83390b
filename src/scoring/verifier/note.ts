/** Signed notes (c2sp.org/signed-note), and the checkpoints in them (c2sp.org/tlog-checkpoint). */
import { Malformed, fromBase64, fromDecimal, hexOf, joined, utf8 } from "./bytes.ts"
import type { Bytes } from "./bytes.ts"
import { isKeyName, isSignedBy } from "./keys.ts"
import type { VerifierKey } from "./keys.ts"

export interface SignatureLine {
  readonly name: string
  /** Four bytes, hex. */
  readonly id: string
  readonly signature: Bytes
}

export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Bytes
  /** The signed text, with its last newline. */
  readonly body: string
  readonly signatures: ReadonlyArray<SignatureLine>
}

/** The formats demand a limit of at least 16. */
const maxSignatures = 100

const signatureLine = (line: string): SignatureLine => {
  const [, name = "", encoded = ""] = /^— ([^ ]*) ([^ ]*)$/s.exec(line) ?? []
  if (!isKeyName(name))
    throw new Malformed("A signature line of the checkpoint is not as it has to be written.")
  const bytes = fromBase64(encoded, "A signature of the checkpoint")
  if (bytes.length < 5) throw new Malformed("A signature of the checkpoint is too short.")
  return { name, id: hexOf(bytes.subarray(0, 4)), signature: bytes.slice(4) }
}

/** Parses the text and its signatures; it verifies none of them. */
export const parseCheckpoint = (note: string): Checkpoint => {
  const split = note.lastIndexOf("\n\n")
  if (split === -1 || !note.endsWith("\n")) throw new Malformed("The checkpoint has no signatures.")
  const body = note.slice(0, split + 1)
  const lines = note.slice(split + 2, -1).split("\n")
  if (lines.length > maxSignatures) throw new Malformed("The checkpoint has too many signatures.")
  const signatures = lines.map(signatureLine)
  const [origin = "", size = "", root = "", ...extensions] = body.slice(0, -1).split("\n")
  if (origin === "" || extensions.includes(""))
    throw new Malformed("The checkpoint is not as it has to be written.")
  const hash = fromBase64(root, "The checkpoint's root hash")
  if (hash.length !== 32) throw new Malformed("The checkpoint's root hash does not have 32 bytes.")
  return { origin, size: fromDecimal(size, "The checkpoint's tree size"), root: hash, body, signatures }
}

const isOf = (key: VerifierKey) => (line: SignatureLine) => line.name === key.name && line.id === key.id

/** Checks the key's signature: `absent` if no line names the key, `wrong` if such a line does not hold. */
export type Signed = "signed" | "wrong" | "absent"

export const signedBy = async (checkpoint: Checkpoint, key: VerifierKey): Promise<Signed> => {
  const line = checkpoint.signatures.find(isOf(key))
  if (line === undefined) return "absent"
  return (await isSignedBy(key, line.signature, utf8(checkpoint.body))) ? "signed" : "wrong"
}

/** Checks a witness's cosignature/v1; a valid one has the time of signing in seconds since 1970. */
export const cosignedBy = async (
  checkpoint: Checkpoint,
  key: VerifierKey
): Promise<{ readonly at: number } | "wrong" | "absent"> => {
  const line = checkpoint.signatures.find(isOf(key))
  if (line === undefined) return "absent"
  if (line.signature.length !== 72) return "wrong"
  const at = new DataView(line.signature.buffer).getBigUint64(line.signature.byteOffset)
  if (at > BigInt(Number.MAX_SAFE_INTEGER)) return "wrong"
  const message = joined(utf8(`cosignature/v1\ntime ${at}\n`), utf8(checkpoint.body))
  const holds = await isSignedBy(key, line.signature.slice(8), message)
  return holds ? { at: Number(at) } : "wrong"
}

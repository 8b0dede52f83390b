/** Signed notes and checkpoints as C2SP writes them (c2sp.org/signed-note, c2sp.org/tlog-checkpoint). */
import { createHash, createPublicKey, sign, verify } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Option } from "effect"

/** The type of Ed25519 signatures in the specification of signed notes. */
export const ed25519Signature = 0x01

const publicKeyLength = 32
const keyIdLength = 4

/** Tests whether a text may name a key, and so be a log's origin: no spaces, plus signs or control characters. */
export const isKeyName = (name: string): boolean => /^[^\p{White_Space}\p{Cc}+]+$/u.test(name)

/** The 32 bytes of an Ed25519 key, private or public. */
export const rawPublicKey = (key: KeyObject): Buffer => {
  const publicKey = key.type === "private" ? createPublicKey(key) : key
  return Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url")
}

const publicKeyOf = (raw: Uint8Array): KeyObject =>
  createPublicKey({
    format: "jwk",
    key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(raw).toString("base64url") }
  })

/** The first four bytes of SHA-256(name "\n" type key). */
export const keyId = (name: string, type: number, publicKey: Uint8Array): Buffer =>
  createHash("sha256")
    .update(`${name}\n`)
    .update(Buffer.of(type))
    .update(publicKey)
    .digest()
    .subarray(0, keyIdLength)

/** A verifier key as text: `name+hex(key id)+base64(type key)`. */
export const verifierKey = (name: string, publicKey: Uint8Array, type = ed25519Signature): string => {
  const encoded = Buffer.concat([Buffer.of(type), publicKey]).toString("base64")
  return `${name}+${keyId(name, type, publicKey).toString("hex")}+${encoded}`
}

export interface Verifier {
  readonly name: string
  readonly type: number
  readonly id: Buffer
  readonly publicKey: KeyObject
}

/** Parses a verifier key of any signature type with an Ed25519 key. */
export const parseVerifierKey = (text: string): Option.Option<Verifier> => {
  const shape = /^(?<name>[^+]+)\+(?<id>[0-9a-f]{8})\+(?<encoded>[A-Za-z0-9+/]+={0,2})$/.exec(text)?.groups
  if (shape === undefined) return Option.none()
  const { name = "", id = "", encoded = "" } = shape
  const bytes = Buffer.from(encoded, "base64")
  const type = bytes[0]
  const raw = bytes.subarray(1)
  if (type === undefined || raw.length !== publicKeyLength || !isKeyName(name)) return Option.none()
  if (bytes.toString("base64") !== encoded || keyId(name, type, raw).toString("hex") !== id) {
    return Option.none()
  }
  return Option.some({ name, type, id: Buffer.from(id, "hex"), publicKey: publicKeyOf(raw) })
}

/** A signature line: em dash, name, and the base64 of the key id and the signature. */
export const signatureLine = (name: string, id: Uint8Array, signature: Uint8Array): string =>
  `\u2014 ${name} ${Buffer.concat([id, signature]).toString("base64")}\n`

/** The signature line of `name` under a text that ends in a newline. */
export const signNote = (text: string, name: string, privateKey: KeyObject): string =>
  signatureLine(
    name,
    keyId(name, ed25519Signature, rawPublicKey(privateKey)),
    sign(null, Buffer.from(text, "utf8"), privateKey)
  )

export interface NoteSignature {
  readonly name: string
  readonly id: Buffer
  readonly signature: Buffer
}

export interface Note {
  /** The signed text, with its last newline. */
  readonly text: string
  readonly signatures: ReadonlyArray<NoteSignature>
}

const parseSignature = (line: string): Option.Option<NoteSignature> => {
  const shape = /^\u2014 (?<name>[^ ]+) (?<encoded>[A-Za-z0-9+/]+={0,2})$/.exec(line)?.groups
  const { name = "", encoded = "" } = shape ?? {}
  const bytes = Buffer.from(encoded, "base64")
  if (!isKeyName(name) || bytes.length <= keyIdLength || bytes.toString("base64") !== encoded) {
    return Option.none()
  }
  return Option.some({ name, id: bytes.subarray(0, keyIdLength), signature: bytes.subarray(keyIdLength) })
}

/** A note may contain no ASCII control characters except newlines. */
const hasForbidden = (text: string) =>
  Array.from(text).some((character) => character < " " && character !== "\n")

/** Parses a note into text and signatures. It checks no signature. */
export const parseNote = (note: string): Option.Option<Note> => {
  const split = note.lastIndexOf("\n\n")
  if (split < 0 || !note.endsWith("\n") || hasForbidden(note)) return Option.none()
  return Option.all(
    note
      .slice(split + 2, -1)
      .split("\n")
      .map(parseSignature)
  ).pipe(Option.map((signatures) => ({ text: note.slice(0, split + 1), signatures })))
}

/**
 * Tests whether the note has a valid signature of this verifier. According to the specification, signatures of others are ignored, and an
 * invalid one of this verifier invalidates the note.
 */
export const isSignedBy = (note: Note, verifier: Verifier): boolean => {
  const theirs = note.signatures.filter(
    (signature) => signature.name === verifier.name && signature.id.equals(verifier.id)
  )
  const message = Buffer.from(note.text, "utf8")
  return (
    verifier.type === ed25519Signature &&
    theirs.length > 0 &&
    theirs.every(({ signature }) => verify(null, message, verifier.publicKey, signature))
  )
}

export interface TreeHead {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** The text of a checkpoint: origin, size and root, without extension lines. */
export const checkpointText = ({ origin, size, root }: TreeHead): string =>
  `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`

/** Parses the tree head of a checkpoint's text. Extension lines are ignored. */
export const parseCheckpointText = (text: string): Option.Option<TreeHead> => {
  const shape =
    /^(?<origin>[^\n]+)\n(?<size>0|[1-9]\d{0,15})\n(?<encoded>[A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*$/.exec(
      text
    )?.groups
  if (shape === undefined) return Option.none()
  const { origin = "", size = "", encoded = "" } = shape
  const root = Buffer.from(encoded, "base64")
  if (root.toString("base64") !== encoded || !Number.isSafeInteger(Number(size))) return Option.none()
  return Option.some({ origin, size: Number(size), root })
}

/** Parses a signed checkpoint. It checks no signature. */
export const parseCheckpoint = (note: string): Option.Option<TreeHead & { readonly note: string }> =>
  Option.flatMap(parseNote(note), ({ text }) =>
    Option.map(parseCheckpointText(text), (head) => ({ ...head, note }))
  )

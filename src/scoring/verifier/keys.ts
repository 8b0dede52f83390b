/** Verifier keys of signed notes (c2sp.org/signed-note): `name+hex(key id)+base64(type, public key)`. */
import { Malformed, fromBase64, hexOf, plain, sha256, utf8 } from "./bytes.ts"
import type { Bytes } from "./bytes.ts"

/** The purpose of an Ed25519 key: it signs notes, or a witness's cosignatures (c2sp.org/tlog-cosignature). */
export type KeyUse = "note" | "cosignature"

const types: Readonly<Record<KeyUse, number>> = { note: 0x01, cosignature: 0x04 }

export interface VerifierKey {
  readonly name: string
  /** Four bytes, hex. */
  readonly id: string
  readonly publicKey: Bytes
}

/** A name is non-empty and has no space or plus sign, so that a signature line has one reading. */
export const isKeyName = (name: string): boolean => /^[^\s+\p{Cc}]+$/u.test(name)

/** Names a key for people by name and id, which every signature line contains. */
export const label = ({ id, name }: { readonly name: string; readonly id: string }): string =>
  `${plain(name)}+${id}`

export const parseVerifierKey = async (text: string, use: KeyUse): Promise<VerifierKey> => {
  const what = `The key "${plain(text)}"`
  const [, name = "", id = "", encoded = ""] = /^([^+]*)\+([^+]*)\+(.*)$/s.exec(text) ?? []
  if (!isKeyName(name) || !/^[0-9a-f]{8}$/.test(id)) {
    throw new Malformed(`${what} is not of the form name+id+base64, as GET /log/key shows it.`)
  }
  const material = fromBase64(encoded, what)
  const type = types[use]
  if (material.length !== 33 || material[0] !== type) {
    throw new Malformed(
      use === "note"
        ? `${what} is not an Ed25519 key of a log (type 0x01).`
        : `${what} is not an Ed25519 key of a witness (type 0x04).`
    )
  }
  const hash = hexOf(await sha256(utf8(`${name}\n`), material))
  if (hash.slice(0, 8) !== id)
    throw new Malformed(`${what} was changed: its id is not that of its name and key.`)
  return { name, id, publicKey: material.slice(1) }
}

/** True if the key signed the message. */
export const isSignedBy = async (key: VerifierKey, signature: Bytes, message: Bytes): Promise<boolean> => {
  if (signature.length !== 64) return false
  const imported = await crypto.subtle.importKey("raw", key.publicKey, { name: "Ed25519" }, false, ["verify"])
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message)
}

import { createHash } from "node:crypto"

/** SHA-256 of what was answered: of one answer that of its bytes, of several that of their hashes in this order. */
export const payloadHashOf = (hashes: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first, ...others] = hashes
  if (first !== undefined && others.length === 0) return first
  return new Uint8Array(createHash("sha256").update(Buffer.concat(hashes)).digest())
}

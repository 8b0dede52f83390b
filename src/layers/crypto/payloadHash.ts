import { createHash } from "node:crypto"

/** SHA-256 of a source's answers: for one answer the hash of its bytes, for several the hash of their hashes, in order. */
export const payloadHashOf = (hashes: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first, ...others] = hashes
  if (first !== undefined && others.length === 0) return first
  return new Uint8Array(createHash("sha256").update(Buffer.concat(hashes)).digest())
}

/** RFC 6962: a tree of SHA-256 hashes over the entries of the log. */
import { Malformed, sha256 } from "./bytes.ts"
import type { Bytes } from "./bytes.ts"

const leafPrefix = Uint8Array.of(0)
const nodePrefix = Uint8Array.of(1)

export const leafHash = (entry: Uint8Array): Promise<Bytes> => sha256(leafPrefix, entry)

/** The root that a path leads to from a leaf (RFC 9162, 2.1.3.2); the path must have exactly the length that the tree demands. */
export const rootFromPath = async (options: {
  readonly leaf: Bytes
  readonly index: number
  readonly size: number
  readonly path: ReadonlyArray<Bytes>
}): Promise<Bytes> => {
  const { index, leaf, path, size } = options
  if (index >= size) throw new Malformed(`There is no entry ${index} in a tree of ${size} entries.`)
  let at = index
  let last = size - 1
  let hash = leaf
  for (const sibling of path) {
    if (last === 0) throw new Malformed("The path to the root has too many hashes.")
    if (at % 2 === 1 || at === last) {
      hash = await sha256(nodePrefix, sibling, hash)
      // A lone last node rises unchanged until it has a sibling.
      while (at % 2 === 0 && at !== 0) {
        at /= 2
        last = Math.floor(last / 2)
      }
    } else {
      hash = await sha256(nodePrefix, hash, sibling)
    }
    at = Math.floor(at / 2)
    last = Math.floor(last / 2)
  }
  if (last !== 0) throw new Malformed("The path to the root has too few hashes.")
  return hash
}

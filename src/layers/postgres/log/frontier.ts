/**
 * A growing Merkle tree of RFC 6962: leaves are prefixed with 0x00, nodes with 0x01. It keeps only the complete subtrees of
 * the right edge, at most one hash a height.
 */
import { hash } from "node:crypto"

const leafPrefix = Buffer.of(0x00)
const nodePrefix = Buffer.of(0x01)

/** Hashes in one call: creating an incremental hash object costs as much as hashing so few bytes. */
const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => hash("sha256", Buffer.concat(parts), "buffer")

/** A tile is the subtree of this height: 256 hashes wide. */
const tileHeight = 8
export const tileWidth = 2 ** tileHeight

/** The length of a hash in bytes. */
export const hashLength = 32

/** Splits hashes that stand one after the other. */
export const hashesIn = (bytes: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from({ length: bytes.length / hashLength }, (_, place) =>
    bytes.subarray(place * hashLength, (place + 1) * hashLength)
  )

export const leafHash = (entry: Uint8Array): Buffer => sha256(leafPrefix, entry)

export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(nodePrefix, left, right)

/** The root of a tree without leaves. */
export const emptyRoot: Buffer = sha256()

/** The root of a full tile: node `n` of level `level` is that of the leaves `[n * 256^level, (n + 1) * 256^level)`. */
export interface FullNode {
  readonly level: number
  readonly n: number
  readonly hash: Buffer
}

/** The last, partial tile of a level in a tree of this size: `floor(size / 256^level) mod 256` hashes from `from` on. */
export const partialTile = (
  size: number,
  level: number
): { readonly from: number; readonly width: number } => {
  const hashes = Math.floor(size / tileWidth ** level)
  const width = hashes % tileWidth
  return { from: hashes - width, width }
}

/** The number of levels of tiles in a tree of this size. */
export const levelsOf = (size: number): number => {
  let levels = 0
  for (let hashes = size; hashes >= 1; hashes /= tileWidth) levels += 1
  return levels
}

export class Frontier {
  #size = 0
  /** The complete subtrees of the right edge by height: height h has one if bit h of `size` is set. */
  readonly #subtrees: Array<Buffer | undefined> = []

  /**
   * Restores the tree of `size` leaves from the last tile of each level: `partialTiles[level]` holds the hashes that
   * `partialTile` names, leaf hashes at level 0. It throws if a tile has too few or too many.
   */
  static resume(size: number, partialTiles: ReadonlyArray<ReadonlyArray<Uint8Array>>): Frontier {
    const frontier = new Frontier()
    // Levels are added from the top, because a hash added below never completes a tile of the level above.
    for (let level = Math.max(levelsOf(size), partialTiles.length) - 1; level >= 0; level--) {
      const hashes = partialTiles[level] ?? []
      const { width } = partialTile(size, level)
      if (hashes.length !== width) {
        throw new RangeError(
          `the last tile of level ${level} of a tree of ${size} has ${width} hashes, not ${hashes.length}`
        )
      }
      for (const hash of hashes) frontier.#add(Buffer.from(hash), level * tileHeight)
    }
    return frontier
  }

  get size(): number {
    return this.#size
  }

  /** Adds a leaf by its hash and returns the roots of the tiles that it completes, from the bottom. */
  append(leaf: Buffer): ReadonlyArray<FullNode> {
    return this.#add(leaf, 0)
  }

  /** RFC 6962 root: the subtrees of the right edge, hashed together from the smallest. */
  root(): Buffer {
    let root: Buffer | undefined
    for (const subtree of this.#subtrees) {
      if (subtree !== undefined) root = root === undefined ? subtree : nodeHash(subtree, root)
    }
    return root ?? emptyRoot
  }

  #add(hash: Buffer, from: number): ReadonlyArray<FullNode> {
    const completed: Array<FullNode> = []
    this.#size += 2 ** from
    let node = hash
    let height = from
    let left = this.#subtrees[height]
    while (left !== undefined) {
      node = nodeHash(left, node)
      this.#subtrees[height] = undefined
      height += 1
      if (height % tileHeight === 0) {
        completed.push({ level: height / tileHeight, n: this.#size / 2 ** height - 1, hash: node })
      }
      left = this.#subtrees[height]
    }
    while (this.#subtrees.length < height) this.#subtrees.push(undefined)
    this.#subtrees[height] = node
    return completed
  }
}

/** The RFC 6962 root over leaf hashes. */
export const rootOf = (leafHashes: Iterable<Uint8Array>): Buffer => {
  const frontier = new Frontier()
  for (const leaf of leafHashes) frontier.append(Buffer.from(leaf))
  return frontier.root()
}

/**
 * Merkle proofs of RFC 6962 from stored entries, whose hashes are the leaves, and stored roots of full tiles. A proof is
 * the roots of a list of ranges of leaves. Each range falls into complete subtrees of at most 128 neighbours on one level of
 * tiles. One statement reads all subtrees and hashes entries in the database, so a proof reads a few hundred index rows
 * however long the log is.
 */
import { Array as Arr, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { tileWidth } from "../../../services/TransparencyLog.ts"
import { findAll, rowsOf } from "../sql.ts"
import { hashesIn, hashLength, nodeHash, rootOf } from "./frontier.ts"

/** The leaves from `from` on, before `to`. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** The largest power of two for which `fits` holds. */
const maxPower = (fits: (power: number) => boolean): number => {
  let power = 1
  while (fits(power * 2)) power *= 2
  return power
}

/** RFC 6962 splits a tree after the largest power of two that is smaller than its size. */
const middleOf = ({ from, to }: Range): number => from + maxPower((power) => power < to - from)

/** RFC 6962 2.1.1, PATH(index, D[from:to]): the ranges of the audit path, the leaf's sibling first. */
export const inclusionRanges = (index: number, tree: Range): ReadonlyArray<Range> => {
  if (tree.to - tree.from === 1) return []
  const middle = middleOf(tree)
  const [left, right] = [
    { from: tree.from, to: middle },
    { from: middle, to: tree.to }
  ]
  return index < middle ? [...inclusionRanges(index, left), right] : [...inclusionRanges(index, right), left]
}

/** RFC 6962 2.1.2, SUBPROOF(oldSize, D[from:to]) without the old tree's root, which the reader knows. */
export const consistencyRanges = (oldSize: number, tree: Range): ReadonlyArray<Range> => {
  if (oldSize === tree.to) return tree.from === 0 ? [] : [tree]
  const middle = middleOf(tree)
  const [left, right] = [
    { from: tree.from, to: middle },
    { from: middle, to: tree.to }
  ]
  return oldSize <= middle
    ? [...consistencyRanges(oldSize, left), right]
    : [...consistencyRanges(oldSize, right), left]
}

/** A complete subtree as neighbours on a level of tiles; level 0 is the leaves. */
interface Subtree {
  readonly level: number
  readonly first: number
  readonly count: number
}

/** The complete subtrees of a range from left to right, the largest first. */
const subtreesOf = ({ from, to }: Range): Arr.NonEmptyReadonlyArray<Subtree> => {
  const leaves = maxPower((power) => power <= to - from)
  let level = 0
  while (tileWidth ** (level + 1) <= leaves) level += 1
  const nodes = tileWidth ** level
  const subtree = { level, first: from / nodes, count: leaves / nodes }
  return from + leaves === to ? [subtree] : [subtree, ...subtreesOf({ from: from + leaves, to })]
}

const Hashes = Schema.Struct({ hashes: Schema.Uint8Array })

const hashesOf = (bytes: Uint8Array, count: number): ReadonlyArray<Uint8Array> => {
  if (bytes.length !== count * hashLength) throw new Error("the log lacks a part of its tree")
  return hashesIn(bytes)
}

/** The root of each range. */
const rootsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, ranges: ReadonlyArray<Range>) {
  const wanted = ranges.map(subtreesOf)
  const subtrees = wanted.flat()
  if (subtrees.length === 0) return []
  const rows = yield* findAll(Hashes)(sql`
    select coalesce(h.hashes, '') as hashes
      from ${rowsOf(sql, "s", subtrees, {
        level: ["int4", ({ level }) => level],
        first: ["int8", ({ first }) => BigInt(first)],
        past: ["int8", ({ count, first }) => BigInt(first + count)]
      })}
     cross join lateral (
       select string_agg(n.hash, ''::bytea order by n.n) as hashes
         from (select index as n, sha256('\\x00'::bytea || entry) as hash
                 from log_entries where s.level = 0 and index >= s.first and index < s.past
               union all
               select n, hash from log_nodes where level = s.level and n >= s.first and n < s.past) n) h
     order by s.position`)
  return yield* Effect.sync(() => {
    const roots = Arr.zipWith(rows, subtrees, ({ hashes }, { count }) => rootOf(hashesOf(hashes, count)))
    let next = 0
    return wanted.map((parts) => {
      const own = roots.slice(next, next + parts.length)
      next += parts.length
      return own.reduceRight((right, left) => nodeHash(left, right))
    })
  })
})

/** The audit path of a leaf in the tree of the first `size` entries, its sibling first. The log must have these entries. */
export const inclusionProof = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  index: number,
  size: number
) {
  if (index < 0 || index >= size) {
    return yield* Effect.die(new RangeError(`there is no leaf ${index} in a tree of ${size}`))
  }
  return yield* rootsOf(sql, inclusionRanges(index, { from: 0, to: size }))
})

/** Proves that the tree of the first `size` entries, which the log must have, begins with the tree of the first `oldSize`. */
export const consistencyProof = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  oldSize: number,
  size: number
) {
  if (oldSize < 0 || oldSize > size) {
    return yield* Effect.die(new RangeError(`a tree of ${size} does not begin with one of ${oldSize}`))
  }
  return yield* rootsOf(sql, oldSize === 0 ? [] : consistencyRanges(oldSize, { from: 0, to: size }))
})

/** The stored tree: the roots of full tiles, and the entries after the last full tile. */
import { Data, Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Checkpoint } from "../../../services/LogSigner.ts"
import { findAll, rowsOf } from "../sql.ts"
import { Frontier, hashesIn, levelsOf, partialTile } from "./frontier.ts"

/** The log contradicts itself or what was signed: nothing is added or signed until an audit finds no difference. */
export class LogFault extends Data.TaggedError("LogFault")<{
  readonly message: string
  /** The checkpoint that was seen and that the log does not contain. */
  readonly lost?: Checkpoint | undefined
}> {}

/** The hashes of the last tile of a level, concatenated. */
const Tile = Schema.Struct({ hashes: Schema.Uint8Array })

/**
 * Reads the trees of the given sizes, each from the last tile of each level: at most 255 hashes a level, never all entries. A
 * tree with missing hashes is none. This happens before every signature, so it is one statement with a row a level.
 */
const treesAt = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, sizes: ReadonlyArray<number>) {
  const tiles = sizes.flatMap((size, tree) =>
    Array.from({ length: levelsOf(size) }, (_, level) => ({ tree, level, ...partialTile(size, level) }))
  )
  if (tiles.length === 0) return sizes.map(() => Option.some(new Frontier()))
  const found = yield* findAll(Tile)(sql`
    select coalesce(l.hashes, ''::bytea) as hashes
      from ${rowsOf(sql, "tile", tiles, {
        level: ["int4", ({ level }) => level],
        first: ["int8", ({ from }) => BigInt(from)],
        past: ["int8", ({ from, width }) => BigInt(from + width)]
      })}
     cross join lateral (
       select case when tile.level = 0 then (
                select string_agg(sha256('\\x00'::bytea || entry), ''::bytea order by index)
                  from (
                    select e.index, e.entry from log_entries e
                     where e.index >= tile.first and e.index < tile.past
                     order by e.index
                     limit 255) e)
              else (
                select string_agg(hash, ''::bytea order by n)
                  from (
                    select n.n, n.hash from log_nodes n
                     where n.level = tile.level and n.n >= tile.first and n.n < tile.past
                     order by n.n
                     limit 255) n) end as hashes) l
     order by tile.position`)
  return sizes.map((size, tree) => {
    const hashes = tiles.flatMap((tile, position) => {
      const row = tile.tree === tree ? found[position] : undefined
      return row === undefined ? [] : [hashesIn(row.hashes)]
    })
    const isWhole = hashes.every((level, height) => level.length === partialTile(size, height).width)
    return isWhole ? Option.some(Frontier.resume(size, hashes)) : Option.none<Frontier>()
  })
})

export const brokenTree = (size: number) =>
  `The stored tree of ${size} entries has another root than was kept.`

/** A tree that must have this root, and the message of the fault if it has another. */
export interface Claim {
  readonly size: number
  readonly root: Uint8Array
  readonly otherwise: string
  /** The checkpoint with this root, if the database may not have it. */
  readonly seen?: Checkpoint | undefined
}

/** Fails with the fault of the first tree that has another root. */
export const requireTrees = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  claims: ReadonlyArray<Claim>
) {
  const trees = yield* treesAt(
    sql,
    claims.map(({ size }) => size)
  )
  const wrong = claims.find(
    ({ root }, place) => !Option.exists(trees[place] ?? Option.none(), (tree) => tree.root().equals(root))
  )
  if (wrong !== undefined) return yield* new LogFault({ message: wrong.otherwise, lost: wrong.seen })
  return trees.flatMap(Option.toArray)
})

/** The tree of `size` entries; fails if it has another root. */
export const treeOfRoot = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  size: number,
  root: Uint8Array
) {
  const otherwise = brokenTree(size)
  const [tree] = yield* requireTrees(sql, [{ size, root, otherwise }])
  return tree ?? (yield* new LogFault({ message: otherwise }))
})

/** True if the stored tree begins with the tree of this head. */
export const isPart = (
  sql: SqlClient.SqlClient,
  { root, size }: { readonly size: number; readonly root: Uint8Array }
) =>
  Effect.map(treesAt(sql, [size]), ([tree]) =>
    Option.exists(tree ?? Option.none<Frontier>(), (each) => each.root().equals(root))
  )

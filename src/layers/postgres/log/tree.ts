/** The tree as it is stored: nodes of full tiles, and the entries after the last of them. */
import { Data, Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { column, many } from "../query.ts"
import { Frontier, levelsOf, partialTile } from "./frontier.ts"

/** The log contradicts what was signed of it, or itself: nothing is added or signed until an audit has found it clean. */
export class LogFault extends Data.TaggedError("LogFault")<{ readonly message: string }> {}

const hashLength = 32

/** The last tile of a level: its hashes, one after the other. */
const Tile = Schema.Struct({ level: Schema.Int, hashes: Schema.Uint8Array })

const hashesOf = (tile: typeof Tile.Type | undefined): ReadonlyArray<Uint8Array> =>
  Array.from({ length: (tile?.hashes.length ?? 0) / hashLength }, (_, place) =>
    (tile?.hashes ?? new Uint8Array()).subarray(place * hashLength, (place + 1) * hashLength)
  )

/**
 * The tree of the first `size` entries, made of the last tile of each of its levels, so at most 255 hashes a level are
 * read, never all entries. Nothing when some of them are missing. It is done before every signature: a row a level is
 * a tenth of the work of a row a hash.
 */
export const treeAt = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, size: number) {
  if (size === 0) return Option.some(new Frontier())
  const tiles = Array.from({ length: levelsOf(size) }, (_, level) => ({ level, ...partialTile(size, level) }))
  const leaves = partialTile(size, 0)
  const nodes = tiles.slice(1).filter(({ width }) => width > 0)
  const found = yield* many(Tile)(sql`
    select 0 as level, coalesce(string_agg(sha256('\\x00'::bytea || e.entry), ''::bytea order by e.index), ''::bytea) as hashes
      from log_entries e where e.index >= ${BigInt(leaves.from)} and e.index < ${BigInt(size)}
    union all
    select tile.level, coalesce(l.hashes, ''::bytea)
      from unnest(${column(
        "int4",
        nodes.map(({ level }) => level)
      )}, ${column(
        "int8",
        nodes.map(({ from }) => BigInt(from))
      )}, ${column(
        "int8",
        nodes.map(({ from, width }) => BigInt(from + width))
      )}) as tile (level, first, past)
     cross join lateral (
       select string_agg(hash, ''::bytea order by n) as hashes
         from (
           select n.n, n.hash from log_nodes n
            where n.level = tile.level and n.n >= tile.first and n.n < tile.past
            order by n.n
            limit 255) n) l`)
  const hashes = tiles.map(({ level }) => hashesOf(found.find((tile) => tile.level === level)))
  return tiles.every(({ level, width }) => hashes[level]?.length === width)
    ? Option.some(Frontier.resume(size, hashes))
    : Option.none<Frontier>()
})

export const brokenTree = (size: number) =>
  `The stored tree of ${size} entries has another root than was kept.`

/** The tree of `size` entries, which must have that root. */
export const treeOfRoot = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  size: number,
  root: Uint8Array,
  otherwise: string
) {
  const tree = yield* treeAt(sql, size)
  if (Option.isSome(tree) && tree.value.root().equals(root)) return tree.value
  return yield* new LogFault({ message: otherwise })
})

/** The tree as it is stored: nodes of full tiles, and the entries after the last of them. */
import { Data, Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { column, many } from "../query.ts"
import { Frontier, levelsOf, partialTile } from "./frontier.ts"

/** The log contradicts what was signed of it, or itself: nothing is added or signed until an audit has found it clean. */
export class LogFault extends Data.TaggedError("LogFault")<{ readonly message: string }> {}

const Hash = Schema.Struct({ level: Schema.Int, hash: Schema.Uint8Array })

/**
 * The tree of the first `size` entries, made of the last tile of each of its levels, so at most 255 hashes a level are
 * read, never all entries. Nothing when some of them are missing.
 */
export const treeAt = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, size: number) {
  if (size === 0) return Option.some(new Frontier())
  const tiles = Array.from({ length: levelsOf(size) }, (_, level) => ({ level, ...partialTile(size, level) }))
  const leaves = partialTile(size, 0)
  const nodes = tiles.slice(1).filter(({ width }) => width > 0)
  const rows = yield* many(Hash)(sql`
    select 0 as level, e.index as n, sha256('\\x00'::bytea || e.entry) as hash
      from log_entries e where e.index >= ${BigInt(leaves.from)} and e.index < ${BigInt(size)}
    union all
    select l.level, l.n, l.hash
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
       select n.level, n.n, n.hash from log_nodes n
        where n.level = tile.level and n.n >= tile.first and n.n < tile.past
        order by n.n
        limit 255) l
     order by level, n`)
  const hashes = tiles.map(({ level }) => rows.filter((row) => row.level === level).map(({ hash }) => hash))
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

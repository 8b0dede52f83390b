/**
 * Tiles and entry bundles (C2SP tlog-tiles), each by one statement that reads at most 256 neighbours by their key. Only
 * what the newest published checkpoint covers is served. A tile that is still growing is served at any width it has
 * reached: it is the beginning of the full one.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../services/errors.ts"
import { tileWidth } from "../../../services/TransparencyLog.ts"
import type { TransparencyLog } from "../../../services/TransparencyLog.ts"
import { findOne } from "../sql.ts"

const Piece = Schema.Struct({
  size: Schema.Int,
  count: Schema.Int,
  bytes: Schema.NullOr(Schema.Uint8Array)
})

export const makeTiles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const piece = findOne(Piece)

  /** What `from` aggregates of the `width` neighbours from `first` on, which end with leaf `leaves`. */
  const read = Effect.fnUntraced(function* (
    what: string,
    range: { readonly width: number; readonly leaves: number },
    neighbours: ReturnType<typeof sql.and>
  ) {
    const leaves = Math.min(range.leaves, Number.MAX_SAFE_INTEGER)
    const { bytes, count, size } = yield* piece(sql`
      select p.size::float8 as size, coalesce(t.count, 0) as count, t.bytes
        from (select coalesce(max(size), 0) as size from log_checkpoints) p
        left join lateral (${neighbours}) t on p.size >= ${BigInt(leaves)}::int8`)
    if (size < range.leaves) {
      return yield* new NotFound({
        detail: `There is no such ${what} yet: the newest checkpoint covers ${size} entries.`
      })
    }
    if (bytes === null || count !== range.width) {
      return yield* Effect.die(new Error(`the log lacks a part of its ${what}`))
    }
    return bytes
  })

  const hashTile: TransparencyLog["Service"]["hashTile"] = Effect.fn("TransparencyLog.hashTile")(
    function* (level, n, width) {
      const first = n * tileWidth
      const past = first + width
      return yield* read(
        "tile",
        { width, leaves: past * tileWidth ** level },
        level === 0
          ? sql`select count(*)::int as count,
                       string_agg(sha256('\\x00'::bytea || entry), ''::bytea order by index) as bytes
                  from log_entries where index >= ${BigInt(first)}::int8 and index < ${BigInt(past)}::int8`
          : sql`select count(*)::int as count, string_agg(hash, ''::bytea order by n) as bytes
                  from log_nodes
                 where level = ${level}::int and n >= ${BigInt(first)}::int8 and n < ${BigInt(past)}::int8`
      )
    }
  )

  const entryBundle: TransparencyLog["Service"]["entryBundle"] = Effect.fn("TransparencyLog.entryBundle")(
    function* (n, width) {
      const first = n * tileWidth
      const past = first + width
      return yield* read(
        "entry bundle",
        { width, leaves: past },
        // The last two of the four bytes of its length, big-endian, then the entry.
        sql`select count(*)::int as count,
                   string_agg(substr(int4send(octet_length(entry)), 3) || entry, ''::bytea order by index) as bytes
              from log_entries where index >= ${BigInt(first)}::int8 and index < ${BigInt(past)}::int8`
      )
    }
  )

  return { hashTile, entryBundle }
})

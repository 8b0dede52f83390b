/** How the log stands in the database, and on which server that is. */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { findOne } from "../sql.ts"

/**
 * The server, the line of its history, and the database on it. The line (timeline) is another one after a promotion or a
 * restore to a moment. It is that of what is being written: `pg_control_checkpoint` tells of a promotion minutes later.
 */
export const serverOf = (sql: SqlClient.SqlClient) => sql`(
  select c.system_identifier || '/' || w.timeline_id || '/' || d.oid
    from pg_control_system() c
   cross join pg_split_walfile_name(pg_walfile_name(pg_current_wal_lsn())) w
   cross join pg_database d
   where d.datname = current_database())`

/** The server and its last start: connections are lost when it is restarted, also from an older state of its disk. */
export const runOf = (sql: SqlClient.SqlClient) => sql`${serverOf(sql)} || ' ' || pg_postmaster_start_time()`

const Head = Schema.Struct({ size: Schema.Int, root: Schema.Uint8ArrayFromHex })

const Standing = Schema.Struct({
  server: Schema.String,
  run: Schema.String,
  size: Schema.Int,
  root: Schema.Uint8Array,
  fault: Schema.NullOr(Schema.String),
  /** The names the log has had, the present one last; none before its first start. */
  names: Schema.Array(Schema.String),
  /** How many entries it had when it got its present name: checkpoints of so many or fewer carry an earlier one. */
  renamed_at: Schema.Int,
  newest_key: Schema.NullOr(Schema.String),
  /** The note of the newest checkpoint. */
  checkpoint: Schema.NullOr(Schema.String),
  /** The newest continuation. */
  continuation: Schema.NullOr(
    Schema.Struct({
      number: Schema.Int,
      server: Schema.String,
      continued_at: Schema.DateTimeUtcFromString
    })
  ),
  /** What instances have seen of the log under its present name, and it did not have when they looked. */
  lost: Schema.Array(Head)
})
export type Standing = typeof Standing.Type

const row = findOne(Standing)

/** The names of the log, the earliest first. */
export const namesOf = (sql: SqlClient.SqlClient) => sql`(
  select origin, min(number) as number, min(size) as size
    from (select origin, 0 as number, 0::int8 as size from log_identity
           union all select origin, number, size from log_continuations) n
   group by origin)`

export const standingOf = (sql: SqlClient.SqlClient) =>
  row(sql`
    with names as materialized ${namesOf(sql)},
    present as materialized (select origin, size from names order by number desc limit 1)
    select ${serverOf(sql)} as server, ${runOf(sql)} as run,
           s.size::float8 as size, s.root, s.fault,
           array(select origin from names order by number) as names,
           coalesce((select size::float8 from present), 0) as renamed_at,
           (select verifier_key from log_keys order by number desc limit 1) as newest_key,
           (select note from log_checkpoints order by size desc limit 1) as checkpoint,
           (select jsonb_build_object('number', number, 'server', server, 'continued_at', continued_at)
              from log_continuations order by number desc limit 1) as continuation,
           (select coalesce(jsonb_agg(jsonb_build_object('size', size, 'root', encode(root, 'hex'))), '[]')
              from log_lost_heads where origin = (select origin from present)) as lost
      from log_state s`)

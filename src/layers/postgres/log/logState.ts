/** The state of the log in the database, and the identity of the database server. */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { findOne } from "../sql.ts"

/**
 * Identifies the server, its timeline and the database. The timeline changes with a promotion and with a restore to a moment.
 * It is read from the WAL being written, because `pg_control_checkpoint` shows a promotion minutes later.
 */
export const serverOf = (sql: SqlClient.SqlClient) => sql`(
  select c.system_identifier || '/' || w.timeline_id || '/' || d.oid
    from pg_control_system() c
   cross join pg_split_walfile_name(pg_walfile_name(pg_current_wal_lsn())) w
   cross join pg_database d
   where d.datname = current_database())`

/** Identifies a run of the server by its last start, which changes also when it restarts from an older state of its disk. */
export const runOf = (sql: SqlClient.SqlClient) => sql`${serverOf(sql)} || ' ' || pg_postmaster_start_time()`

const Head = Schema.Struct({ size: Schema.Int, root: Schema.Uint8ArrayFromHex })

const LogState = Schema.Struct({
  server: Schema.String,
  run: Schema.String,
  size: Schema.Int,
  root: Schema.Uint8Array,
  fault: Schema.NullOr(Schema.String),
  /** The names of the log, the present one last; none before the first start. */
  names: Schema.Array(Schema.String),
  /** The size at which the log got its present name: checkpoints of this size or smaller carry an earlier name. */
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
  /** The heads under the present name that an instance had seen and that the log did not have when they were compared. */
  lost: Schema.Array(Head)
})
export type LogState = typeof LogState.Type

const row = findOne(LogState)

/** The names of the log, the earliest first. */
export const namesOf = (sql: SqlClient.SqlClient) => sql`(
  select origin, min(number) as number, min(size) as size
    from (select origin, 0 as number, 0::int8 as size from log_identity
           union all select origin, number, size from log_continuations) n
   group by origin)`

export const readLogState = (sql: SqlClient.SqlClient) =>
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

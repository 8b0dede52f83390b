import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Rate limits, scheduled runs and the administrators' record. */
export const operations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Unlogged: after a crash of the database the windows start anew, which costs nothing worth a disk write each.
  yield* sql`
    create unlogged table rate_limits (
      key text primary key,
      bucket bigint not null,
      current integer not null,
      previous integer not null,
      expires_at timestamptz not null
    ) with (fillfactor = 50)`
  yield* sql`create index rate_limits_expires_at on rate_limits (expires_at)`

  // The replica that inserts the row of a tick runs the job of that tick.
  yield* sql`
    create table job_runs (
      job text not null,
      at timestamptz not null,
      primary key (job, at)
    )`

  yield* sql`
    create table audit_log (
      id uuid primary key,
      at timestamptz not null,
      action text not null,
      path text not null,
      request_id text not null,
      body text not null,
      status integer not null
    )`
  yield* sql`
    create trigger audit_log_append_only before update or delete or truncate on audit_log
      for each statement execute function refuse_change()`
})

import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Heartbeats, which show when an upgrade is complete. Programs from before write none: one row stands for them, as of their last job. */
export const instances = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table instances (
      id uuid primary key,
      name text not null,
      version text not null,
      -- The newest migration that the program knows; 0 if that is unknown.
      program int not null constraint instances_program check (program >= 0),
      roles text[] not null,
      started_at timestamptz not null,
      seen_at timestamptz not null
    )`
  const now = DateTime.toDateUtc(yield* DateTime.now)
  yield* sql`
    insert into instances (id, name, version, program, roles, started_at, seen_at)
    select '00000000-0000-0000-0000-000000000000', 'no heartbeat', 'unknown', 0, '{}', seen.at, seen.at
      from (select least(max(at), ${now}::timestamptz) as at from job_runs having count(*) > 0) seen`
})

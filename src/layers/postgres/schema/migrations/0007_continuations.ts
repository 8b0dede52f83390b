import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly } from "../guards.ts"

/** Lost heads of the public log, and the administrators' decisions that let it continue. */
export const continuations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Signed tree heads that an instance has seen and did not find in the log later.
  yield* sql`
    create table log_lost_heads (
      origin text not null,
      size bigint not null constraint log_lost_heads_size check (size >= 1),
      root bytea not null constraint log_lost_heads_root check (length(root) = 32),
      note text not null,
      found_at timestamptz not null,
      primary key (origin, size, root)
    )`
  yield* appendOnly("log_lost_heads")

  // The log continues from this many entries, on this server and under this name.
  yield* sql`
    create table log_continuations (
      number integer primary key constraint log_continuations_number check (number >= 1),
      server text not null,
      origin text not null,
      size bigint not null constraint log_continuations_size check (size >= 0),
      root bytea not null constraint log_continuations_root check (length(root) = 32),
      -- The largest of the lost heads; the log then has a new name.
      lost_size bigint,
      lost_root bytea constraint log_continuations_lost_root check (length(lost_root) = 32),
      reason text not null,
      continued_at timestamptz not null,
      constraint log_continuations_lost check ((lost_size is null) = (lost_root is null))
    )`
  yield* appendOnly("log_continuations")
})

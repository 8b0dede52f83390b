import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What requests with an `Idempotency-Key` were answered. */
export const idempotency = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table idempotency_keys (
      agent_id uuid not null constraint idempotency_keys_agent references agents (id),
      key text not null constraint idempotency_keys_key check (length(key) between 1 and 255),
      fingerprint bytea not null constraint idempotency_keys_fingerprint check (length(fingerprint) = 32),
      status smallint not null constraint idempotency_keys_status check (status between 200 and 299),
      -- Sealed: an answer may hold a secret that is shown once.
      answer bytea not null,
      expires_at timestamptz not null,
      primary key (agent_id, key)
    )`
  yield* sql`create index idempotency_keys_expired on idempotency_keys (expires_at)`
})

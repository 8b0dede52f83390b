import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Administrators send requests again, too: their keys are of no agent. */
export const adminIdempotency = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table idempotency_keys
      drop constraint idempotency_keys_pkey,
      alter column agent_id drop not null,
      add constraint idempotency_keys_once unique nulls not distinct (agent_id, key)`
})

import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Tokens of a call that have a price of their own, and the model that replaced the requested one. */
export const gatewayTokens = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The constraint is not valid yet: existing rows hold the defaults, and a check of them would lock the table meanwhile.
  yield* sql`
    alter table gateway_calls
      add column served_model text,
      add column cached_tokens integer not null default 0,
      add column cache_write_tokens integer not null default 0,
      add column reasoning_tokens integer not null default 0,
      add constraint gateway_calls_parts check (least(cached_tokens, cache_write_tokens, reasoning_tokens) >= 0) not valid`
})

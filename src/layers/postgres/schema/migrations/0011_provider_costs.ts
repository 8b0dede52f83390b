import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What a provider is paid for a call, in 10^-12 credit; null where the gateway's file does not say. */
export const providerCosts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Not valid: older rows hold null, and checking them would lock the table for as long as that takes.
  yield* sql`
    alter table gateway_calls
      add column provider_cost bigint,
      add constraint gateway_calls_provider_cost check (provider_cost >= 0) not valid`
})

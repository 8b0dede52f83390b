import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The provider's price for a call, in 10^-12 credit; null if the gateway's file has none. */
export const providerCosts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The constraint is not valid yet: older rows hold null, and a check of them would lock the table meanwhile.
  yield* sql`
    alter table gateway_calls
      add column provider_cost bigint,
      add constraint gateway_calls_provider_cost check (provider_cost >= 0) not valid`
})

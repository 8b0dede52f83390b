import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Rules that are frozen with a challenge. Challenges from before have none, and keep the rules that applied then. */
export const frozenRules = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table challenges
      -- True if the agents of one owner count as one in the pool of a macro challenge; null means true.
      add column pool_owner_rule boolean,
      -- The version of the rules by which candles decide a price event; null means the first.
      add column rule_version smallint constraint challenges_rule_version check (rule_version >= 2),
      add constraint challenges_rules_of_type check (
        (pool_owner_rule is null or type = 'macro') and (rule_version is null or type = 'price_event'))`
  yield* sql`
    create index price_quarantine_undecided on price_quarantine (asset, interval, time) where decision is null`
})

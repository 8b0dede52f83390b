import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Amendments: later versions of a settlement, each following the one before it, under the day of the first. */
export const amendments = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table settlements
      add column previous_version integer,
      add constraint settlements_versions_follow check (previous_version is not distinct from nullif(version - 1, 0)),
      add constraint settlements_version_day unique (challenge_id, version, day),
      -- The version before is there, and what is amended counts under the day on which it was settled.
      add constraint settlements_amend_on_their_day foreign key (challenge_id, previous_version, day)
        references settlements (challenge_id, version, day)`
})

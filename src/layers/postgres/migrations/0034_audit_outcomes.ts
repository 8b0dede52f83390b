import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** An administrator's call is recorded before it begins, and how it ended by a row of its own. */
export const auditOutcomes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Entries from before have their status themselves.
  yield* sql`alter table audit_log alter column status drop not null`
  yield* sql`
    create table audit_outcomes (
      entry_id uuid primary key references audit_log (id),
      status integer not null
    )`
  yield* sql`
    create trigger audit_outcomes_append_only before update or delete or truncate on audit_outcomes
      for each statement execute function refuse_change()`
})

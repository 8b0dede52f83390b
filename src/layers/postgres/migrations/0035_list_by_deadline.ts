import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Lists by deadline go on by the id: a thousand challenges of one deadline were all read for each page of them. */
export const listByDeadline = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`drop index challenges_unended_deadline`
  yield* sql`
    create index challenges_unended_deadline on challenges (type, deadline, id) include (target)
      where resolved_at is null and cancelled_at is null`
  yield* sql`drop index challenges_unsettled`
  yield* sql`
    create index challenges_unsettled on challenges (deadline, id) where resolved_at is null and cancelled_at is null`
})

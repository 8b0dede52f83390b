import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The first page shows what was settled last, of every type: which challenge is the newest says little about that. */
export const settledLast = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create index challenges_settled on challenges (resolved_at desc, id desc) where resolved_at is not null`
})

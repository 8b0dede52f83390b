import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { execute } from "../sql.ts"
import { amendment, settlement } from "./entries.ts"
import { settledChallenges } from "./recorded.ts"
import type { SettlementKey } from "./recorded.ts"

/**
 * Records a settlement, or the version of it that an amendment is, in the log, within the transaction that has written
 * it and its scores.
 */
export const queueSettlement = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, key: SettlementKey) {
  for (const { previous_version, reason, ...settled } of yield* settledChallenges(sql, [key])) {
    const [type, entry] =
      previous_version === null || reason === null
        ? ["settlement", settlement(settled)]
        : ["amendment", amendment({ ...settled, previous_version, reason })]
    yield* execute(sql`
      insert into log_pending (type, challenge_id, version, entry)
      values (${type}, ${settled.challenge_id}::uuid, ${settled.version}, ${entry})`)
  }
})

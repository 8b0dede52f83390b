import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { run } from "../query.ts"
import { settlement } from "./entries.ts"
import { settledChallenges } from "./recorded.ts"
import type { SettlementKey } from "./recorded.ts"

/** Records a settlement in the log, within the transaction that has written it and its scores. */
export const queueSettlement = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, key: SettlementKey) {
  for (const settled of yield* settledChallenges(sql, [key])) {
    yield* run(sql`
      insert into log_pending (type, challenge_id, version, entry)
      values ('settlement', ${settled.challenge_id}::uuid, ${settled.version}, ${settlement(settled)})`)
  }
})

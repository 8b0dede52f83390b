import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Deliveries of a notice that many webhooks are told are made in pages of webhooks; making webhooks needs a scope. Counts move by owners. */
export const webhookPages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table webhook_state
      -- The notice whose deliveries are being made, and the last webhook that has its own.
      add column page_seq bigint,
      add column page_hook uuid,
      add constraint webhook_state_page check ((page_seq is null) = (page_hook is null))`
  // Claimed owners among those whose directions were counted. Null: of the version before, which counted agents.
  yield* sql`alter table published_counts add column owners int`
  // Apart from the other scopes, among which the version before would not know it. Null: as llm:keys.
  yield* sql`alter table agents add column webhook_scope boolean`
})

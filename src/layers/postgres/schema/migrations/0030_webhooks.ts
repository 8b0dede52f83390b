import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Deliveries of a notice to many webhooks are made in pages of webhooks; making webhooks needs a scope. Counts are published by
 * owners.
 */
export const webhookPages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table webhook_state
      -- The notice whose deliveries are in progress, and the last webhook that has its own.
      add column page_seq bigint,
      add column page_hook uuid,
      add constraint webhook_state_page check ((page_seq is null) = (page_hook is null))`
  // The claimed owners among those whose directions were counted. Null comes from the version before, which counted agents.
  yield* sql`alter table published_counts add column owners int`
  // This is apart from the other scopes, because the version before would not know it. Null means the same as llm:keys.
  yield* sql`alter table agents add column webhook_scope boolean`
})

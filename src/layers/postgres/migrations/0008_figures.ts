import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Figures that a settlement of a million agents writes at a third of the cost: two indexes instead of four, an agent's
 * boards side by side, and no foreign key, whose probe a row cost as much as the row. Rows are written only from score
 * rows, inside of the settlement's transaction, and the audit compares them.
 */
export const figures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table agent_figures
      drop constraint agent_figures_agent,
      drop constraint agent_figures_pkey,
      add constraint agent_figures_pkey primary key (agent_id, board)`
  yield* sql`drop index agent_figures_agent_id`
  yield* sql`drop index agent_figures_ranked`
  yield* sql`drop index agent_figures_standing`
  // Pages of a board, and ranks by counting: both read this index alone.
  yield* sql`
    create index agent_figures_standing on agent_figures (board, avg_score desc, scored desc, agent_id)
      include (verified)`
})

import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The ranks by skill at the end of each counted day of the last weeks. */
export const ranks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table agent_ranks (
      agent_id uuid not null,
      day date not null,
      rank integer not null constraint agent_ranks_rank check (rank > 0),
      primary key (agent_id, day)
    )`
  yield* sql`create index agent_ranks_day on agent_ranks (day)`
})

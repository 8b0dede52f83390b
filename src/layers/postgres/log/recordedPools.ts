/** What settlements and voids of macro challenges record of their credit pools. */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { arrayParam, findAll } from "../sql.ts"
import type { SettledPool } from "./entries.ts"

/** Micro-credits as entries write them: credits, as decimals. */
export const credits = (sql: SqlClient.SqlClient, amount: string) =>
  sql.literal(`trim_scale((${amount})::numeric / 1000000)::text`)

/** The columns that entries have of a row `p` of `pool_settlements`. */
export const poolColumns = (sql: SqlClient.SqlClient) => sql`
  p.outcome, p.winning_bin, ${credits(sql, "p.reward_pool")} as reward_pool, ${credits(sql, "p.staked")} as staked,
  p.stakes, ${credits(sql, "p.paid")} as paid`

export const PoolColumns = Schema.Struct({
  outcome: Schema.String,
  winning_bin: Schema.NullOr(Schema.Int),
  reward_pool: Schema.String,
  staked: Schema.String,
  stakes: Schema.Int,
  paid: Schema.String
})

const PoolRow = Schema.Struct({
  challenge_id: Schema.String,
  ...PoolColumns.fields,
  root: Schema.Uint8Array
})

/**
 * The pools of those of these challenges that have one, by challenge. The root is computed where the stakes are: RFC 6962
 * over the leaves `{"agent_id":"...","reward":"...","stake":"..."}`, in the order of the agents' ids.
 */
export const settledPools = (
  sql: SqlClient.SqlClient,
  challengeIds: ReadonlyArray<string>
): Effect.Effect<ReadonlyMap<string, SettledPool>> => {
  if (challengeIds.length === 0) return Effect.succeed(new Map())
  return findAll(PoolRow)(sql`
    select p.challenge_id::text, ${poolColumns(sql)}, n.root
      from pool_settlements p
     cross join lateral (
       select merkle_root(coalesce(
                string_agg(
                  sha256('\\x00'::bytea || convert_to(
                    '{"agent_id":"' || s.agent_id || '","reward":"' || ${credits(sql, "coalesce(r.reward, 0)")}
                      || '","stake":"' || ${credits(sql, "s.amount")} || '"}', 'UTF8')),
                  ''::bytea order by s.agent_id),
                ''::bytea)) as root
         from stakes s
         left join pool_rewards r on r.challenge_id = s.challenge_id and r.agent_id = s.agent_id
        where s.challenge_id = p.challenge_id) n
     where p.challenge_id = any(${arrayParam("uuid", challengeIds)})`).pipe(
    Effect.map((rows) => new Map(rows.map(({ challenge_id, ...pool }) => [challenge_id, pool])))
  )
}

/** What entries are composed of, read from the tables that record it, for a set of things at once. */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { arrayParam, findAll, rowsOf } from "../sql.ts"
import type { Voided } from "./entries.ts"
import { settledPools } from "./recordedPools.ts"

/** The terms of a macro challenge or a price event as entries write them; all null of directional ones. */
export const QuestionTerms = Schema.Struct({
  period: Schema.NullOr(Schema.String),
  unit: Schema.NullOr(Schema.String),
  bin_edges: Schema.NullOr(Schema.Array(Schema.String)),
  reference_scale: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.String),
  reward_pool: Schema.NullOr(Schema.String),
  level: Schema.NullOr(Schema.String)
})

/** The columns of `QuestionTerms` of a challenge `c`. */
export const questionTerms = (sql: SqlClient.SqlClient) => sql`
  c.period, c.unit, trim_scale(c.level)::text as level, trim_scale(c.reference_scale)::text as reference_scale,
  trim_scale(c.decimal_step)::text as decimal_step, trim_scale(c.reward_pool::numeric / 1000000)::text as reward_pool,
  (select array_agg(trim_scale(e.edge)::text order by e.position)
     from unnest(c.bin_edges) with ordinality as e (edge, position)) as bin_edges`

const Cancelled = Schema.Struct({
  challenge_id: Schema.String,
  voided_at: Schema.DateTimeUtcFromDate,
  reason: Schema.String
})

/** Those of these challenges that are cancelled, in no order. */
export const voidedChallenges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  challengeIds: ReadonlyArray<string>
) {
  const rows = yield* findAll(Cancelled)(sql`
    select c.id::text as challenge_id, c.cancelled_at as voided_at, c.cancel_reason as reason
      from challenges c where c.id = any(${arrayParam("uuid", challengeIds)}) and c.cancelled_at is not null`)
  const pools = yield* settledPools(sql, challengeIds)
  return rows.map((row): Voided => ({ ...row, pool: pools.get(row.challenge_id) ?? null }))
})

const SettledRow = Schema.Struct({
  challenge_id: Schema.String,
  version: Schema.Int,
  result: Schema.NullOr(Schema.String),
  open_price: Schema.NullOr(Schema.String),
  dead_zone_pct: Schema.NullOr(Schema.String),
  observation: Schema.String,
  reference_scale: Schema.NullOr(Schema.String),
  level: Schema.NullOr(Schema.String),
  source: Schema.String,
  observed_at: Schema.DateTimeUtcFromDate,
  fetched_at: Schema.DateTimeUtcFromDate,
  raw_sha256: Schema.NullOr(Schema.Uint8Array),
  settled_at: Schema.DateTimeUtcFromDate,
  /** These two are of amendments. */
  previous_version: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Schema.String),
  scores: Schema.Int,
  root: Schema.Uint8Array
})

export interface SettlementKey {
  readonly challenge_id: string
  readonly version: number
}

/**
 * These settlements, in no order. The root over the scores is computed where they are: RFC 6962 over the leaves
 * `{"agent_id":"...","score":"..."}`, in the order of the agents' ids, which is also that of their texts. Credit moves
 * with the first version, and with no other.
 */
export const settledChallenges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<SettlementKey>
) {
  const rows = yield* findAll(SettledRow)(sql`
    select s.challenge_id::text, s.version, s.result, trim_scale(s.open_price)::text as open_price,
           trim_scale(coalesce(s.close_price, s.actual_value))::text as observation,
           trim_scale(s.reference_scale)::text as reference_scale, trim_scale(s.dead_zone_pct)::text as dead_zone_pct,
           trim_scale(s.level)::text as level,
           s.source, s.observed_at, s.fetched_at, s.raw_sha256, s.settled_at, s.previous_version, s.reason, n.scores,
           n.root
      from ${rowsOf(sql, "k", keys, {
        challenge_id: ["uuid", (key) => key.challenge_id],
        version: ["int4", (key) => key.version]
      })}
      join settlements s on s.challenge_id = k.challenge_id and s.version = k.version
     cross join lateral (
       select count(*)::int as scores,
              merkle_root(coalesce(
                string_agg(
                  sha256('\\x00'::bytea || convert_to(
                    '{"agent_id":"' || p.agent_id || '","score":"' || trim_scale(p.score) || '"}', 'UTF8')),
                  ''::bytea order by p.agent_id),
                ''::bytea)) as root
         from prediction_scores p where p.challenge_id = s.challenge_id and p.version = s.version) n`)
  const hasPool = (row: (typeof rows)[number]) => row.version === 1 && row.reference_scale !== null
  const pools = yield* settledPools(
    sql,
    rows.filter(hasPool).map((row) => row.challenge_id)
  )
  return rows.map((row) => ({ ...row, pool: hasPool(row) ? (pools.get(row.challenge_id) ?? null) : null }))
})

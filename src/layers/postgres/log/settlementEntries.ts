/** Reads the contents of the entries of settlements and voids from the rows that the same transaction has written. */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { arrayParam, credits, execute, findAll, rowsOf } from "../sql.ts"
import { insertChallengeNotices } from "../notices/insertNotices.ts"
import { amendment, settlement } from "./entries.ts"
import type { SettledPool, Voided } from "./entries.ts"
import { eachLevel } from "../../../scoring/kinds/facts.ts"
import { exactLevels } from "../levels.ts"

/** Adds the entry and the notice of a settlement or an amendment, within the transaction that wrote it and its scores. */
export const logSettlement = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, key: SettlementKey) {
  for (const { previous_version, reason, ...settled } of yield* settledChallenges(sql, [key])) {
    const [type, entry] =
      previous_version === null || reason === null
        ? ["settlement", settlement(settled)]
        : ["amendment", amendment({ ...settled, previous_version, reason })]
    yield* execute(sql`
      with inserted_notices as (${insertSettlementNotices(sql, settled)})
      insert into log_pending (type, challenge_id, version, entry)
      values (${type}, ${settled.challenge_id}::uuid, ${settled.version}, ${entry})`)
  }
})

const insertSettlementNotices = (sql: SqlClient.SqlClient, { challenge_id, version }: SettlementKey) =>
  insertChallengeNotices(sql, {
    type: version === 1 ? "challenge.settled" : "challenge.amended",
    at: "s.settled_at",
    data: sql`
      jsonb_build_object('version', s.version, 'result', s.result, 'value', coalesce(s.close_price, s.actual_value))
      || case when s.reason is null then '{}' else jsonb_build_object('reason', s.reason) end`,
    version: sql`s.version`,
    from: sql`
      challenges c join settlements s on s.challenge_id = c.id and s.version = ${version}
     where c.id = ${challenge_id}::uuid`
  })

const Cancelled = Schema.Struct({
  challenge_id: Schema.String,
  voided_at: Schema.DateTimeUtcFromDate,
  reason: Schema.String
})

/** Reads the voids of the cancelled ones among these challenges, in no order. */
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
  ...eachLevel(() => Schema.NullOr(Schema.String)),
  source: Schema.String,
  observed_at: Schema.DateTimeUtcFromDate,
  fetched_at: Schema.DateTimeUtcFromDate,
  raw_sha256: Schema.NullOr(Schema.Uint8Array),
  settled_at: Schema.DateTimeUtcFromDate,
  /** It is null unless the settlement is an amendment, and so is `reason`. */
  previous_version: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Schema.String),
  scores: Schema.Int,
  root: Schema.Uint8Array
})

interface SettlementKey {
  readonly challenge_id: string
  readonly version: number
}

/**
 * Reads the settlements of these keys, in no order. The database computes the root over the scores: RFC 6962 over the leaves
 * `{"agent_id":"...","score":"..."}` in the order of the agents' ids, which is also the order of their texts. Only the first
 * version moves credit and so has a pool.
 */
const settledChallenges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<SettlementKey>
) {
  const rows = yield* findAll(SettledRow)(sql`
    select s.challenge_id::text, s.version, s.result, trim_scale(s.open_price)::text as open_price,
           trim_scale(coalesce(s.close_price, s.actual_value))::text as observation,
           trim_scale(s.reference_scale)::text as reference_scale, trim_scale(s.dead_zone_pct)::text as dead_zone_pct,
           ${exactLevels(sql, "s")},
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

/** Selects the columns of a row `p` of `pool_settlements` that entries contain. */
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
 * Reads the settled pools of these challenges. The database computes the root over the stakes: RFC 6962 over the leaves
 * `{"agent_id":"...","reward":"...","stake":"..."}`, in the order of the agents' ids.
 */
const settledPools = (
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

/** Settling a macro challenge by the value that was published, in one transaction. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { closeChallenges } from "../arenas/closeChallenges.ts"
import { scoringScale } from "../arenas/macroRows.ts"
import { queueSettlement } from "../log/queueSettlement.ts"
import { at, column, decimal, many, maybe, run } from "../query.ts"
import { addCalibration } from "./calibration.ts"
import { addScores } from "./figures.ts"
import { calibrationOf, numericScore } from "./numericScores.ts"
import type { Outcome } from "./numericScores.ts"
import { makeSettlePool } from "./poolSettlement.ts"
import { settlementDay, settling } from "./settling.ts"

/** Forecasts that are scored at a time: what is in memory does not grow with the challenge. */
const page = 5000

const Terms = Schema.Struct({
  reference_scale: Schema.String,
  is_frozen: Schema.Boolean,
  decimal_step: Schema.NullOr(Schema.String),
  winning_bin: Schema.Int,
  target: Schema.String,
  category: Schema.String
})

const LastForecast = Schema.Struct({
  agent_id: Schema.String,
  revision: Schema.Int,
  predicted_value: Schema.String,
  predicted_std: Schema.String
})

export const makeSettleMacro = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const terms = maybe(Terms)
  const forecasts = many(LastForecast)
  const { returnRest, settlePool } = yield* makeSettlePool

  const lastForecasts = (challengeId: string, after: string | undefined) =>
    forecasts(sql`
      select distinct on (p.agent_id) p.agent_id::text, revision, predicted_value::text, predicted_std::text
        from predictions p
       where challenge_id = ${challengeId}::uuid ${after === undefined ? sql`` : sql`and agent_id > ${after}::uuid`}
       order by p.agent_id, revision desc
       limit ${page}`)

  const score = Effect.fnUntraced(function* (
    challengeId: string,
    outcome: Outcome,
    { decimal_step, is_frozen }: typeof Terms.Type
  ) {
    let rows = yield* lastForecasts(challengeId, undefined)
    while (rows.length > 0) {
      const scores = rows.map((row) => numericScore(row, outcome))
      yield* run(sql`
        insert into prediction_scores (challenge_id, version, agent_id, revision, score, crps, skill)
        select ${challengeId}::uuid, 1, s.* from unnest(
          ${column(
            "uuid",
            rows.map((row) => row.agent_id)
          )}, ${column(
            "int4",
            rows.map((row) => row.revision)
          )},
          ${column(
            "numeric",
            scores.map((each) => each.score)
          )}, ${column(
            "numeric",
            scores.map((each) => each.crps)
          )}, ${column(
            "numeric",
            scores.map((each) => each.skill)
          )}) as s`)
      // Without a frozen scale a challenge is scored, and left out of calibration.
      if (is_frozen) {
        yield* addCalibration(
          sql,
          rows.map((row) => ({ agent_id: row.agent_id, row: calibrationOf(row, outcome, decimal_step) }))
        )
      }
      rows = rows.length < page ? [] : yield* lastForecasts(challengeId, rows.at(-1)?.agent_id)
    }
  })

  /** Whether it did: not when the challenge has ended, or is not closed yet. */
  return Effect.fn("Scoring.settleMacro")(function* (challengeId: string, actualValue: number) {
    const now = yield* DateTime.now
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId })
    yield* closeChallenges(sql, sql`c.id = ${challengeId}::uuid`, now)
    const settled = Effect.gen(function* () {
      const value = decimal(actualValue)
      const found = yield* terms(sql`
        select ${scoringScale(sql)}::text as reference_scale, c.reference_scale is not null as is_frozen,
               c.decimal_step::text, c.target, t.category,
               (select count(*)::int from unnest(c.bin_edges) as edge where edge <= ${value}::numeric) as winning_bin
          from challenges c join targets t on t.key = c.target
         where c.id = ${challengeId}::uuid and c.type = 'macro' and c.closed_at is not null and c.resolved_at is null
           and c.cancelled_at is null
           for no key update of c`)
      if (Option.isNone(found)) return false
      const { category, reference_scale, target, winning_bin } = found.value
      const outcome = { actual_value: value, reference_scale }
      yield* run(sql`
        insert into settlements
          (challenge_id, version, actual_value, reference_scale, source, observed_at, fetched_at, settled_at, day)
        values (${challengeId}::uuid, 1, ${outcome.actual_value}::numeric, ${reference_scale}::numeric, 'admin',
                ${at(now)}, ${at(now)}, ${at(now)}, ${settlementDay(sql, now)})`)
      yield* score(challengeId, outcome, found.value)
      yield* addScores(sql, { challengeId, version: 1, boards: ["global", category, target], now })
      yield* run(sql`update challenges set resolved_at = ${at(now)} where id = ${challengeId}::uuid`)
      yield* settlePool(challengeId, winning_bin, now)
      yield* queueSettlement(sql, { challenge_id: challengeId, version: 1 })
      yield* returnRest(challengeId)
      return true
    })
    return yield* settling(sql, settled)
  })
})

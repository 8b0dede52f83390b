/** Settling a macro challenge by the value that was published, in one transaction. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { closeChallenges } from "../challenges/lifecycle.ts"
import { scoringScale } from "../challenges/macroRows.ts"
import { queueSettlement } from "../log/queueSettlement.ts"
import { decimal, execute, findOption, timestamp } from "../sql.ts"
import { addScores } from "./agentStats.ts"
import { makeScoreForecasts } from "./forecastScores.ts"
import { makeSettlePool } from "./poolSettlement.ts"
import { makeSettling, settlementDay } from "./settlementTransaction.ts"

const Terms = Schema.Struct({
  reference_scale: Schema.String,
  is_frozen: Schema.Boolean,
  decimal_step: Schema.NullOr(Schema.String),
  winning_bin: Schema.Int,
  target: Schema.String,
  category: Schema.String,
  source: Schema.String,
  fetched_at: Schema.DateTimeUtcFromDate,
  payload_hash: Schema.NullOr(Schema.Uint8Array)
})

export const makeSettleMacro = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const terms = findOption(Terms)
  const settling = yield* makeSettling
  const scoreForecasts = yield* makeScoreForecasts
  const { returnRest, settlePool } = yield* makeSettlePool

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
               (select count(*)::int from unnest(c.bin_edges) as edge where edge <= ${value}::numeric) as winning_bin,
               coalesce(p.source, 'admin') as source, coalesce(p.fetched_at, ${timestamp(now)}) as fetched_at, p.payload_hash
          from challenges c join targets t on t.key = c.target
          -- The value that a source proposed is settled by what the source showed, whoever takes it.
          left join macro_proposals p on p.challenge_id = c.id and p.value = ${value}::numeric
         where c.id = ${challengeId}::uuid and c.type = 'macro' and c.closed_at is not null and c.resolved_at is null
           and c.cancelled_at is null
           for no key update of c`)
      if (Option.isNone(found)) return false
      const { category, reference_scale, target, winning_bin } = found.value
      const outcome = { actual_value: value, reference_scale }
      yield* execute(sql`
        insert into settlements
          (challenge_id, version, actual_value, reference_scale, source, observed_at, fetched_at,
           raw_sha256, settled_at, day)
        values (${challengeId}::uuid, 1, ${outcome.actual_value}::numeric, ${reference_scale}::numeric,
                ${found.value.source}, ${timestamp(found.value.fetched_at)}, ${timestamp(found.value.fetched_at)}, ${found.value.payload_hash}::bytea,
                ${timestamp(now)}, ${settlementDay(sql, now)})`)
      yield* scoreForecasts({
        challengeId,
        version: 1,
        outcome,
        replaced: null,
        isFrozen: found.value.is_frozen,
        decimalStep: found.value.decimal_step
      })
      yield* addScores(sql, { challengeId, version: 1, boards: ["global", category, target], now })
      yield* execute(
        sql`update challenges set resolved_at = ${timestamp(now)} where id = ${challengeId}::uuid`
      )
      yield* settlePool(challengeId, winning_bin, now)
      yield* queueSettlement(sql, { challenge_id: challengeId, version: 1 })
      yield* returnRest(challengeId)
      return true
    })
    return yield* settling(settled)
  })
})

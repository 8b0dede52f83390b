/**
 * Challenges that an administrator ends: a macro challenge by its published value or without one, a price event without
 * one. Nothing is settled or voided before its deadline.
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ChallengeState, unknownChallenge } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { Arenas } from "../../../services/Arenas.ts"
import type { Scoring } from "../../../services/Scoring.ts"
import { scoringScale } from "../challenges/challengeRows.ts"
import { boundNow, boundTime, decimal, findOption, execute, timestamp } from "../sql.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"
import { closeChallenges } from "../challenges/lifecycle.ts"
import { logSettlement } from "../log/settlementEntries.ts"
import { addScores } from "./agentStats.ts"
import { faultOfCategory, makeScoreForecasts } from "./scores.ts"
import { makeSettlePool } from "./poolSettlement.ts"
import { makeSettlementTransaction, settlementDay } from "./settlementTransaction.ts"

const EndingRow = Schema.Struct({
  id: Schema.String,
  deadline: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate,
  now: Schema.DateTimeUtcFromDate
})

/** In reference scales, which are what forecasters of a series err by: no published value comes near. */
const maxScalesAway = 100

const Compared = Schema.Struct({
  decimal_step: Schema.NullOr(Schema.String),
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  is_off_step: Schema.NullOr(Schema.Boolean),
  scales_away: Schema.Finite
})

/**
 * Why a published value is wrong, or looks mistyped, since a settlement pays out the pool for good. The latter is checked only
 * where there are forecasts: first prints of earlier periods may be anything.
 */
const makeValueSanityCheck = (sql: SqlClient.SqlClient) => {
  const compared = findOption(Compared)
  return Effect.fnUntraced(function* (id: string, actualValue: number, confirm: boolean) {
    const value = sql`${decimal(actualValue)}::numeric`
    const found = yield* compared(sql`
      select trim_scale(c.decimal_step)::text as decimal_step, c.categories, mod(${value}, c.decimal_step) <> 0 as is_off_step,
             (greatest(c.bin_edges[1] - ${value}, ${value} - c.bin_edges[cardinality(c.bin_edges)])
              / ${scoringScale(sql)})::float8 as scales_away
        from challenges c
       where c.id = ${id}::uuid and c.type = 'macro' and c.resolved_at is null and c.cancelled_at is null
         and (c.categories is not null or exists (select from predictions p where p.challenge_id = c.id))`)
    if (Option.isNone(found)) return undefined
    const { categories, decimal_step, is_off_step, scales_away } = found.value
    if (categories !== null) return faultOfCategory(categories, actualValue)
    if (confirm) return undefined
    const anyway = "with confirm true it is taken all the same"
    if (is_off_step === true) {
      return `${actualValue} is no multiple of the decimal step, ${decimal_step}; ${anyway}`
    }
    if (scales_away > maxScalesAway) {
      return `${actualValue} lies more than ${maxScalesAway} reference scales beyond the outermost edges of the bins; ${anyway}`
    }
    return undefined
  })
}

export const makeManualSettlement = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const arenas = yield* Arenas
  const ending = findOption(EndingRow)
  const settleMacro = yield* makeSettleMacro
  const faultOfValue = makeValueSanityCheck(sql)
  const { voidByHand, voidWithoutValue } = yield* makeVoidChallenge

  const pastDeadline = Effect.fnUntraced(function* (type: "macro" | "price_event", id: string) {
    const found = isUuid(id)
      ? yield* ending(sql`
          select id::text, deadline, cancel_at, ${boundTime(sql, yield* DateTime.now)} as now
            from challenges where id = ${id}::uuid and type = ${type}`)
      : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(id)
    if (DateTime.isLessThan(found.value.now, found.value.deadline)) {
      return yield* new ChallengeState({
        detail: `The challenge is open: nothing is settled or voided before its deadline, ${DateTime.formatIso(found.value.deadline)}.`
      })
    }
    return found.value
  })

  /** Voids the macro challenge if it has waited for its value for too long. */
  const overdueVoided = Effect.fnUntraced(function* (id: string) {
    const challenge = yield* pastDeadline("macro", id)
    if (DateTime.isGreaterThanOrEqualTo(challenge.now, challenge.cancel_at)) {
      yield* voidWithoutValue(challenge)
    }
    return challenge.id
  })

  const resolveMacro: Scoring["Service"]["resolveMacro"] = Effect.fn("Scoring.resolveMacro")(function* (
    challengeId,
    actualValue,
    { confirm = false } = {}
  ) {
    const id = yield* overdueVoided(challengeId)
    const fault = yield* faultOfValue(id, actualValue, confirm)
    if (fault !== undefined) return yield* InvalidRequest.of("actual_value", fault)
    const settled = yield* settleMacro(id, actualValue)
    if (settled) {
      yield* Effect.logInfo("a macro challenge was settled").pipe(
        Effect.annotateLogs({ challenge_id: id, actual_value: actualValue })
      )
    }
    const current = yield* arenas.macro.get(id)
    if (settled || current.actual_value === actualValue) return current
    return yield* new ChallengeState({
      detail:
        current.actual_value === null
          ? `The challenge is ${current.status}; only one that is closed can be resolved.`
          : `The challenge was resolved with ${current.actual_value}; another value is an amendment.`
    })
  })

  const onlyClosed = (status: string) =>
    new ChallengeState({ detail: `The challenge is ${status}; only one that is closed can be voided.` })

  const voidMacro: Scoring["Service"]["voidMacro"] = Effect.fn("Scoring.voidMacro")(
    function* (challengeId, reason) {
      const id = yield* overdueVoided(challengeId)
      const isVoided = yield* voidByHand("macro", id, reason)
      const current = yield* arenas.macro.get(id)
      return isVoided ? current : yield* onlyClosed(current.status)
    }
  )

  const voidPriceEvent: Scoring["Service"]["voidPriceEvent"] = Effect.fn("Scoring.voidPriceEvent")(
    function* (challengeId, reason) {
      const { id } = yield* pastDeadline("price_event", challengeId)
      const isVoided = yield* voidByHand("price_event", id, reason)
      const current = yield* arenas.priceEvents.get(id)
      return isVoided ? current : yield* onlyClosed(current.status)
    }
  )

  return { resolveMacro, voidMacro, voidPriceEvent }
})

const Terms = Schema.Struct({
  reference_scale: Schema.String,
  is_calibrated: Schema.Boolean,
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  decimal_step: Schema.NullOr(Schema.String),
  winning_bin: Schema.Int,
  target: Schema.String,
  category: Schema.String,
  source: Schema.String,
  fetched_at: Schema.DateTimeUtcFromDate,
  payload_hash: Schema.NullOr(Schema.Uint8Array)
})

/** Settles a macro challenge by its published value, in one transaction. */
const makeSettleMacro = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const terms = findOption(Terms)
  const inSettlement = yield* makeSettlementTransaction
  const scoreForecasts = yield* makeScoreForecasts
  const { returnRest, settlePool } = yield* makeSettlePool

  /** False if the challenge has ended, or is not closed yet. */
  return Effect.fn("Scoring.settleMacro")(function* (challengeId: string, actualValue: number) {
    const now = yield* boundNow(sql)
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId })
    yield* closeChallenges(sql, sql`c.id = ${challengeId}::uuid`, now)
    const settled = Effect.gen(function* () {
      const value = decimal(actualValue)
      const found = yield* terms(sql`
        select ${scoringScale(sql)}::text as reference_scale, c.reference_scale is not null and c.categories is null as is_calibrated,
               c.categories, c.decimal_step::text, c.target, t.category,
               (select count(*)::int from unnest(c.bin_edges) as edge where edge <= ${value}::numeric) as winning_bin,
               coalesce(p.source, 'admin') as source, coalesce(p.fetched_at, ${timestamp(now)}) as fetched_at, p.payload_hash
          from challenges c join targets t on t.key = c.target
          -- A value that a source proposed keeps the evidence of that source, whoever confirms it.
          left join macro_proposals p on p.challenge_id = c.id and p.value = ${value}::numeric
         where c.id = ${challengeId}::uuid and c.type = 'macro' and c.closed_at is not null and c.resolved_at is null
           and c.cancelled_at is null
           for no key update of c`)
      if (Option.isNone(found)) return false
      const { categories, category, reference_scale, target, winning_bin } = found.value
      const outcome = { actual_value: value, reference_scale, categories }
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
        isCalibrated: found.value.is_calibrated,
        decimalStep: found.value.decimal_step,
        reference: null
      })
      yield* addScores(sql, { challengeId, version: 1, boards: ["global", category, target], now })
      yield* execute(
        sql`update challenges set resolved_at = ${timestamp(now)} where id = ${challengeId}::uuid`
      )
      yield* settlePool(challengeId, winning_bin, now)
      yield* logSettlement(sql, { challenge_id: challengeId, version: 1 })
      yield* returnRest(challengeId)
      return true
    })
    return yield* inSettlement(settled)
  })
})

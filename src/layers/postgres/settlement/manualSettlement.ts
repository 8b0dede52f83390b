/**
 * What an administrator ends: a macro challenge by the value that was published, or without one; a price event without
 * one. Nothing is settled or voided before its deadline.
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ChallengeState, unknownChallenge } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import { isUuid } from "../../../services/identifiers.ts"
import { Arenas } from "../../../services/Arenas.ts"
import type { Scoring } from "../../../services/Scoring.ts"
import { scoringScale } from "../challenges/macroRows.ts"
import { decimal, findOption } from "../sql.ts"
import { makeSettleMacro } from "./macroSettlement.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"

const Ending = Schema.Struct({
  id: Schema.String,
  deadline: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate
})

/** Of a series whose forecasters know it within one: nothing that was ever published came near. */
const maxScalesAway = 100

const Compared = Schema.Struct({
  decimal_step: Schema.NullOr(Schema.String),
  is_off_step: Schema.NullOr(Schema.Boolean),
  scales_away: Schema.Finite
})

/**
 * Whether a published value looks mistyped: what a challenge is settled by pays out its pool for good. Only of challenges that are not settled and have forecasts: the first prints of earlier periods may be anything.
 */
const makeValueSanityChecks = (sql: SqlClient.SqlClient) => {
  const compared = findOption(Compared)
  return Effect.fnUntraced(function* (id: string, actualValue: number) {
    const value = sql`${decimal(actualValue)}::numeric`
    const found = yield* compared(sql`
      select trim_scale(c.decimal_step)::text as decimal_step, mod(${value}, c.decimal_step) <> 0 as is_off_step,
             (greatest(c.bin_edges[1] - ${value}, ${value} - c.bin_edges[cardinality(c.bin_edges)])
              / ${scoringScale(sql)})::float8 as scales_away
        from challenges c
       where c.id = ${id}::uuid and c.type = 'macro' and c.resolved_at is null and c.cancelled_at is null
         and exists (select from predictions p where p.challenge_id = c.id)`)
    if (Option.isNone(found)) return undefined
    const { decimal_step, is_off_step, scales_away } = found.value
    if (is_off_step === true) return `${actualValue} is no multiple of the decimal step, ${decimal_step}`
    if (scales_away > maxScalesAway) {
      return `${actualValue} lies more than ${maxScalesAway} reference scales beyond the outermost edges of the bins`
    }
    return undefined
  })
}

export const makeManualSettlement = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const arenas = yield* Arenas
  const ending = findOption(Ending)
  const settleMacro = yield* makeSettleMacro
  const doubtsAbout = makeValueSanityChecks(sql)
  const { voidChallenge, voidWithoutValue } = yield* makeVoidChallenge

  const pastDeadline = Effect.fnUntraced(function* (type: "macro" | "price_event", id: string) {
    const found = isUuid(id)
      ? yield* ending(
          sql`select id::text, deadline, cancel_at from challenges where id = ${id}::uuid and type = ${type}`
        )
      : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(id)
    if (DateTime.isLessThan(yield* DateTime.now, found.value.deadline)) {
      return yield* new ChallengeState({
        detail: `The challenge is open: nothing is settled or voided before its deadline, ${DateTime.formatIso(found.value.deadline)}.`
      })
    }
    return found.value
  })

  /** The macro challenge, which is void by now if it has waited for its value for too long. */
  const overdueVoided = Effect.fnUntraced(function* (id: string) {
    const challenge = yield* pastDeadline("macro", id)
    if (DateTime.isGreaterThanOrEqualTo(yield* DateTime.now, challenge.cancel_at)) {
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
    const doubt = confirm ? undefined : yield* doubtsAbout(id, actualValue)
    if (doubt !== undefined) {
      return yield* InvalidRequest.of("actual_value", `${doubt}; with confirm true it is taken all the same`)
    }
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
      const isVoided = yield* voidChallenge("macro", id, reason)
      const current = yield* arenas.macro.get(id)
      return isVoided ? current : yield* onlyClosed(current.status)
    }
  )

  const voidPriceEvent: Scoring["Service"]["voidPriceEvent"] = Effect.fn("Scoring.voidPriceEvent")(
    function* (challengeId, reason) {
      const { id } = yield* pastDeadline("price_event", challengeId)
      const isVoided = yield* voidChallenge("price_event", id, reason)
      const current = yield* arenas.priceEvents.get(id)
      return isVoided ? current : yield* onlyClosed(current.status)
    }
  )

  return { resolveMacro, voidMacro, voidPriceEvent }
})

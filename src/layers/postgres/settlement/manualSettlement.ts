/**
 * Challenges that an administrator ends: a macro challenge by its published value, and one of any type without a result. Macro
 * challenges and price events are settled or voided after their deadline only.
 */
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ChallengeState, unknownChallenge } from "../../../services/domain/Challenge.ts"
import type { ChallengeType } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import type { NotFound } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { Arenas } from "../../../services/Arenas.ts"
import type { Scoring } from "../../../services/Scoring.ts"
import { scoringScale } from "../challenges/challengeRows.ts"
import { cancelChallenge } from "../challenges/lifecycle.ts"
import { boundNow, boundTime, decimal, findOption } from "../sql.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"
import { faultOfCategory } from "./scores.ts"
import { makeSettle } from "./settle.ts"
import type { Observed } from "./settle.ts"

const EndingRow = Schema.Struct({
  id: Schema.String,
  deadline: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate,
  now: Schema.DateTimeUtcFromDate
})

/**
 * The maximum distance of a value from the bins, in reference scales. These are the usual errors of forecasts, so no
 * published value is so far away.
 */
const maxScalesAway = 100

const Compared = Schema.Struct({
  decimal_step: Schema.NullOr(Schema.String),
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  is_off_step: Schema.NullOr(Schema.Boolean),
  scales_away: Schema.Finite
})

/**
 * Finds why a published value is wrong or looks mistyped: a settlement pays out the pool for good. It looks for
 * mistyped values only where there are forecasts, since first prints of earlier periods may be anything.
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
    const current = yield* arenas.getOf("macro", id)
    if (settled || current.actual_value === actualValue) return current
    return yield* new ChallengeState({
      detail:
        current.actual_value === null
          ? `The challenge is ${current.status}; only one that is closed can be resolved.`
          : `The challenge was resolved with ${current.actual_value}; another value is an amendment.`
    })
  })

  /** Ends the challenge unless it has ended already, and returns whether it did. */
  const ends: { readonly [Type in ChallengeType]: End } = {
    directional: Effect.fnUntraced(function* (challengeId, reason) {
      yield* arenas.getOf("directional", challengeId)
      const ended = { challenge_id: challengeId.toLowerCase(), voided_at: yield* boundNow(sql), reason }
      // An administrator may cancel at any time.
      return yield* cancelChallenge(sql, ended, sql`true`)
    }),
    macro: Effect.fnUntraced(function* (challengeId, reason) {
      return yield* voidByHand("macro", yield* overdueVoided(challengeId), reason)
    }),
    price_event: Effect.fnUntraced(function* (challengeId, reason) {
      const { id } = yield* pastDeadline("price_event", challengeId)
      return yield* voidByHand("price_event", id, reason)
    })
  }

  const voidOne: Scoring["Service"]["void"] = Effect.fn("Scoring.void")(function* <
    Type extends ChallengeType
  >(type: Type, challengeId: string, reason: string) {
    const isEnded = yield* ends[type](challengeId, reason)
    const current = yield* arenas.getOf(type, challengeId)
    if (isEnded) return current
    const expected =
      type === "directional"
        ? "only one that is open or closed can be cancelled"
        : "only one that is closed can be voided"
    return yield* new ChallengeState({ detail: `The challenge is ${current.status}; ${expected}.` })
  })

  return { resolveMacro, void: voidOne }
})

type End = (challengeId: string, reason: string) => Effect.Effect<boolean, NotFound | ChallengeState>

const Evidence = Schema.Struct({
  source: Schema.String,
  fetched_at: Schema.DateTimeUtcFromDate,
  payload_hash: Schema.NullOr(Schema.Uint8Array)
})

/** Settles a macro challenge by its published value; false if the challenge has ended, or is not closed yet. */
const makeSettleMacro = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const evidence = findOption(Evidence)
  const { settle } = yield* makeSettle

  /** A value that a source proposed keeps the evidence of that source, whoever confirms it. */
  const observed = Effect.fnUntraced(function* (
    id: string,
    value: string,
    now: DateTime.Utc
  ): Effect.fn.Return<Observed> {
    const proposed = yield* evidence(sql`
      select source, fetched_at, payload_hash from macro_proposals
       where challenge_id = ${id}::uuid and value = ${value}::numeric`)
    const { fetched_at, payload_hash, source } = Option.getOrElse(proposed, () => byAdministrator)
    const at = fetched_at ?? now
    return {
      observation: BigDecimal.fromStringUnsafe(value),
      source,
      observedAt: at,
      fetchedAt: at,
      payloadHash: payload_hash
    }
  })

  return (id: string, actualValue: number) => settle(id, (now) => observed(id, decimal(actualValue), now))
})

const byAdministrator = { source: "admin", fetched_at: null, payload_hash: null }

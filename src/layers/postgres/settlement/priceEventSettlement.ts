/** Settling price-event questions by the candles that are known. */
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { candlesOf, decide, hour } from "../../../scoring/priceEvents.ts"
import type { Decision, PriceEventQuestion } from "../../../scoring/priceEvents.ts"
import { ChallengeId } from "../../../services/identifiers.ts"
import { PriceEventKind } from "../../../services/domain/Challenge.ts"
import { Prices } from "../../../services/Prices.ts"
import type { HourlyCandle } from "../../../services/Prices.ts"
import { closeChallenges } from "../challenges/lifecycle.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"
import { queueSettlement } from "../log/queueSettlement.ts"
import { execute, findAll, findOption, timestamp } from "../sql.ts"
import { scoreDirections } from "./directionalScores.ts"
import { payloadHashOf } from "../../crypto/payloadHash.ts"
import { makeBarrierLooks } from "./barrierScanProgress.ts"
import { addScores } from "./agentStats.ts"
import { makeScoreForecasts } from "./forecastScores.ts"
import { makeSettling, settlementDay } from "./settlementTransaction.ts"

/** What a question is decided by, none of which ever changes. */
const Due = Schema.Struct({
  id: ChallengeId,
  kind: PriceEventKind,
  target: Schema.String,
  category: Schema.String,
  level: Schema.NullOr(Schema.BigDecimalFromString),
  window_from: Schema.NullOr(Schema.DateTimeUtcFromDate),
  reference_scale: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.String),
  resolve_at: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate
})
export type DuePriceEvent = typeof Due.Type

/** The constraints of the table leave no other row. */
const questionOf = ({ id, kind, level, resolve_at, window_from }: DuePriceEvent): PriceEventQuestion => {
  const resolveAt = DateTime.toEpochMillis(resolve_at)
  if (kind === "numeric_close" || kind === "count_days") return { kind, resolveAt }
  if (kind === "threshold" && level !== null) return { kind, resolveAt, level }
  if (kind === "barrier" && level !== null && window_from !== null) {
    return { kind, resolveAt, level, windowFrom: DateTime.toEpochMillis(window_from) }
  }
  throw new Error(`the terms of question ${id} are not those of a ${kind}`)
}

/** The hash over what all candles were read from, each answer once, in order; none if one of them was imported. */
const payloadHashOfAll = (evidence: ReadonlyArray<HourlyCandle>): Uint8Array | null => {
  const answers = new Map<string, Uint8Array>()
  for (const { payloadHash } of evidence) {
    if (payloadHash === null) return null
    answers.set(Buffer.from(payloadHash).toString("hex"), payloadHash)
  }
  return payloadHashOf([...answers.values()])
}

/** Where the evidence comes from, and when the last of it was observed and fetched. */
const provenance = ({ evidence }: Decision<HourlyCandle>) => {
  const [first] = evidence
  return {
    source: [...new Set(evidence.map(({ source }) => source))].join(", "),
    observedAt: DateTime.makeUnsafe((evidence.at(-1) ?? first).openTime + hour),
    fetchedAt: evidence.reduce((latest, { fetchedAt }) => DateTime.max(latest, fetchedAt), first.fetchedAt),
    payloadHash: payloadHashOfAll(evidence)
  }
}

export const makeSettlePriceEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const dueRows = findAll(Due)
  const locked = findOption(Schema.Struct({ id: Schema.String }))
  const settling = yield* makeSettling
  const scoreForecasts = yield* makeScoreForecasts
  const { voidWithoutCandles } = yield* makeVoidChallenge
  const looks = yield* makeBarrierLooks

  /** Questions whose deadline has passed, and that may be decided: a barrier also before its window ends. */
  const page = (now: DateTime.Utc, after: DuePriceEvent | undefined, limit: number) =>
    dueRows(sql`
      select c.id::text, c.kind, c.target, t.category, c.level::text, c.window_from, c.reference_scale::text,
             c.decimal_step::text, c.resolve_at, c.cancel_at
        from challenges c join targets t on t.key = c.target
       where c.type = 'price_event' and c.resolved_at is null and c.cancelled_at is null and c.deadline <= ${timestamp(now)}
         and (c.resolve_at <= ${timestamp(now)} or c.kind = 'barrier')
         ${after === undefined ? sql`` : sql`and (c.resolve_at, c.id) > (${timestamp(after.resolve_at)}, ${after.id}::uuid)`}
       order by c.resolve_at, c.id
       limit ${limit}`)

  /** The settlement with its scores, in the form that the kind has. */
  const score = Effect.fnUntraced(function* (
    { decimal_step, id, level, reference_scale }: DuePriceEvent,
    decision: Decision<HourlyCandle>,
    now: DateTime.Utc
  ) {
    const { fetchedAt, observedAt, payloadHash, source } = provenance(decision)
    const observation = BigDecimal.format(decision.observation)
    const { result } = decision
    yield* execute(sql`
      insert into settlements
        (challenge_id, version, result, close_price, level, actual_value, reference_scale, source, observed_at,
         fetched_at, raw_sha256, settled_at, day)
      values (${id}::uuid, 1, ${result}, ${result === null ? null : observation}::numeric,
              ${level === null ? null : BigDecimal.format(level)}::numeric,
              ${result === null ? observation : null}::numeric, ${reference_scale}::numeric, ${source}, ${timestamp(observedAt)},
              ${timestamp(fetchedAt)}, ${payloadHash}::bytea, ${timestamp(now)}, ${settlementDay(sql, now)})`)
    if (result !== null) return yield* scoreDirections(sql, { challengeId: id, version: 1 }, result)
    if (reference_scale === null) return yield* Effect.die(new Error(`question ${id} has no reference scale`))
    return yield* scoreForecasts({
      challengeId: id,
      version: 1,
      outcome: { actual_value: observation, reference_scale },
      replaced: null,
      isFrozen: true,
      decimalStep: decimal_step
    })
  })

  const settle = Effect.fn("Scoring.settlePriceEvent")(function* (
    due: DuePriceEvent,
    decision: Decision<HourlyCandle>
  ) {
    const now = yield* DateTime.now
    yield* Effect.annotateCurrentSpan({ "challenge.id": due.id })
    yield* closeChallenges(sql, sql`c.id = ${due.id}::uuid`, now)
    const settled = Effect.gen(function* () {
      const found = yield* locked(sql`
        select id::text from challenges
         where id = ${due.id}::uuid and closed_at is not null and resolved_at is null and cancelled_at is null
           for no key update`)
      if (Option.isNone(found)) return "done" as const
      yield* score(due, decision, now)
      yield* addScores(sql, {
        challengeId: due.id,
        version: 1,
        boards: ["global", due.category, due.target],
        now
      })
      yield* execute(sql`update challenges set resolved_at = ${timestamp(now)} where id = ${due.id}::uuid`)
      yield* queueSettlement(sql, { challenge_id: due.id, version: 1 })
      return "resolved" as const
    })
    return yield* settling(settled)
  })

  /** Settles what the known candles decide, and ends what has waited for them for as long as it does. */
  const decideDue = Effect.fnUntraced(function* (
    due: DuePriceEvent,
    now: DateTime.Utc
  ): Effect.fn.Return<"resolved" | "cancelled" | "waiting" | "done"> {
    const question = questionOf(due)
    // A barrier that was not touched so far is not due before its window ends.
    const undecided = DateTime.isGreaterThanOrEqualTo(now, due.resolve_at) ? "waiting" : "done"
    const isOver = DateTime.isGreaterThanOrEqualTo(now, due.cancel_at)
    if (question.kind === "barrier" && !isOver) {
      if (!(yield* looks.mayBeDecided(due.id, due.target, question, now))) return undecided
    }
    const passed = candlesOf(question).filter((openTime) => openTime < DateTime.toEpochMillis(now))
    const decision = decide(question, yield* prices.hourly(due.target, passed))
    if (decision !== undefined) return yield* settle(due, decision)
    if (!isOver) return undecided
    return (yield* voidWithoutCandles(due)) ? "cancelled" : "done"
  })

  return { page, decideDue, lookedAt: looks.keepOnly }
})

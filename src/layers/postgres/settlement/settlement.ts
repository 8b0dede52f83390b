/** Finds due challenges and settles them by prices and candles. */
import { BigDecimal, Cause, DateTime, Effect, Option, Schema, Duration } from "effect"
import { SqlClient } from "effect/sql"
import { closingCandles, hour } from "../../../scoring/candles.ts"
import { kindsWithWindow } from "../../../scoring/kinds/facts.ts"
import { candleKindOf } from "../../../scoring/kinds/kinds.ts"
import type { Decision, Input } from "../../../scoring/kinds/kind.ts"
import { inUtc } from "../../../scoring/wording.ts"
import { ChallengeId } from "../../../services/domain/ids.ts"
import { Prices } from "../../../services/Prices.ts"
import type { KnownCandle, HourlySpan } from "../../../services/Prices.ts"
import type { Scoring } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { cancelChallenge, closeChallenges } from "../challenges/lifecycle.ts"
import { questionColumns, QuestionRow } from "../challenges/rows.ts"
import { payloadHashOf } from "../../crypto/payloadHash.ts"
import { boundNow, boundTime, findAll, whenGiven, timestamp } from "../sql.ts"
import { makeSettle } from "./settle.ts"
import type { Observed } from "./settle.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"

/** A statement reads at most this many due challenges. */
const batch = 200

const Due = Schema.Struct({
  id: ChallengeId,
  target: Schema.String,
  resolve_at: Schema.DateTimeUtcFromDate,
  close_price_until: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate
})

const Overdue = Schema.Struct({ id: ChallengeId, cancel_at: Schema.DateTimeUtcFromDate })

type Outcome = "resolved" | "cancelled" | "waiting" | "done" | "failed"

export const makeSettleDue = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const settings = yield* Settings
  const dueRows = findAll(Due)
  const overdueRows = findAll(Overdue)
  const { settleBy } = yield* makeSettle
  const { voidWithoutValue } = yield* makeVoidChallenge
  const priceEvents = yield* makeSettlePriceEvents

  const cancel = Effect.fn("Scoring.cancelWithoutPrice")(function* (due: typeof Due.Type, now: DateTime.Utc) {
    const reason = `No closing price was observed by ${inUtc(DateTime.toEpochMillis(due.close_price_until))}.`
    const cancelled = yield* cancelChallenge(
      sql,
      { challenge_id: due.id, voided_at: now, reason },
      sql`cancel_at <= ${boundTime(sql, now)}`
    )
    return cancelled ? ("cancelled" as const) : ("done" as const)
  })

  const decide = Effect.fnUntraced(function* (
    due: typeof Due.Type,
    now: DateTime.Utc
  ): Effect.fn.Return<Outcome> {
    const price = yield* prices.firstBetween(due.target, due.resolve_at, due.close_price_until)
    if (Option.isSome(price)) {
      const { price: observation, ...observed } = price.value
      return (yield* settleBy(due.id, { ...observed, observation })) ? "resolved" : "done"
    }
    if (DateTime.isGreaterThanOrEqualTo(now, due.cancel_at)) return yield* cancel(due, now)
    return "waiting"
  })

  /** A challenge that cannot be settled must not stop the others. */
  const attempt = (challengeId: string, end: Effect.Effect<Outcome>): Effect.Effect<Outcome> =>
    end.pipe(
      Effect.catchCauseIf(
        (cause) => !Cause.hasInterrupts(cause),
        (cause) =>
          Effect.logError("a challenge could not be settled; it is tried again at the next run", cause).pipe(
            Effect.annotateLogs({ challenge_id: challengeId }),
            Effect.as("failed" as const)
          )
      )
    )

  const page = (now: DateTime.Utc, after: typeof Due.Type | undefined) =>
    dueRows(sql`
      select id::text, target, resolve_at, close_price_until, cancel_at
        from challenges
       where type = 'directional' and resolved_at is null and cancelled_at is null and deadline <= ${timestamp(now)}
         and resolve_at <= ${timestamp(now)}
         ${whenGiven(sql, after, (last) => sql`and (resolve_at, id) > (${timestamp(last.resolve_at)}, ${last.id}::uuid)`)}
       order by resolve_at, id
       limit ${batch}`)

  /** Voids macro challenges whose value was not published in time. */
  const voidOverdue = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const overdue = yield* overdueRows(sql`
      select id::text, cancel_at from challenges
       where type = 'macro' and resolved_at is null and cancelled_at is null and cancel_at <= ${timestamp(now)}
       order by id`)
    return yield* Effect.forEach(overdue, (due) =>
      attempt(
        due.id,
        Effect.map(voidWithoutValue(due), (voided) => (voided ? "cancelled" : "done"))
      ).pipe(Effect.map((outcome) => [due.id, outcome] as const))
    )
  })

  const settlePriceEvents = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const outcomes: Array<readonly [ChallengeId, Outcome]> = []
    let rows = yield* priceEvents.page(now, undefined, batch)
    while (rows.length > 0) {
      for (const due of rows) {
        outcomes.push([due.id, yield* attempt(due.id, priceEvents.decideDue(due, now))])
      }
      rows = rows.length < batch ? [] : yield* priceEvents.page(now, rows.at(-1), batch)
    }
    yield* priceEvents.keepBarriers(new Set(outcomes.map(([id]) => id)))
    return outcomes
  })

  const settleDue: Scoring["Service"]["settleDue"] = Effect.gen(function* () {
    const now = yield* boundNow(sql)
    const closed = yield* closeChallenges(
      sql,
      sql`c.deadline <= ${boundTime(sql, now, settings.closeGrace)}`,
      now
    )
    const outcomes: Array<readonly [ChallengeId, Outcome]> = []
    let rows = yield* page(now, undefined)
    while (rows.length > 0) {
      for (const due of rows) outcomes.push([due.id, yield* attempt(due.id, decide(due, now))])
      rows = rows.length < batch ? [] : yield* page(now, rows.at(-1))
    }
    outcomes.push(...(yield* settlePriceEvents(now)))
    outcomes.push(...(yield* voidOverdue(now)))
    const having = (wanted: Outcome) => outcomes.filter(([, outcome]) => outcome === wanted).map(([id]) => id)
    const report = {
      closed,
      resolved: having("resolved"),
      cancelled: having("cancelled"),
      failed: having("failed"),
      waiting: having("waiting").length
    }
    if (report.resolved.length > 0 || report.cancelled.length > 0) {
      yield* Effect.logInfo("challenges were settled").pipe(
        Effect.annotateLogs({ resolved: report.resolved.length, cancelled: report.cancelled.length })
      )
    }
    return report
  }).pipe(Effect.withSpan("Scoring.settleDue"))

  return { settleDue }
})

/** The terms of a question, which never change. */
const DuePriceEvent = Schema.Struct({
  ...QuestionRow.fields,
  id: ChallengeId,
  cancel_at: Schema.DateTimeUtcFromDate
})
type DuePriceEvent = typeof DuePriceEvent.Type

/** The hash over the answers that the candles were read from, each once, in order; null if a candle was imported. */
const payloadHashOfAll = (evidence: ReadonlyArray<KnownCandle>): Uint8Array | null => {
  const answers = new Map<string, Uint8Array>()
  for (const { payloadHash } of evidence) {
    if (payloadHash === null) return null
    answers.set(Buffer.from(payloadHash).toString("hex"), payloadHash)
  }
  return payloadHashOf([...answers.values()])
}

/** The observation with the sources of the evidence, and the times at which the last of it was observed and fetched. */
const observedOf = ({ evidence, observation }: Decision<KnownCandle>): Observed => {
  const [first] = evidence
  return {
    observation,
    source: [...new Set(evidence.map(({ source }) => source))].join(", "),
    observedAt: DateTime.makeUnsafe((evidence.at(-1) ?? first).endTime),
    fetchedAt: evidence.reduce((latest, { fetchedAt }) => DateTime.max(latest, fetchedAt), first.fetchedAt),
    payloadHash: payloadHashOfAll(evidence)
  }
}

/** Settles price events by the known candles. */
const makeSettlePriceEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const dueRows = findAll(DuePriceEvent)
  const { settleBy } = yield* makeSettle
  const { voidWithoutCandles } = yield* makeVoidChallenge
  const barrierScan = yield* makeBarrierScan

  /** Questions after their deadline that may be decided. A barrier may be decided before its window ends. */
  const page = (now: DateTime.Utc, after: DuePriceEvent | undefined, limit: number) =>
    dueRows(sql`
      select c.id::text, ${questionColumns(sql)}, c.cancel_at
        from challenges c
       where c.type = 'price_event' and c.resolved_at is null and c.cancelled_at is null and c.deadline <= ${timestamp(now)}
         and (c.resolve_at <= ${timestamp(now)} or c.kind in ${sql.in(kindsWithWindow)})
         ${whenGiven(sql, after, (last) => sql`and (c.resolve_at, c.id) > (${timestamp(last.resolve_at)}, ${last.id}::uuid)`)}
       order by c.resolve_at, c.id
       limit ${limit}`)

  /** The candles that count among those known in time: a candle that is known after the wait has ended settles nothing. */
  const knownCandles = Effect.fnUntraced(function* (
    due: DuePriceEvent,
    input: Input,
    now: DateTime.Utc
  ): Effect.fn.Return<ReadonlyArray<KnownCandle>> {
    if (input.by === "hours") {
      const passed = input.opens.filter((openTime) => openTime < DateTime.toEpochMillis(now))
      return yield* prices.hourly(due.target, passed, due.cancel_at)
    }
    const { contested, counting } = closingCandles(
      yield* prices.closes(due.target, input.days, due.cancel_at)
    )
    for (const candles of contested) yield* prices.contestClose(due.target, candles)
    return counting
  })

  /** Settles the question if the known candles decide it, or voids it if it has waited for them too long. */
  const decideDue = Effect.fnUntraced(function* (
    due: DuePriceEvent,
    now: DateTime.Utc
  ): Effect.fn.Return<Outcome> {
    const question = candleKindOf(due.kind).byCandles(due, DateTime.toEpochMillis(due.resolve_at))
    if (question === undefined)
      return yield* Effect.die(new Error(`question ${due.id} has the terms of no kind`))
    // A question waits for candles only once its window is over.
    const undecided = DateTime.isGreaterThanOrEqualTo(now, due.resolve_at) ? "waiting" : "done"
    const isOver = DateTime.isGreaterThanOrEqualTo(now, due.cancel_at)
    if (kindsWithWindow.includes(due.kind) && !isOver) {
      if (!(yield* barrierScan.mayBeDecided(due, now))) return undecided
    }
    const decision = question.decide(yield* knownCandles(due, question.input(), now))
    if (decision !== undefined) return (yield* settleBy(due.id, observedOf(decision))) ? "resolved" : "done"
    if (!isOver) return undecided
    return (yield* voidWithoutCandles(due)) ? "cancelled" : "done"
  })

  return { page, decideDue, keepBarriers: barrierScan.keepOnly }
})

/** A scanned hour may be corrected or imported anew, so the whole window is scanned again after this time. */
const rescanAfter = Duration.hours(1)

interface Span {
  readonly low: BigDecimal.BigDecimal
  readonly high: BigDecimal.BigDecimal
}

interface ScanProgress {
  /** The time at which the scan of the whole window began. */
  readonly begunAt: DateTime.Utc
  /** All hours before this one are known. */
  readonly until: number
  readonly span: Option.Option<Span>
}

const joined = (one: Option.Option<Span>, other: Option.Option<Span>): Option.Option<Span> =>
  Option.isSome(one) && Option.isSome(other)
    ? Option.some({
        low: BigDecimal.min(one.value.low, other.value.low),
        high: BigDecimal.max(one.value.high, other.value.high)
      })
    : Option.orElse(one, () => other)

/**
 * Tests if a barrier may be decided. The job asks every few seconds, and a window may have a hundred thousand hours, so
 * the span of the consecutive hours up to the last scan is kept in memory and only later hours are scanned. This
 * decides nothing: a settlement reads all candles that count.
 */
const makeBarrierScan = Effect.gen(function* () {
  const prices = yield* Prices
  const scans = new Map<ChallengeId, ScanProgress>()

  const mayBeDecided = Effect.fnUntraced(function* (
    { id, level: levelText, resolve_at, rule_version, target, window_from }: DuePriceEvent,
    now: DateTime.Utc
  ) {
    if (levelText === null || window_from === null) return true
    const level = BigDecimal.fromStringUnsafe(levelText)
    const resolveAt = DateTime.toEpochMillis(resolve_at)
    const remembered = scans.get(id)
    const isFresh =
      remembered !== undefined && Duration.isLessThan(DateTime.distance(remembered.begunAt, now), rescanAfter)
    const before: ScanProgress = isFresh
      ? remembered
      : { begunAt: now, until: window_from, span: Option.none() }
    const known = yield* prices.hourlySpan(target, { from: before.until, until: resolveAt, level })
    const span = joined(before.span, known)
    const isGapless = ({ count, until }: HourlySpan) => count === (until - before.until) / hour
    const isTouched =
      (rule_version ?? 1) === 1
        ? Option.exists(span, ({ high, low }) => BigDecimal.between(level, { minimum: low, maximum: high }))
        : Option.exists(known, ({ touched }) => touched)
    // The scan does not pass a touch before it has settled the question, whatever delays that.
    const progress = Option.match(isTouched ? Option.none() : Option.filter(known, isGapless), {
      onNone: () => before,
      onSome: ({ until }): ScanProgress => ({ ...before, until, span })
    })
    scans.set(id, progress)
    return isTouched || progress.until === resolveAt
  })

  /** Forgets the scans of all other barriers. */
  const keepOnly = (ids: ReadonlySet<ChallengeId>) =>
    Effect.sync(() => {
      for (const id of scans.keys()) if (!ids.has(id)) scans.delete(id)
    })

  return { mayBeDecided, keepOnly }
})

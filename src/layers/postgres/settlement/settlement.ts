/**
 * Settles challenges that are due by prices. Closing is a short transaction that locks the challenge against submissions.
 * Settling is a longer one, which no submission waits for, since a closed challenge takes none.
 */
import { BigDecimal, Cause, DateTime, Effect, Option, Schema, Duration } from "effect"
import { inUtc } from "../../../scoring/criteria.ts"
import { SqlClient } from "effect/sql"
import { directionalResult } from "../../../scoring/directional.ts"
import { ChallengeId } from "../../../services/domain/ids.ts"
import { Prices } from "../../../services/Prices.ts"
import type { ObservedPrice, KnownCandle, HourlySpan } from "../../../services/Prices.ts"
import type { Scoring } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { cancelChallenge, closeChallenges } from "../challenges/lifecycle.ts"
import { makeReferences } from "../challenges/reference.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"
import { logSettlement } from "../log/settlementEntries.ts"
import { boundNow, boundTime, execute, findAll, findOption, timestamp } from "../sql.ts"
import { scoreDirections, makeScoreForecasts } from "./scores.ts"
import { addScores } from "./agentStats.ts"
import { makeSettlementTransaction, settlementDay } from "./settlementTransaction.ts"
import {
  candlesOf,
  closesByHours,
  closingCandles,
  closingDays,
  decide,
  hour
} from "../../../scoring/priceEvents.ts"
import type { Decision, PriceEventQuestion } from "../../../scoring/priceEvents.ts"
import { PriceEventKind } from "../../../services/domain/Challenge.ts"
import { payloadHashOf } from "../../crypto/payloadHash.ts"

/** Due challenges that are read in one statement. */
const batch = 200

const Due = Schema.Struct({
  id: ChallengeId,
  target: Schema.String,
  resolve_at: Schema.DateTimeUtcFromDate,
  close_price_until: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate
})

const Overdue = Schema.Struct({ id: ChallengeId, cancel_at: Schema.DateTimeUtcFromDate })

const Terms = Schema.Struct({
  open_price: Schema.BigDecimalFromString,
  dead_zone_pct: Schema.BigDecimalFromString,
  target: Schema.String,
  category: Schema.String
})

type Outcome = "resolved" | "cancelled" | "waiting" | "done" | "failed"

export const makeSettleDue = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const settings = yield* Settings
  const dueRows = findAll(Due)
  const overdueRows = findAll(Overdue)
  const inSettlement = yield* makeSettlementTransaction
  const { voidWithoutValue } = yield* makeVoidChallenge
  const references = yield* makeReferences
  const terms = findOption(Terms)
  const priceEvents = yield* makeSettlePriceEvents

  const settle = Effect.fn("Scoring.settle")(function* (due: typeof Due.Type, price: ObservedPrice) {
    const now = yield* boundNow(sql)
    yield* Effect.annotateCurrentSpan({ "challenge.id": due.id })
    yield* closeChallenges(sql, sql`c.id = ${due.id}::uuid`, now)
    const settled = Effect.gen(function* () {
      const found = yield* terms(sql`
        select c.open_price::text, coalesce(c.dead_zone_pct, t.dead_zone_pct)::text as dead_zone_pct, c.target, t.category
          from challenges c join targets t on t.key = c.target
         where c.id = ${due.id}::uuid and c.closed_at is not null and c.resolved_at is null and c.cancelled_at is null
           and c.resolve_at <= ${boundTime(sql, now)}
           for no key update of c`)
      if (Option.isNone(found)) return "done" as const
      const { open_price, dead_zone_pct, target, category } = found.value
      const result = directionalResult(open_price, price.price, dead_zone_pct)
      yield* execute(sql`
        insert into settlements
          (challenge_id, version, result, open_price, close_price, dead_zone_pct, source, observed_at, fetched_at,
           raw_sha256, settled_at, day)
        values (${due.id}::uuid, 1, ${result}, ${BigDecimal.format(open_price)}::numeric,
                ${BigDecimal.format(price.price)}::numeric, ${BigDecimal.format(dead_zone_pct)}::numeric, ${price.source},
                ${timestamp(price.observedAt)}, ${timestamp(price.fetchedAt)}, ${price.payloadHash}::bytea, ${timestamp(now)},
                ${settlementDay(sql, now)})`)
      const reference = yield* references.settled(due.id, now)
      yield* scoreDirections(sql, { challengeId: due.id, version: 1 }, result, reference)
      yield* addScores(sql, { challengeId: due.id, version: 1, boards: ["global", category, target], now })
      yield* execute(sql`update challenges set resolved_at = ${timestamp(now)} where id = ${due.id}::uuid`)
      yield* logSettlement(sql, { challenge_id: due.id, version: 1 })
      return "resolved" as const
    })
    return yield* inSettlement(settled)
  })

  const cancel = Effect.fn("Scoring.cancelWithoutPrice")(function* (due: typeof Due.Type, now: DateTime.Utc) {
    const reason = `No closing price was observed by ${inUtc(DateTime.formatIso(due.close_price_until))}.`
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
    if (Option.isSome(price)) return yield* settle(due, price.value)
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
         ${after === undefined ? sql`` : sql`and (resolve_at, id) > (${timestamp(after.resolve_at)}, ${after.id}::uuid)`}
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
      yield* Effect.logInfo("challenges settled").pipe(
        Effect.annotateLogs({ resolved: report.resolved.length, cancelled: report.cancelled.length })
      )
    }
    return report
  }).pipe(Effect.withSpan("Scoring.settleDue"))

  return { settleDue }
})

/** The terms of a question, which never change. */
const DuePriceEvent = Schema.Struct({
  id: ChallengeId,
  kind: PriceEventKind,
  target: Schema.String,
  category: Schema.String,
  level: Schema.NullOr(Schema.BigDecimalFromString),
  window_from: Schema.NullOr(Schema.DateTimeUtcFromDate),
  rule_version: Schema.Int,
  reference_scale: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.String),
  resolve_at: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate
})
type DuePriceEvent = typeof DuePriceEvent.Type

/** The constraints of the table allow no other row. */
const questionOf = ({
  id,
  kind,
  level,
  resolve_at,
  rule_version: ruleVersion,
  window_from
}: DuePriceEvent): PriceEventQuestion => {
  const resolveAt = DateTime.toEpochMillis(resolve_at)
  if (kind === "numeric_close" || kind === "count_days") return { kind, resolveAt }
  if (kind === "threshold" && level !== null) return { kind, resolveAt, level }
  if (kind === "barrier" && level !== null && window_from !== null) {
    return { kind, ruleVersion, resolveAt, level, windowFrom: DateTime.toEpochMillis(window_from) }
  }
  throw new Error(`the terms of question ${id} are not those of a ${kind}`)
}

/** The hash over the answers that the candles were read from, each once, in order; null if a candle was imported. */
const payloadHashOfAll = (evidence: ReadonlyArray<KnownCandle>): Uint8Array | null => {
  const answers = new Map<string, Uint8Array>()
  for (const { payloadHash } of evidence) {
    if (payloadHash === null) return null
    answers.set(Buffer.from(payloadHash).toString("hex"), payloadHash)
  }
  return payloadHashOf([...answers.values()])
}

/** The sources of the evidence, and when the last of it was observed and fetched. */
const provenance = ({ evidence }: Decision<KnownCandle>) => {
  const [first] = evidence
  return {
    source: [...new Set(evidence.map(({ source }) => source))].join(", "),
    observedAt: DateTime.makeUnsafe((evidence.at(-1) ?? first).endTime),
    fetchedAt: evidence.reduce((latest, { fetchedAt }) => DateTime.max(latest, fetchedAt), first.fetchedAt),
    payloadHash: payloadHashOfAll(evidence)
  }
}

/** Settles price events by the candles that are known. */
const makeSettlePriceEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const dueRows = findAll(DuePriceEvent)
  const locked = findOption(Schema.Struct({ id: Schema.String }))
  const inSettlement = yield* makeSettlementTransaction
  const scoreForecasts = yield* makeScoreForecasts
  const { voidWithoutCandles } = yield* makeVoidChallenge
  const barrierScan = yield* makeBarrierScan
  const references = yield* makeReferences

  /** Questions after their deadline that may be decided. A barrier may be decided before its window ends. */
  const page = (now: DateTime.Utc, after: DuePriceEvent | undefined, limit: number) =>
    dueRows(sql`
      select c.id::text, c.kind, c.target, t.category, c.level::text, c.window_from, c.reference_scale::text,
             coalesce(c.rule_version, 1)::int as rule_version, c.decimal_step::text, c.resolve_at, c.cancel_at
        from challenges c join targets t on t.key = c.target
       where c.type = 'price_event' and c.resolved_at is null and c.cancelled_at is null and c.deadline <= ${timestamp(now)}
         and (c.resolve_at <= ${timestamp(now)} or c.kind = 'barrier')
         ${after === undefined ? sql`` : sql`and (c.resolve_at, c.id) > (${timestamp(after.resolve_at)}, ${after.id}::uuid)`}
       order by c.resolve_at, c.id
       limit ${limit}`)

  /** The settlement with its scores, in the form that the kind has. */
  const score = Effect.fnUntraced(function* (
    { decimal_step, id, level, reference_scale }: DuePriceEvent,
    decision: Decision<KnownCandle>,
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
    const reference = yield* references.settled(id, now)
    if (result !== null) {
      return yield* scoreDirections(sql, { challengeId: id, version: 1 }, result, reference)
    }
    if (reference_scale === null) return yield* Effect.die(new Error(`question ${id} has no reference scale`))
    return yield* scoreForecasts({
      challengeId: id,
      version: 1,
      outcome: { actual_value: observation, reference_scale, categories: null },
      replaced: null,
      isCalibrated: true,
      decimalStep: decimal_step,
      reference
    })
  })

  const settle = Effect.fn("Scoring.settlePriceEvent")(function* (
    due: DuePriceEvent,
    decision: Decision<KnownCandle>
  ) {
    const now = yield* boundNow(sql)
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
      yield* logSettlement(sql, { challenge_id: due.id, version: 1 })
      return "resolved" as const
    })
    return yield* inSettlement(settled)
  })

  /** The candles that count, of those that were known in time: what comes after the wait has ended settles nothing. */
  const knownCandles = Effect.fnUntraced(function* (
    due: DuePriceEvent,
    question: PriceEventQuestion,
    now: DateTime.Utc
  ): Effect.fn.Return<ReadonlyArray<KnownCandle>> {
    if (question.kind === "barrier" || closesByHours(question.kind, due.rule_version)) {
      const passed = candlesOf(question).filter((openTime) => openTime < DateTime.toEpochMillis(now))
      return yield* prices.hourly(due.target, passed, due.cancel_at)
    }
    const { contested, counting } = closingCandles(
      yield* prices.closes(due.target, closingDays(question), due.cancel_at)
    )
    for (const candles of contested) yield* prices.contestClose(due.target, candles)
    return counting
  })

  /** Settles the question if the known candles decide it, or voids it if it has waited for them too long. */
  const decideDue = Effect.fnUntraced(function* (
    due: DuePriceEvent,
    now: DateTime.Utc
  ): Effect.fn.Return<"resolved" | "cancelled" | "waiting" | "done"> {
    const question = questionOf(due)
    // A barrier that is not touched yet is not due before its window ends.
    const undecided = DateTime.isGreaterThanOrEqualTo(now, due.resolve_at) ? "waiting" : "done"
    const isOver = DateTime.isGreaterThanOrEqualTo(now, due.cancel_at)
    if (question.kind === "barrier" && !isOver) {
      if (!(yield* barrierScan.mayBeDecided(due.id, due.target, question, now))) return undecided
    }
    const decision = decide(question, yield* knownCandles(due, question, now))
    if (decision !== undefined) return yield* settle(due, decision)
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
  /** When the scan of the whole window began. */
  readonly begunAt: DateTime.Utc
  /** All hours before this one are known. */
  readonly until: number
  readonly span: Option.Option<Span>
}

type Barrier = Extract<PriceEventQuestion, { readonly kind: "barrier" }>

const joined = (one: Option.Option<Span>, other: Option.Option<Span>): Option.Option<Span> =>
  Option.isSome(one) && Option.isSome(other)
    ? Option.some({
        low: BigDecimal.min(one.value.low, other.value.low),
        high: BigDecimal.max(one.value.high, other.value.high)
      })
    : Option.orElse(one, () => other)

/**
 * Whether a barrier may be decided. The job asks every few seconds, and a window may have a hundred thousand hours, so the
 * span of the consecutive hours up to the last scan is kept in memory and only later hours are scanned. This decides
 * nothing: a settlement reads all candles that count.
 */
const makeBarrierScan = Effect.gen(function* () {
  const prices = yield* Prices
  const scans = new Map<ChallengeId, ScanProgress>()

  const mayBeDecided = Effect.fnUntraced(function* (
    id: ChallengeId,
    asset: string,
    { level, resolveAt, ruleVersion, windowFrom }: Barrier,
    now: DateTime.Utc
  ) {
    const remembered = scans.get(id)
    const isFresh =
      remembered !== undefined && Duration.isLessThan(DateTime.distance(remembered.begunAt, now), rescanAfter)
    const before: ScanProgress = isFresh
      ? remembered
      : { begunAt: now, until: windowFrom, span: Option.none() }
    const known = yield* prices.hourlySpan(asset, { from: before.until, until: resolveAt, level })
    const span = joined(before.span, known)
    const isGapless = ({ count, until }: HourlySpan) => count === (until - before.until) / hour
    const isTouched =
      ruleVersion === 1
        ? Option.exists(span, ({ high, low }) => BigDecimal.between(level, { minimum: low, maximum: high }))
        : Option.exists(known, ({ touched }) => touched)
    // A touch stays in front of the scan until it has settled the question, whatever delays that.
    const progress = Option.match(isTouched ? Option.none() : Option.filter(known, isGapless), {
      onNone: () => before,
      onSome: ({ until }): ScanProgress => ({ ...before, until, span })
    })
    scans.set(id, progress)
    return isTouched || progress.until === resolveAt
  })

  /** Forgets all other barriers. */
  const keepOnly = (ids: ReadonlySet<ChallengeId>) =>
    Effect.sync(() => {
      for (const id of scans.keys()) if (!ids.has(id)) scans.delete(id)
    })

  return { mayBeDecided, keepOnly }
})

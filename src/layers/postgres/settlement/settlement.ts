/**
 * Settling what is due. Closing is a short transaction that locks the challenge against submissions; settling is one
 * longer transaction that no submission waits for, since nothing can be added to what is closed.
 */
import { BigDecimal, Cause, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { directionalResult } from "../../../scoring/directional.ts"
import { ChallengeId } from "../../../services/identifiers.ts"
import { Prices } from "../../../services/Prices.ts"
import type { ObservedPrice } from "../../../services/Prices.ts"
import type { Scoring } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { cancelChallenge, closeChallenges } from "../challenges/lifecycle.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"
import { queueSettlement } from "../log/queueSettlement.ts"
import { execute, findAll, findOption, timestamp } from "../sql.ts"
import { scoreDirections } from "./directionalScores.ts"
import { addScores } from "./agentStats.ts"
import { makeSettlePriceEvents } from "./priceEventSettlement.ts"
import { makeSettling, settlementDay } from "./settlementTransaction.ts"

/** How many due challenges are looked at in one statement. */
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
  const settling = yield* makeSettling
  const { voidWithoutValue } = yield* makeVoidChallenge
  const terms = findOption(Terms)
  const priceEvents = yield* makeSettlePriceEvents

  const settle = Effect.fn("Scoring.settle")(function* (due: typeof Due.Type, price: ObservedPrice) {
    const now = yield* DateTime.now
    yield* Effect.annotateCurrentSpan({ "challenge.id": due.id })
    yield* closeChallenges(sql, sql`c.id = ${due.id}::uuid`, now)
    const settled = Effect.gen(function* () {
      const found = yield* terms(sql`
        select c.open_price::text, coalesce(c.dead_zone_pct, t.dead_zone_pct)::text as dead_zone_pct, c.target, t.category
          from challenges c join targets t on t.key = c.target
         where c.id = ${due.id}::uuid and c.closed_at is not null and c.resolved_at is null and c.cancelled_at is null
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
      yield* scoreDirections(sql, { challengeId: due.id, version: 1 }, result)
      yield* addScores(sql, { challengeId: due.id, version: 1, boards: ["global", category, target], now })
      yield* execute(sql`update challenges set resolved_at = ${timestamp(now)} where id = ${due.id}::uuid`)
      yield* queueSettlement(sql, { challenge_id: due.id, version: 1 })
      return "resolved" as const
    })
    return yield* settling(settled)
  })

  const cancel = Effect.fn("Scoring.cancelWithoutPrice")(function* (due: typeof Due.Type, now: DateTime.Utc) {
    const cancelled = yield* cancelChallenge(sql, {
      challenge_id: due.id,
      voided_at: now,
      reason: `No closing price was observed by ${DateTime.formatIso(due.close_price_until)}.`
    })
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

  /** One challenge that cannot be settled must not keep the others from it. */
  const attempted = (challengeId: string, end: Effect.Effect<Outcome>): Effect.Effect<Outcome> =>
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

  /** Macro challenges whose figure was not published, and will not be. */
  const voidOverdue = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const overdue = yield* overdueRows(sql`
      select id::text, cancel_at from challenges
       where type = 'macro' and resolved_at is null and cancelled_at is null and cancel_at <= ${timestamp(now)}
       order by id`)
    return yield* Effect.forEach(overdue, (due) =>
      attempted(
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
        outcomes.push([due.id, yield* attempted(due.id, priceEvents.decideDue(due, now))])
      }
      rows = rows.length < batch ? [] : yield* priceEvents.page(now, rows.at(-1), batch)
    }
    yield* priceEvents.lookedAt(new Set(outcomes.map(([id]) => id)))
    return outcomes
  })

  const settleDue: Scoring["Service"]["settleDue"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const closed = yield* closeChallenges(
      sql,
      sql`c.deadline <= ${timestamp(DateTime.subtractDuration(now, settings.closeGrace))}`,
      now
    )
    const outcomes: Array<readonly [ChallengeId, Outcome]> = []
    let rows = yield* page(now, undefined)
    while (rows.length > 0) {
      for (const due of rows) outcomes.push([due.id, yield* attempted(due.id, decide(due, now))])
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

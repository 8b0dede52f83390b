/** Moments, challenges of every type, predictions on them, and the prices that settle them. */
import { candleFacts, isCandleKind } from "../../src/scoring/kinds/facts.ts"
import { Array as Arr, DateTime, Effect, Schema } from "effect"
import type { Duration } from "effect"
import { TestClock } from "effect/testing"
import { Arenas } from "../../src/services/Arenas.ts"
import type { Submission } from "../../src/services/Arenas.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Targets } from "../../src/services/Targets.ts"
import { Challenge } from "../../src/services/domain/Challenge.ts"
import type { NewChallenge, NewMacroChallenge, NewPriceEvent } from "../../src/services/domain/Challenge.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { OwedUses } from "../../src/services/RateLimiter.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { firstPage } from "./paging.ts"
import { post } from "./requests.ts"
import { testAdminToken } from "./settings.ts"

/** A Monday. Tests of a block share one clock, which only moves forwards: each test begins in a week of its own. */
const firstMonday = DateTime.makeUnsafe("2026-03-02T00:00:00Z")
const week = 7 * 86_400_000

export const instant = (iso: string): DateTime.Utc => DateTime.makeUnsafe(iso)

export const plus = (moment: DateTime.Utc, duration: Duration.Input): DateTime.Utc =>
  DateTime.addDuration(moment, duration)

export const millisBefore = (moment: DateTime.Utc, millis: number): DateTime.Utc =>
  DateTime.subtract(moment, { milliseconds: millis })

export const moveTo = (moment: DateTime.Utc) => TestClock.setTime(DateTime.toEpochMillis(moment))

/** Moves the clock to the start of a later week, at least 14 days on, and returns that moment. */
export const freshWeek = Effect.gen(function* () {
  const passed = DateTime.toEpochMillis(yield* DateTime.now) - DateTime.toEpochMillis(firstMonday)
  const weeks = passed < 0 ? 0 : Math.floor(passed / week) + 3
  const monday = DateTime.makeUnsafe(DateTime.toEpochMillis(firstMonday) + weeks * week)
  yield* moveTo(monday)
  return monday
})

/** A challenge on gold at 100 with a dead zone of 1 %, open for an hour, resolved at its deadline; `terms` override this. */
export const newChallenge = Effect.fnUntraced(function* (terms: Partial<NewChallenge> = {}) {
  const arenas = yield* Arenas
  const now = yield* DateTime.now
  const deadline = terms.deadline ?? plus(now, "1 hour")
  return yield* arenas.create("directional", {
    asset: "GC",
    open_price: 100,
    dead_zone_pct: 1,
    resolve_at: deadline,
    ...terms,
    deadline
  })
})

export const settleDue = Scoring.use((scoring) => scoring.settleDue)

export const resultsOf = ({ id }: { readonly id: string }, page = firstPage) =>
  Arenas.use((arenas) => arenas.results(id, page))

/** The result of one answer. */
export const submit = Effect.fnUntraced(function* (answer: Omit<Submission, "owed">) {
  const submission = { ...answer, owed: yield* OwedUses }
  const outcomes = yield* Arenas.use((arenas) => arenas.predict([submission]))
  return yield* Effect.fromResult(Arr.getUnsafe(outcomes, 0)).pipe(
    Effect.catchTag("LimitReached", Effect.die)
  )
})

/** Predicts bullish with confidence 0.5, stamped now; `sent` and `receivedAt` override this. */
export const predict = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: { readonly id: string },
  sent: NewAnswer = {},
  receivedAt?: DateTime.Utc
) {
  return yield* submit({
    agentId,
    challengeId: challenge.id,
    type: "directional",
    answer: { direction: "bullish", confidence: 0.5, ...sent },
    receivedAt: receivedAt ?? (yield* DateTime.now)
  })
})

export const importQuotes = (
  asset: string,
  quotes: ReadonlyArray<readonly [time: DateTime.Utc, price: number]>
) =>
  Prices.use((prices) => prices.import({ asset, quotes: quotes.map(([time, price]) => ({ time, price })) }))

/** A candle of one price, from its open time on. */
export const flat = (time: DateTime.Utc, price: number) => ({
  time,
  open: price,
  high: price,
  low: price,
  close: price
})

export const importCandles = (
  asset: string,
  interval: "1h" | "1d",
  candles: ReadonlyArray<readonly [openTime: DateTime.Utc, price: number]>
) =>
  Prices.use((prices) =>
    prices.import({ asset, interval, candles: candles.map(([time, price]) => flat(time, price)) })
  )

/** A challenge on CPI with a reference scale of 0.12 and edges at 3.0, 3.1 and 3.2, open for an hour and released then. */
export const newMacro = Effect.fnUntraced(function* (terms: Partial<NewMacroChallenge> = {}) {
  const arenas = yield* Arenas
  const deadline = terms.deadline ?? plus(yield* DateTime.now, "1 hour")
  return yield* arenas.create("macro", {
    asset: "CPI",
    period: "2026-03",
    reference_scale: 0.12,
    bin_edges: [3, 3.1, 3.2],
    reward_pool: 0,
    ...terms,
    deadline
  })
})

/** Predicts N(3.1, 0.1), stamped now. */
export const forecast = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: { readonly id: string },
  sent: NewAnswer = {},
  receivedAt?: DateTime.Utc
) {
  return yield* submit({
    agentId,
    challengeId: challenge.id,
    type: "macro",
    answer: { predicted_value: 3.1, predicted_std: 0.1, ...sent },
    receivedAt: receivedAt ?? (yield* DateTime.now)
  })
})

/** A price event on ETH over the UTC day after the next midnight, open for an hour, with a level of 100, a range around it, or a scale of 10. */
export const newPriceEvent = Effect.fnUntraced(function* (
  terms: Partial<NewPriceEvent> & Pick<NewPriceEvent, "kind">
) {
  const arenas = yield* Arenas
  const now = yield* DateTime.now
  const { answers, levels } = candleFacts[terms.kind]
  return yield* arenas.create("price_event", {
    asset: "ETH",
    deadline: plus(now, "1 hour"),
    resolve_at: plus(DateTime.startOf(now, "day"), terms.kind === "count_days" ? "7 days" : "1 day"),
    ...(answers === "number" && { reference_scale: 10 }),
    ...(levels.includes("level") && { level: 100 }),
    ...(levels.includes("low") && { low: 90, high: 110 }),
    ...terms
  })
})

/** Answers a price event now, in the fitting form: bullish with confidence 0.5, or N(100, 10). The agent subscribes first. */
export const answerPriceEvent = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: { readonly id: string; readonly kind: string; readonly asset: string },
  sent: NewAnswer = {},
  receivedAt?: DateTime.Utc
) {
  yield* Effect.orDie(Targets.use((targets) => targets.subscribe(agentId, challenge.asset)))
  const isYesOrNo = isCandleKind(challenge.kind) && candleFacts[challenge.kind].answers === "yes_no"
  return yield* submit({
    agentId,
    challengeId: challenge.id,
    type: "price_event",
    answer: {
      ...(isYesOrNo
        ? { direction: "bullish" as const, confidence: 0.5 }
        : { predicted_value: challenge.kind === "count_days" ? 4 : 100, predicted_std: 10 }),
      ...sent
    },
    receivedAt: receivedAt ?? (yield* DateTime.now)
  })
})

const decoded = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, json: unknown) =>
  Effect.orDie(Schema.decodeUnknownEffect(schema)(json))

/** An open challenge on gold, in a far future that the tests' clock does not reach. */
export const openChallenge = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const { json } = yield* post("/api/v1/admin/challenges", {
    token: testAdminToken,
    json: {
      asset: "GC",
      deadline: "2999-01-01T00:00:00Z",
      resolve_at: "2999-01-02T00:00:00Z",
      open_price: 2000,
      ...fields
    }
  })
  return yield* decoded(Challenge, json)
})

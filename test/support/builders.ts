/** Small builders of what the arena's tests need: moments, agents, challenges, predictions, prices. */
import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { Duration } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { TestClock } from "effect/testing"
import { cursorCodecs } from "../../src/layers/crypto/Cursors.ts"
import { findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import type { NewChallenge, NewMacroChallenge, NewPriceEvent } from "../../src/services/domain/Challenge.ts"
import type {
  NewPrediction,
  NewForecast,
  NewPriceEventPrediction
} from "../../src/services/domain/Prediction.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import type { Page, PageOf } from "../../src/services/domain/paging.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Targets } from "../../src/services/Targets.ts"
import { someOperator } from "./operators.ts"
import { testTokenSecret } from "./settings.ts"

/** A Monday. Tests of a block share one clock, which only ever moves on: each begins with a week of its own. */
const firstMonday = DateTime.makeUnsafe("2026-03-02T00:00:00Z")
const week = 7 * 86_400_000

export const instant = (iso: string): DateTime.Utc => DateTime.makeUnsafe(iso)

export const plus = (moment: DateTime.Utc, duration: Duration.Input): DateTime.Utc =>
  DateTime.addDuration(moment, duration)

export const millisBefore = (moment: DateTime.Utc, millis: number): DateTime.Utc =>
  DateTime.subtract(moment, { milliseconds: millis })

export const moveTo = (moment: DateTime.Utc) => TestClock.setTime(DateTime.toEpochMillis(moment))

/** Moves the clock to the start of a later week, at least 14 days on, and answers that moment. */
export const freshWeek = Effect.gen(function* () {
  const passed = DateTime.toEpochMillis(yield* DateTime.now) - DateTime.toEpochMillis(firstMonday)
  const weeks = passed < 0 ? 0 : Math.floor(passed / week) + 3
  const monday = DateTime.makeUnsafe(DateTime.toEpochMillis(firstMonday) + weeks * week)
  yield* moveTo(monday)
  return monday
})

/** An agent that has passed its registration challenge and waits to be claimed. */
export const provisionalAgent = Effect.fnUntraced(function* (name: string = "agent") {
  const sql = yield* SqlClient.SqlClient
  const registry = yield* Registry
  const now = yield* DateTime.now
  const { agent_id } = yield* registry.register({ name })
  yield* sql`update agents set challenge_passed_at = ${DateTime.toDateUtc(now)} where id = ${agent_id}::uuid`
  return agent_id
})

export const claimedAgent = Effect.fnUntraced(function* (name: string = "agent") {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const agentId = yield* provisionalAgent(name)
  const owner = yield* someOperator
  yield* sql`
    update agents set claimed_at = ${DateTime.toDateUtc(now)}, owner_id = ${owner}::uuid, prediction_limit = null
     where id = ${agentId}::uuid`
  return agentId
})

export const claimedAgents = (count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => `agent ${index}`),
    claimedAgent,
    { concurrency: 8 }
  )

/** On gold at 100 with a dead zone of 1 %, open for an hour, resolved at its deadline; `terms` say what differs. */
export const newChallenge = Effect.fnUntraced(function* (terms: Partial<NewChallenge> = {}) {
  const arenas = yield* Arenas
  const now = yield* DateTime.now
  const deadline = terms.deadline ?? plus(now, "1 hour")
  return yield* arenas.directional.create({
    asset: "GC",
    open_price: 100,
    dead_zone_pct: 1,
    resolve_at: deadline,
    ...terms,
    deadline
  })
})

/** Bullish with confidence 0.5, stamped now; `sent` and `receivedAt` say what differs. */
export const predict = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: { readonly id: string },
  sent: Partial<NewPrediction> = {},
  receivedAt?: DateTime.Utc
) {
  const arenas = yield* Arenas
  return yield* arenas.directional.predict({
    agentId,
    challengeId: challenge.id,
    prediction: { direction: "bullish", confidence: 0.5, ...sent },
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

/** On CPI with a reference scale of 0.12 and edges at 3.0, 3.1 and 3.2, open for an hour and released then. */
export const newMacro = Effect.fnUntraced(function* (terms: Partial<NewMacroChallenge> = {}) {
  const { macro } = yield* Arenas
  const deadline = terms.deadline ?? plus(yield* DateTime.now, "1 hour")
  return yield* macro.create({
    asset: "CPI",
    period: "2026-03",
    reference_scale: 0.12,
    bin_edges: [3, 3.1, 3.2],
    reward_pool: 0,
    ...terms,
    deadline
  })
})

/** N(3.1, 0.1), stamped now. */
export const forecast = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: { readonly id: string },
  sent: Partial<NewForecast> = {},
  receivedAt?: DateTime.Utc
) {
  const { macro } = yield* Arenas
  return yield* macro.predict({
    agentId,
    challengeId: challenge.id,
    forecast: { predicted_value: 3.1, predicted_std: 0.1, ...sent },
    receivedAt: receivedAt ?? (yield* DateTime.now)
  })
})

/** Of ETH over the UTC day after the next midnight, open for an hour, with a level of 100 or a scale of 10. */
export const newPriceEvent = Effect.fnUntraced(function* (
  terms: Partial<NewPriceEvent> & Pick<NewPriceEvent, "kind">
) {
  const { priceEvents: events } = yield* Arenas
  const now = yield* DateTime.now
  const isYesOrNo = terms.kind === "barrier" || terms.kind === "threshold"
  return yield* events.create({
    asset: "ETH",
    deadline: plus(now, "1 hour"),
    resolve_at: plus(DateTime.startOf(now, "day"), terms.kind === "count_days" ? "7 days" : "1 day"),
    ...(isYesOrNo ? { level: 100 } : { reference_scale: 10 }),
    ...terms
  })
})

/** Stamped now, and in the form that fits: bullish with confidence 0.5, or N(100, 10). The agent subscribes first. */
export const answer = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: { readonly id: string; readonly kind: string; readonly asset: string },
  sent: Partial<NewPriceEventPrediction> = {},
  receivedAt?: DateTime.Utc
) {
  const { priceEvents: events } = yield* Arenas
  yield* Effect.orDie(Targets.use((targets) => targets.subscribe(agentId, challenge.asset)))
  const isYesOrNo = challenge.kind === "barrier" || challenge.kind === "threshold"
  return yield* events.predict({
    agentId,
    challengeId: challenge.id,
    prediction: {
      ...(isYesOrNo
        ? { direction: "bullish" as const, confidence: 0.5 }
        : { predicted_value: challenge.kind === "count_days" ? 4 : 100, predicted_std: 10 }),
      ...sent
    },
    receivedAt: receivedAt ?? (yield* DateTime.now)
  })
})

/** Reads rows past the services, to check what is really stored. */
export const rowsOf = <Row>(
  row: Schema.ConstraintDecoder<Row>,
  statement: (sql: SqlClient.SqlClient) => Statement.Statement<object>
) => Effect.flatMap(SqlClient.SqlClient, (sql) => findAll(row)(statement(sql)))

/** The number that a statement selects as `count`. */
export const countOf = (statement: (sql: SqlClient.SqlClient) => Statement.Statement<object>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    findOne(Schema.Struct({ count: Schema.Int }))(statement(sql))
  ).pipe(Effect.map((row) => row.count))

/** Follows `next_cursor` to the end. */
export const allPages = Effect.fnUntraced(function* <Item, E, R>(
  limit: number,
  read: (page: Page) => Effect.Effect<PageOf<Item>, E, R>
) {
  const pages: Array<ReadonlyArray<Item>> = []
  let cursor: string | undefined
  do {
    const page: PageOf<Item> = yield* read({ limit, cursor })
    pages.push(page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return pages
})

const codecOf = cursorCodecs({
  tokenSecret: Redacted.make(testTokenSecret),
  tokenSecretPrevious: Option.none()
})

/** A list, and which one of its kind, as its cursors are sealed for it. */
type SealedFor = readonly [list: string, which?: string]

/** Texts that are no `next_cursor`: `keys` as somebody might forge them, and under the very seal of the list. */
export const foreignCursors = (
  [list, which]: SealedFor,
  ...keys: ReadonlyArray<unknown>
): ReadonlyArray<string> => [
  ...["1", null, {}, [], ...keys].map((key) => codecOf(list, Schema.Unknown).encode(key, which)),
  "",
  "x",
  "!!!",
  "bm9uc2Vuc2U",
  ...["1", null, {}, [], ...keys].map((key) => Buffer.from(JSON.stringify(key)).toString("base64url"))
]

export const firstPage: Page = { limit: 200, cursor: undefined }

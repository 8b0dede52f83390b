/** Questions about a real year, BTC and ETH hour by hour, and their results by the settlement job. */
import { readFileSync } from "node:fs"
import { assert } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import * as Jobs from "../../../src/jobs/Jobs.ts"
import { Arenas } from "../../../src/services/Arenas.ts"
import { Audit } from "../../../src/services/Audit.ts"
import type { PriceEvent, PriceEventKind } from "../../../src/services/domain/Challenge.ts"
import { Prices } from "../../../src/services/Prices.ts"
import { Scoring } from "../../../src/services/Scoring.ts"
import { claimedAgent } from "../agents.ts"
import { answerPriceEvent, moveTo, newPriceEvent } from "../challenges.ts"
import { countOf, rowsOf } from "../database.ts"
import { allPages, firstPage } from "../paging.ts"
import { revealAll } from "../loggedFixture.ts"
import { day, hour, numbers, referenceSettlement } from "./referenceSettlement.ts"
import type { QuestionTerms, Hour, Hours } from "./referenceSettlement.ts"
import { readUntil } from "../waiting.ts"

export const assets = ["BTC", "ETH"] as const
type Asset = (typeof assets)[number]
export type Year = Readonly<Record<Asset, Hours>>

export interface Question extends QuestionTerms {
  readonly asset: Asset
  readonly kind: PriceEventKind
  /** The opening time of its first hour, which is also its deadline. */
  readonly begin: number
}

const hoursOf = (asset: Asset): Hours => {
  const file = new URL(`../data/${asset}-1h-2023.csv`, import.meta.url)
  const [, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n")
  const hours = lines.map((line): Hour => {
    const [time = "", ...prices] = line.split(",")
    const [open = 0, high = 0, low = 0, close = 0] = prices.map(Number)
    return { time: Date.parse(time), open, high, low, close }
  })
  return new Map(hours.map((each) => [each.time, each]))
}

export const year2023 = (): Year => ({ BTC: hoursOf("BTC"), ETH: hoursOf("ETH") })

/** This many days from a midnight on, and the last hour before them. */
export const part = (year: Year, from: number, days: number): Year => {
  const within = (hours: Hours) =>
    new Map([...hours].filter(([time]) => time >= from - hour && time < from + days * day))
  return { BTC: within(year.BTC), ETH: within(year.ETH) }
}

const aMonday = Date.UTC(2022, 0, 3)

const cents = (price: number) => Number(price.toFixed(2))

/** Levels by turns: one that is just reached, one that is just missed, upwards and downwards, and some further away. */
const levelOf = (turn: number, hours: Hours, begin: number, end: number): number => {
  const within: Array<Hour> = []
  for (let time = begin; time < end; time += hour)
    within.push(...[hours.get(time)].filter((each) => each !== undefined))
  const high = Math.max(...within.map((each) => each.high))
  const low = Math.min(...within.map((each) => each.low))
  const open = within[0]?.open ?? 0
  return cents([high, high + 0.01, low, low - 0.01, open * 1.03, open * 0.97][turn % 6] ?? open)
}

/** A close and a threshold on every UTC day, a count and a barrier on every week from a Monday on. */
export const questionsOf = (
  asset: Asset,
  hours: Hours,
  from: number,
  days: number
): ReadonlyArray<Question> => {
  const questions: Array<Question> = []
  for (let index = 0; index < days; index++) {
    const begin = from + index * day
    const end = begin + day
    const close = hours.get(end - hour)?.close ?? 0
    const before = hours.get(begin - hour)?.close ?? close
    const level = cents([close, close + 0.01, before][index % 3] ?? close)
    questions.push({ asset, kind: "numeric_close", level: null, from: null, begin, end })
    questions.push({ asset, kind: "threshold", level, from: null, begin, end })
    const isMonday = (begin - aMonday) % (7 * day) === 0
    const week = begin + 7 * day
    if (!isMonday || week > from + days * day) continue
    questions.push({ asset, kind: "count_days", level: null, from: null, begin, end: week })
    const barrier = levelOf((index / 7) | 0, hours, begin, week)
    questions.push({ asset, kind: "barrier", level: barrier, from: begin, begin, end: week })
  }
  return questions
}

/** The year without this many hours, drawn from those of the questions' days. */
export const withoutHours = (year: Year, seed: number, count: number, from: number, days: number): Year => {
  const draw = numbers(seed)
  const left = { BTC: new Map(year.BTC), ETH: new Map(year.ETH) }
  for (let taken = 0; taken < count;) {
    const hours = draw(2) === 0 ? left.BTC : left.ETH
    if (hours.delete(from + draw(days * 24) * hour)) taken += 1
  }
  return left
}

interface Ended extends Question {
  readonly status: string | undefined
  readonly outcome: "bullish" | "bearish" | number | null
  readonly observed: number | null
}

const ask = (question: Question) =>
  newPriceEvent({
    kind: question.kind,
    asset: question.asset,
    deadline: DateTime.makeUnsafe(question.begin),
    resolve_at: DateTime.makeUnsafe(question.end),
    ...(question.level !== null && { level: question.level }),
    ...(question.from !== null && { window_from: DateTime.makeUnsafe(question.from) })
  })

/** Waits in real time until the job has ended every question; the test's clock stands still, so there is one run. */
const everythingEnds = Effect.gen(function* () {
  let highest = 0
  const isLeft = countOf(
    (sql) => sql`
    select count(*)::int as count from challenges where resolved_at is null and cancelled_at is null`
  )
  yield* readUntil(isLeft, (left) => {
    highest = Math.max(highest, process.memoryUsage().rss)
    return left === 0
  })
  return highest
})

const settlementJob = Effect.scoped(
  Effect.gen(function* () {
    const before = process.memoryUsage().rss
    const begun = performance.now()
    yield* Layer.build(Jobs.layer)
    const highest = yield* everythingEnds
    return { seconds: (performance.now() - begun) / 1000, grownMiB: Math.max(0, highest - before) / 2 ** 20 }
  })
)

/**
 * Makes all questions a day before they begin, lets one agent answer, stores the candles, which are invisible before their time,
 * moves the clock to the time at which the last question would be void, and lets the jobs run.
 */
export const played = Effect.fnUntraced(function* (questions: ReadonlyArray<Question>, known: Year) {
  const begin = Math.min(...questions.map((question) => question.begin))
  const end = Math.max(...questions.map((question) => question.end))
  yield* moveTo(DateTime.makeUnsafe(begin - day))
  const agent = yield* claimedAgent()
  const events: Array<PriceEvent> = []
  for (const question of questions) {
    const event = yield* ask(question)
    yield* answerPriceEvent(agent, event)
    events.push(event)
  }
  for (const asset of assets) {
    const candles = [...known[asset].values()].map((each) => ({
      ...each,
      time: DateTime.makeUnsafe(each.time)
    }))
    yield* Prices.use((prices) => prices.import({ asset, interval: "1h", candles }))
  }
  yield* moveTo(DateTime.makeUnsafe(end + 3 * day))
  const run = yield* settlementJob
  const runs = yield* countOf(
    (sql) => sql`select count(*)::int as count from job_runs where job = 'settlement'`
  )
  assert.strictEqual(runs, 1)
  const shown = new Map(
    (yield* allPages(200, (page) => Arenas.use((arenas) => arenas.list("price_event", {}, page))))
      .flat()
      .map((event) => [String(event.id), event])
  )
  const observed = new Map(
    (yield* rowsOf(
      Schema.Struct({ id: Schema.String, observed: Schema.Finite }),
      (sql) =>
        sql`select challenge_id::text as id, coalesce(close_price, actual_value)::float8 as observed from settlements`
    )).map((row) => [row.id, row.observed])
  )
  const ended = questions.map((question, index): Ended => {
    const event = shown.get(events[index]?.id ?? "")
    const outcome = event?.result ?? event?.actual_value ?? null
    return { ...question, status: event?.status, outcome, observed: observed.get(event?.id ?? "") ?? null }
  })
  const { overall } = yield* Scoring.use((scoring) => scoring.scorecard(agent, firstPage))
  yield* revealAll
  const log = yield* Audit.use(({ verifyLog }) => verifyLog)
  const figures = yield* Audit.use(({ verifyStats }) => verifyStats)
  assert.deepStrictEqual([...log.differences, ...figures.differences], [])
  return { ended, overall, run }
})

/** The expected result of `played`, from the candles alone. */
export const referenceEndings = (questions: ReadonlyArray<Question>, known: Year): ReadonlyArray<Ended> =>
  questions.map((question) => {
    const settled = referenceSettlement(question, known[question.asset])
    return settled === undefined
      ? { ...question, status: "void", outcome: null, observed: null }
      : { ...question, status: "resolved", ...settled }
  })

/**
 * Plays a season day by day: the clock moves to each morning, and agents predict the open challenges. The file also makes up prices and
 * players.
 */
import { Console, DateTime, Effect, FileSystem, Path, Random } from "effect"
import type { Direction } from "../../../src/services/domain/Challenge.ts"
import { maxAnswers } from "../../../src/services/domain/Answer.ts"
import type { NewAnswer } from "../../../src/services/domain/Answer.ts"
import type { OpenQuestion } from "../../../src/services/OpenQuestions.ts"
import { EventId } from "../../../src/services/domain/ids.ts"
import type { AgentId } from "../../../src/services/domain/ids.ts"
import type { ApiClient } from "../../client/connection.ts"
import { readPrices } from "../../client/priceFile.ts"
import { jobsDone, skillCounted } from "./jobs.ts"
import { ofCategories, speakerAnswer } from "./speakers.ts"
import type { Speaker } from "./speakers.ts"

interface Contestant {
  readonly id: AgentId
  readonly player: Player
  readonly client: ApiClient
  readonly memory: Memory
  readonly hints: Hints
  /** The number of answered questions. */
  answered: number
}

interface Season {
  /** The address of the server's metrics. */
  readonly operationsUrl: string
  readonly anyone: ApiClient
  readonly administrator: ApiClient
  readonly contestants: ReadonlyArray<Contestant>
  readonly moveTo: (time: DateTime.Utc) => Effect.Effect<unknown>
  readonly from: DateTime.Utc
  readonly weeks: number
  /** The first print of each period, by period. */
  readonly prints: ReadonlyMap<string, number>
  readonly stake: number
}

/** At this hour futures sessions, in winter and summer, the next UTC day and on Sundays the next week can be predicted. */
const morning = { hours: 11, minutes: 5 }

const totals = Effect.fnUntraced(function* (anyone: ApiClient) {
  const count = (status: "open" | "resolved") =>
    Effect.map(anyone.public.challenges({ query: { status, limit: 1 } }), ({ total }) => total)
  return { open: yield* count("open"), resolved: yield* count("resolved") }
})

/** Answers all open questions that the contestant has not answered. */
const predictAll = Effect.fnUntraced(function* (contestant: Contestant, stake: number) {
  const { client } = contestant
  const { items } = yield* client.questions.open({ query: { limit: maxAnswers, practice: "false" } })
  const predictions = items
    .filter(({ mine }) => mine?.answer === null)
    .flatMap((question) => {
      const answer = answerOf(contestant, question)
      const { challenge_id, type } = question
      const isNumber = question.answer.categories === null
      return answer === undefined
        ? []
        : [{ challenge_id, ...answer, ...(type === "macro" && isNumber && { amount: stake }) }]
    })
  if (predictions.length === 0) return
  const outcomes = yield* client.answers.predictAll({ headers: {}, payload: { predictions } })
  contestant.answered += outcomes.items.filter(({ outcome }) => outcome === "recorded").length
})

/** Publishes first prints, as a statistical office does. */
const publish = Effect.fnUntraced(function* ({ administrator, anyone, prints }: Season, now: DateTime.Utc) {
  const { challenges } = yield* anyone.public.macroChallenges({ query: { status: "closed", limit: 200 } })
  for (const { id, period, release_at } of challenges) {
    const actual_value = prints.get(period)
    if (actual_value === undefined || release_at > DateTime.formatIso(now)) continue
    yield* administrator.admin.resolveMacroChallenge({
      params: { challenge_id: id },
      payload: { actual_value }
    })
  }
})

/** Imports news on some mornings. */
const newsOf = (day: number): ReadonlyArray<string> =>
  [["CL", "NG"], [], ["GC", "DXY", "ETH"], [], ["ES"]][day % 5] ?? []

const news = Effect.fnUntraced(function* ({ administrator }: Season, day: number, now: DateTime.Utc) {
  const assets = newsOf(day)
  if (assets.length === 0) return
  yield* administrator.admin.importEvents({
    payload: {
      events: [
        {
          event_id: EventId.make(`season-${day}`),
          title: `News of day ${day + 1} about ${assets.join(", ")}`,
          published_at: now,
          assets
        }
      ]
    }
  })
})

/** Plays every day and reports each week. */
export const playSeason = Effect.fn("demo.season.play")(function* (season: Season) {
  const { anyone, contestants, from, moveTo, stake, weeks } = season
  const everybodyPredicts = Effect.forEach(contestants, (each) => predictAll(each, stake), {
    concurrency: "unbounded",
    discard: true
  })
  for (let day = 0; day < weeks * 7; day++) {
    const date = DateTime.add(from, { days: day })
    const midnight = DateTime.add(date, { minutes: 5 })
    // Every rung of the ladder begins at midnight.
    yield* moveTo(midnight)
    yield* jobsDone(season, midnight)
    yield* everybodyPredicts
    const now = DateTime.add(date, morning)
    yield* moveTo(now)
    yield* news(season, day, now)
    yield* jobsDone(season, now)
    yield* publish(season, now)
    yield* everybodyPredicts
    if (day % 7 !== 6) continue
    const { open, resolved } = yield* totals(anyone)
    const predictions = contestants.reduce((sum, { answered }) => sum + answered, 0)
    yield* Console.log(
      `week ${String((day + 1) / 7).padStart(2)}, until ${DateTime.formatIsoDateUtc(date)}:  ${String(resolved).padStart(4)} directional challenges settled, ${String(open).padStart(2)} open, ${String(predictions).padStart(5)} predictions of all types`
    )
  }
  // The extra time lets the last sessions and the last week close.
  const end = DateTime.add(from, { days: weeks * 7 + 1, hours: 1 })
  yield* moveTo(end)
  yield* jobsDone(season, end)
  yield* publish(season, end)
  // The last day's skill is computed, too.
  yield* skillCounted(season, end)
})

interface Walk {
  readonly asset: string
  readonly first: number
  readonly decimals: number
  /** The standard deviation of a daily move, in percent, around the market's. */
  readonly daily: number
  readonly interval: "1d" | "1h"
}

const walk = (
  asset: string,
  first: number,
  decimals: number,
  daily: number,
  interval: Walk["interval"] = "1d"
): Walk => ({ asset, first, decimals, daily, interval })

const walks: ReadonlyArray<Walk> = [
  walk("GC", 2650, 1, 0.9),
  walk("ES", 5900, 2, 1),
  walk("CL", 71, 2, 2),
  walk("ZN", 109, 3, 0.35),
  walk("HG", 4.2, 3, 1.4),
  walk("NG", 3.4, 3, 3.5),
  walk("ZS", 1010, 2, 1.2),
  walk("DXY", 106, 3, 0.4),
  walk("BTC", 95_000, 2, 2.2, "1h"),
  walk("ETH", 3300, 2, 3, "1h")
]

export const assets = walks.map(({ asset }) => asset)

const hour = 3_600_000
const day = 24 * hour

/** 1970-01-01 was a Thursday. */
const isWeekend = (time: number): boolean => (Math.floor(time / day) + 3) % 7 > 4

const normal = Effect.map(
  Effect.all([Random.next, Random.next]),
  ([radius, angle]) => Math.sqrt(-2 * Math.log(1 - radius)) * Math.cos(2 * Math.PI * angle)
)

const times = (from: number, weeks: number, step: number): ReadonlyArray<DateTime.Utc> =>
  Array.from({ length: (weeks * 7 * day) / step }, (_, index) => DateTime.makeUnsafe(from + index * step))

const closes = Effect.fnUntraced(function* (walk: Walk, from: number, weeks: number) {
  const lines = ["date,close"]
  let price = walk.first
  for (const time of times(from, weeks, day)) {
    if (isWeekend(DateTime.toEpochMillis(time))) continue
    price *= 1 + ((yield* normal) * walk.daily) / 100
    lines.push(`${DateTime.formatIsoDateUtc(time)},${price.toFixed(walk.decimals)}`)
  }
  return lines
})

const hours = Effect.fnUntraced(function* (walk: Walk, from: number, weeks: number) {
  const lines = ["time,open,high,low,close"]
  const deviation = walk.daily / 100 / Math.sqrt(24)
  const rounded = (price: number) => Number(price.toFixed(walk.decimals))
  let open = walk.first
  for (const time of times(from, weeks, hour)) {
    const close = rounded(open * (1 + (yield* normal) * deviation))
    const reach = Math.abs(yield* normal) * deviation * 0.5
    const high = rounded(Math.max(open, close) * (1 + reach))
    const low = rounded(Math.min(open, close) * (1 - reach))
    lines.push(`${DateTime.formatIso(time)},${open},${high},${low},${close}`)
    open = close
  }
  return lines
})

/** Writes whole weeks of prices from a seed to a folder that is removed when the scope closes. */
export const madeUp = Effect.fn("demo.season.prices")(function* (
  from: DateTime.Utc,
  weeks: number,
  seed: number
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "auspex-season-" })
  for (const [index, walk] of walks.entries()) {
    const made = walk.interval === "1d" ? closes : hours
    const lines = yield* made(walk, DateTime.toEpochMillis(from), weeks).pipe(Random.withSeed(seed + index))
    const file = path.join(directory, `${walk.asset}-${walk.interval}-made-up.csv`)
    yield* fs.writeFileString(file, `${lines.join("\n")}\n`)
  }
  return directory
})

/** Future prices of assets with hourly candles, by asset and the time at which a candle closes. */
type Future = ReadonlyMap<string, ReadonlyMap<number, number>>

/** The future prices in a folder of recordings. */
export const futureIn = Effect.fn("demo.season.future")(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const future = new Map<string, Map<number, number>>()
  for (const name of yield* fs.readDirectory(directory)) {
    const asset = /^([A-Z]+)-1h-.*\.csv$/.exec(name)?.[1]
    if (asset === undefined) continue
    const read = yield* readPrices(path.join(directory, name))
    const closes = future.get(asset) ?? new Map<number, number>()
    if ("candles" in read) {
      for (const { close, time } of read.candles) closes.set(DateTime.toEpochMillis(time) + hour, close)
    }
    future.set(asset, closes)
  }
  return future
})

/** The probability that a hint is true. An answer by a hint gives its direction this probability, which is a confidence of 0.2. */
const truth = 0.6
const worth = Number((2 * truth - 1).toFixed(4))

/** A hint about the outcome of a question; undefined for assets without known hours. */
type Hints = (
  question: Pick<OpenQuestion, "asset" | "dead_zone_pct" | "deadline" | "kind" | "open_price" | "resolve_at">
) => Direction | undefined

/** Hints about this future: the same for everybody, from a seed, and wrong in two of five cases. */
export const hintsOf =
  (future: Future, seed: number): Hints =>
  ({ asset, dead_zone_pct, deadline, kind, open_price, resolve_at }) => {
    const close = future.get(asset)?.get(DateTime.toEpochMillis(DateTime.makeUnsafe(resolve_at)))
    if (close === undefined || open_price === null || dead_zone_pct === null) return undefined
    const move = (close / open_price - 1) * 100
    const sides: ReadonlyArray<Direction> = ["bearish", "neutral", "bullish"]
    const right = Math.abs(move) <= dead_zone_pct ? 1 : Math.sign(move) + 1
    const [isTrue, other] = Effect.runSync(
      Effect.all([Random.next, Random.nextIntBetween(1, 2)]).pipe(
        Random.withSeed(`${seed} ${asset} ${kind} ${deadline}`)
      )
    )
    return sides[isTrue < truth ? right : (right + other) % sides.length]
  }

interface Rule {
  readonly name: string
  readonly bio: string
  /** The reaction to the last move of an asset: 1 follows it, -1 bets against it. */
  readonly call: (move: number) => { readonly direction: Direction; readonly confidence: number }
  /** The factor of the player's standard deviations. */
  readonly boldness: number
}

/** A player who answers by hints alone, with a matching confidence. */
interface Informed {
  readonly name: string
  readonly bio: string
  readonly confidence: number
}

type Player = Rule | Informed | Speaker

const follow = (move: number, confidence: number): ReturnType<Rule["call"]> => {
  if (move === 0) return { direction: "neutral", confidence: 0 }
  return { direction: move > 0 ? "bullish" : "bearish", confidence }
}

export const players: ReadonlyArray<Rule | Informed> = [
  {
    name: "momentum",
    bio: "Expects the last move to go on, a little.",
    call: (move) => follow(move, 0.1),
    boldness: 1
  },
  {
    name: "contrarian",
    bio: "Expects the last move to be taken back, a little.",
    call: (move) => follow(-move, 0.1),
    boldness: 1.5
  },
  {
    name: "quiet",
    bio: "Expects nothing to happen, half surely.",
    call: () => ({ direction: "neutral", confidence: 0.5 }),
    boldness: 1
  },
  {
    name: "boastful",
    bio: "Follows the last move, and is sure of everything.",
    call: (move) => follow(move, 1),
    boldness: 0.25
  },
  {
    name: "honest",
    bio: "Hears hints of which three in five are true, and says so.",
    confidence: worth
  },
  { name: "all in", bio: "Hears the same hints, and is always certain.", confidence: 1 }
]

/** Remembers the last open price of each asset, and the move before it. */
export class Memory {
  readonly #seen = new Map<string, { readonly price: number; readonly move: number }>()

  readonly see = (asset: string, price: number): void => {
    const before = this.#seen.get(asset)
    if (before?.price === price) return
    this.#seen.set(asset, { price, move: before === undefined ? 0 : Math.sign(price - before.price) })
  }
  readonly moveOf = (asset: string): number => this.#seen.get(asset)?.move ?? 0
}

/** The middle of a numeric question: the latest price, the middle of the bins, which is the last print, or half the days of a week. */
const middleOf = ({ answer: { bins }, context: { price } }: OpenQuestion): number => {
  const edges = bins?.flatMap(({ low }) => (low === null ? [] : [low])) ?? []
  if (edges.length > 0) return ((edges[0] ?? 0) + (edges.at(-1) ?? 0)) / 2
  return price?.price ?? 1
}

/** The answer is undefined if the player cannot give one. */
const answerOf = (
  { hints, memory, player }: Contestant,
  question: OpenQuestion
): Omit<NewAnswer, "amount"> | undefined => {
  if ("confidence" in player) {
    const direction = hints(question)
    return direction === undefined ? undefined : { direction, confidence: player.confidence }
  }
  const { answer, asset, kind, open_price, type } = question
  const scale = answer.reference_scale ?? 1
  if ("form" in player) {
    return speakerAnswer(player, question, kind === "count_days" ? 3.5 : middleOf(question), scale)
  }
  if (answer.categories !== null) return ofCategories(answer.categories)
  const std = Number((scale * player.boldness).toFixed(4))
  if (open_price !== null) memory.see(asset, open_price)
  if (kind === "count_days") return { predicted_value: 3.5, predicted_std: std }
  if (answer.forms.includes("predicted_value")) {
    const tilt = player.call(1).direction === "bullish" ? 0.4 : -0.4
    const shift = type === "macro" ? tilt * scale : 0
    return { predicted_value: Number((middleOf(question) + shift).toFixed(4)), predicted_std: std }
  }
  const { confidence, direction } = player.call(memory.moveOf(asset))
  const isYesOrNo = type === "price_event"
  return { direction: isYesOrNo && direction === "neutral" ? "bearish" : direction, confidence }
}

/** A season, day by day: the clock is moved to each morning, and whoever finds an open challenge predicts it. */
import { Console, DateTime, Effect } from "effect"
import type { ApiClient } from "../../client/connection.ts"
import { microCredits } from "../../../src/services/Credits.ts"
import { EventId } from "../../../src/services/identifiers.ts"
import type { AgentId } from "../../../src/services/identifiers.ts"
import { jobsDone } from "./jobs.ts"
import { answerOf, forecastOf, Memory, predictionOf } from "./players.ts"
import type { Player } from "./players.ts"

export interface Contestant {
  readonly id: AgentId
  readonly player: Player
  readonly client: ApiClient
  readonly memory: Memory
  /** The challenges that it has predicted. */
  readonly done: Set<string>
}

export interface Season {
  /** Where the server tells its metrics. */
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

/** Sessions of futures can be predicted then, in winter and in summer, and so can the next UTC day and, on Sundays, week. */
const morning = { hours: 11, minutes: 5 }

const totals = Effect.fnUntraced(function* (anyone: ApiClient) {
  const count = (status: "open" | "resolved") =>
    Effect.map(anyone.public.challenges({ query: { status, limit: 1 } }), ({ total }) => total)
  return { open: yield* count("open"), resolved: yield* count("resolved") }
})

/** Everything that is open and that it has not predicted yet. */
const predictAll = Effect.fnUntraced(function* ({ client, done, memory, player }: Contestant, stake: number) {
  const isNew = ({ id }: { readonly id: string }) => !done.has(id)
  const { items } = yield* client.arena.active({ query: { limit: 200 } })
  for (const challenge of items.filter(isNew)) {
    const payload = predictionOf(player, memory, challenge)
    yield* client.arena.predict({ params: { challenge_id: challenge.id }, payload })
    done.add(challenge.id)
  }
  const week = (yield* client.public.priceEvents({ query: { limit: 200 } })).items
  for (const event of week.filter(isNew)) {
    const payload = answerOf(player, memory, event, week)
    yield* client.priceEvents.answer({ params: { challenge_id: event.id }, payload })
    done.add(event.id)
  }
  const macro = (yield* client.public.macroChallenges({ query: { limit: 200 } })).challenges
  for (const challenge of macro.filter(isNew)) {
    const payload = forecastOf(player, challenge)
    const params = { challenge_id: challenge.id }
    yield* client.macro.forecast({ params, payload })
    yield* client.macro.stake({
      params,
      headers: {},
      payload: { predicted_value: payload.predicted_value, amount: microCredits(stake) }
    })
    done.add(challenge.id)
  }
})

/** What a statistical office would do. */
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

/** News come on some mornings, and name what they are about. */
const newsOf = (day: number): ReadonlyArray<string> =>
  [["CL", "NG"], [], ["GC", "DXY", "ETH"], [], ["ES"]][day % 5] ?? []

const news = Effect.fnUntraced(function* ({ administrator }: Season, day: number) {
  const assets = newsOf(day)
  if (assets.length === 0) return
  yield* administrator.admin.importEvents({
    payload: {
      events: [
        {
          event_id: EventId.make(`season-${day}`),
          title: `News of day ${day + 1} about ${assets.join(", ")}`,
          assets
        }
      ]
    }
  })
})

/** Plays every day, and tells what has happened after each week. */
export const playSeason = Effect.fn("demo.season.play")(function* (season: Season) {
  const { anyone, contestants, from, moveTo, stake, weeks } = season
  const everybodyPredicts = Effect.forEach(contestants, (each) => predictAll(each, stake), {
    concurrency: "unbounded",
    discard: true
  })
  for (let day = 0; day < weeks * 7; day++) {
    const date = DateTime.add(from, { days: day })
    const now = DateTime.add(date, morning)
    yield* moveTo(now)
    yield* news(season, day)
    yield* jobsDone(season, now)
    yield* publish(season, now)
    yield* everybodyPredicts
    if (day % 7 !== 6) continue
    const { open, resolved } = yield* totals(anyone)
    const predictions = contestants.reduce((sum, { done }) => sum + done.size, 0)
    yield* Console.log(
      `week ${String((day + 1) / 7).padStart(2)}, until ${DateTime.formatIsoDateUtc(date)}:  ${String(resolved).padStart(4)} directional challenges settled, ${String(open).padStart(2)} open, ${String(predictions).padStart(5)} predictions of all types`
    )
  }
  // The last sessions close, and the last week.
  const end = DateTime.add(from, { days: weeks * 7 + 1, hours: 1 })
  yield* moveTo(end)
  yield* jobsDone(season, end)
  yield* publish(season, end)
})

/**
 * Examples of everything on the public pages: challenges of every type before and after their end, answers in every form, references,
 * a leaderboard, a record of ten days, events; under names as people and programs choose them.
 */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import {
  answerIn,
  decisions,
  ofCategories,
  speakerCredits,
  speakers
} from "../../cli/demo/season/speakers.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { ReferenceAgents } from "../../src/services/ReferenceAgents.ts"
import { Targets } from "../../src/services/Targets.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import type { ChallengeType } from "../../src/services/domain/Challenge.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { EventId } from "../../src/services/domain/ids.ts"
import { Events } from "../../src/services/Events.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { agentOf, anotherOperator, claimedAgent, provisionalAgent } from "./agents.ts"
import {
  answerPriceEvent,
  forecast,
  freshWeek,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict,
  submit
} from "./challenges.ts"
import { fund, stake, staker } from "./credit.ts"
import { comment, like, newEvent, reply } from "./discussion.ts"
import { completeLog } from "./logbook.ts"
import { asOwner } from "./database.ts"

const days = 10

/** A price that moves up and down by about a percent, the same every time. */
const wave = (hour: number, base: number): number =>
  Math.round(base * (1 + 0.012 * Math.sin(hour / 9) + 0.006 * Math.sin(hour / 2.3) + 0.0002 * hour) * 100) /
  100

const candlesFrom = (start: DateTime.Utc, hours: number, base: number) =>
  Array.from({ length: hours }, (_, hour) => {
    const [open, close] = [wave(hour, base), wave(hour + 1, base)]
    return {
      time: plus(start, { hours: hour }),
      open,
      close,
      high: Math.max(open, close) * 1.002,
      low: Math.min(open, close) * 0.998
    }
  })

export const maxSummary =
  `${"The committee met for two days. ".repeat(300)}\n\n${"unbreakable".repeat(35)}`.slice(0, 10_000)

export const hostileNames = {
  emoji: "👩🏽‍🚀".repeat(11) + "🔭🔭🔭",
  rightToLeft: "وكيل التوقعات",
  unbroken: "W".repeat(80)
} as const

const answer = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: { readonly id: string },
  type: ChallengeType,
  sent: NewAnswer
) {
  yield* submit({ agentId, challengeId: challenge.id, type, answer: sent, receivedAt: yield* DateTime.now })
})

export const publicFixture = Effect.gen(function* () {
  const references = yield* ReferenceAgents
  const arenas = yield* Arenas
  const sql = yield* SqlClient.SqlClient
  const events = yield* Events
  const scoring = yield* Scoring
  const prices = yield* Prices
  const monday = yield* freshWeek

  yield* prices.import({
    asset: "GC",
    interval: "1h",
    candles: candlesFrom(plus(monday, "-3 days"), 24 * (days + 4), 2400)
  })
  yield* prices.import({
    asset: "ETH",
    interval: "1h",
    candles: candlesFrom(plus(monday, "-3 days"), 24 * (days + 4), 3100)
  })
  const agents = yield* Effect.forEach(
    ["First Light", hostileNames.rightToLeft, hostileNames.emoji, hostileNames.unbroken, "Tide <b>Table</b>"],
    (name) => claimedAgent(name)
  )
  const [first = yield* claimedAgent()] = agents
  const newcomer = yield* provisionalAgent("Newcomer")
  const owner = yield* anotherOperator
  const three = yield* Effect.forEach(
    speakers,
    Effect.fnUntraced(function* ({ form, name }) {
      const id = yield* agentOf(owner, name)
      yield* fund(`agent:${id}`, speakerCredits)
      yield* Targets.use((targets) => targets.subscribe(id, "ETH"))
      return { id, form }
    })
  )
  yield* asOwner(sql`
    update agents set model_provider = 'openlab', model_name = 'reasoner-2 large', bio = 'Reads the tape.'
     where id = ${first}::uuid`)

  // Ten days of gold: the first agent is good and confident, the others less so.
  let settled = yield* newChallenge({ open_price: wave(72, 2400), dead_zone_pct: 0.3 })
  for (let day = 0; day < days; day++) {
    const morning = plus(monday, { days: day })
    yield* moveTo(plus(morning, "1 hour"))
    const deadline = plus(morning, "20 hours")
    settled = yield* newChallenge({
      open_price: wave(72 + day * 24, 2400),
      dead_zone_pct: 0.3,
      deadline,
      resolve_at: plus(morning, "23 hours")
    })
    const [before, after] = [wave(72 + day * 24, 2400), wave(72 + day * 24 + 23, 2400)]
    const right = after > before * 1.003 ? ("bullish" as const) : ("bearish" as const)
    const wrong = right === "bullish" ? ("bearish" as const) : ("bullish" as const)
    yield* references.predictDue
    for (const { id } of three) {
      yield* answer(id, settled, "directional", {
        probabilities: { bullish: 0.36, neutral: 0.34, bearish: 0.3 }
      })
    }
    for (const [place, agent] of [...agents, newcomer].entries()) {
      yield* predict(agent, settled, {
        direction: (day * 3 + place * 2) % 7 < 5 - place ? right : wrong,
        confidence: ((day * 17 + place * 29) % 90) / 100,
        reasoning: "Yields fell, and real rates with them.\nThat is all."
      })
    }
    yield* moveTo(plus(morning, { hours: 23, minutes: 30 }))
    yield* scoring.settleDue
  }

  const now = plus(monday, { days: days })
  yield* moveTo(now)
  const times = { deadline: plus(now, "5 hours"), resolve_at: plus(now, "30 hours") }
  const [opec] = yield* events.importAll([
    {
      event_id: EventId.make("opec"),
      title: "OPEC+ agrees to extend its production cuts",
      summary: maxSummary,
      url: "https://example.org/opec",
      source: "Example Wire",
      published_at: now,
      spaces: ["finance", "policy"],
      assets: ["CL", "NG"]
    },
    { event_id: EventId.make("fed"), title: "ملخص: بيان <البنك>", spaces: ["finance"], assets: ["GC"] },
    { title: "w".repeat(200), source: hostileNames.unbroken }
  ])
  const [event = yield* newEvent()] = opec === undefined ? [] : [opec]
  const thread = yield* comment(first, event, { content: "Cuts were priced in.\n\nWatch the inventories." })
  for (const [place, agent] of agents.entries()) yield* reply(agent, thread, `Reply ${place}: <i>why?</i>`)
  for (const agent of agents.slice(1)) yield* like(agent, thread)
  yield* comment(newcomer, event, { content: "m".repeat(4000) })
  yield* comment(agents[1] ?? first, event, { content: "أعتقد أن السعر سيرتفع <b>غدا</b>." })
  const open = yield* newChallenge({ ...times, event_id: EventId.make("opec"), open_price: 2400 })
  yield* predict(first, open, { confidence: 0.7 })
  yield* newChallenge({ ...times, question: `Will ${"x".repeat(200)} rise?`, open_price: 2400 })

  // Two of each: one stays open, and one ends now.
  const openMacro = yield* newMacro({ deadline: plus(now, "4 days"), unit: "%", reward_pool: 500 })
  const pool = yield* newMacro({
    deadline: plus(now, "1 hour"),
    unit: "%",
    reward_pool: 1000,
    period: "2026-04"
  })
  const barrier = yield* newPriceEvent({
    kind: "barrier",
    level: 3170,
    resolve_at: plus(now, "10 hours"),
    window_from: plus(now, "-2 days")
  })
  const close = yield* newPriceEvent({
    kind: "numeric_close",
    reference_scale: 40,
    resolve_at: plus(now, "1 day")
  })
  const threshold = yield* newPriceEvent({
    kind: "threshold",
    level: 3200,
    deadline: plus(now, "20 hours"),
    resolve_at: plus(now, "1 day")
  })
  for (const [place, agent] of agents.entries()) {
    yield* forecast(agent, pool, { predicted_value: 3 + place * 0.06, predicted_std: 0.05 + place * 0.02 })
    yield* answerPriceEvent(agent, close, {
      predicted_value: 3120 + place * 14,
      predicted_std: 20 + place * 5
    })
    yield* answerPriceEvent(agent, barrier, {
      direction: place < 3 ? "bullish" : "bearish",
      confidence: 0.2 * place
    })
  }
  const meeting = yield* arenas.create("macro", {
    asset: "FOMC",
    period: "2026-04",
    deadline: plus(now, "1 hour"),
    categories: decisions,
    reward_pool: 0
  })
  for (const { form, id } of three) {
    yield* answer(id, pool, "macro", answerIn(form, 3.1, 0.08))
    yield* answer(id, close, "price_event", answerIn(form, 3150, 30))
    yield* answer(id, meeting, "macro", ofCategories(decisions))
  }
  yield* references.predictDue
  for (const [value, amount] of [
    [3.15, 75],
    [2.9, 50]
  ] as const) {
    const agent = yield* staker(100)
    yield* forecast(agent, pool, { predicted_value: value })
    yield* stake(agent, pool, amount, value)
    yield* forecast(agent, openMacro, { predicted_value: value })
    yield* stake(agent, openMacro, 25, value).pipe(Effect.ignore)
  }
  yield* moveTo(plus(now, "2 hours"))
  yield* scoring.settleDue
  yield* scoring.resolveMacro(pool.id, 3.15)
  yield* scoring.resolveMacro(meeting.id, decisions.length - 1)
  yield* references.poolDue
  yield* sql`
    insert into calibration_stats
      (agent_id, count, pit, within_50, within_80, within_95, abs_z_sum, sharpness_sum)
    values (${first}::uuid, 60, '{9,5,4,5,6,5,4,6,7,9}', 26, 44, 54, 52.5, 48)
    on conflict (agent_id) do update set
      count = excluded.count, pit = excluded.pit, within_50 = excluded.within_50, within_80 = excluded.within_80,
      within_95 = excluded.within_95, abs_z_sum = excluded.abs_z_sum, sharpness_sum = excluded.sharpness_sum`
  yield* completeLog

  return {
    now,
    agents,
    first,
    newcomer,
    open,
    settled,
    openMacro,
    pool,
    meeting,
    barrier,
    close,
    threshold,
    event: event.event_id,
    thread: thread.comment_id,
    /** At this moment questions decided by candles have ended, too. */
    end: plus(now, "26 hours")
  }
})

/** Counts by direction and odds of an open challenge move in steps, so that polling reveals no single answer. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, Random } from "effect"
import { settings } from "../../src/config.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import type { Direction } from "../../src/services/domain/Challenge.ts"
import { Pools } from "../../src/services/Pools.ts"
import { concurrently, times } from "../support/concurrently.ts"
import { agentOf, agentsApart, anotherOperator, provisionalAgent } from "../support/agents.ts"
import {
  freshWeek,
  millisBefore,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict
} from "../support/challenges.ts"
import { oneIn } from "../support/breadth.ts"
import { credits, oddsOf, stake, stakers } from "../support/credit.ts"
import { held, meeting } from "../support/locking.ts"
import { testServices } from "../support/services.ts"

const services = testServices({
  AUSPEX_COUNTS_EVERY: settings.countsEvery.defaultText ?? "",
  AUSPEX_ODDS_EVERY: "15 minutes,10"
})

type Known = { readonly id: string }

const publishCounts = Arenas.use((arenas) => arenas.publishCounts)
const publishOdds = Pools.use((pools) => pools.publishOdds)

/** The published counts of bullish, bearish and neutral, the number of predictions, and the time of the counts. */
const shownOf = (challenge: Known) =>
  Arenas.use((arenas) => arenas.getOf("directional", challenge.id)).pipe(
    Effect.map((found) => [
      found.bullish_count,
      found.bearish_count,
      found.neutral_count,
      found.prediction_count,
      found.counts_as_of
    ])
  )

const directions: ReadonlyArray<Direction> = ["bullish", "bearish", "neutral"]
const directionAt = (index: number): Direction => directions[index % 3] ?? "neutral"

/** Predicts these directions, each by an agent of an owner of its own. */
const say = Effect.fnUntraced(function* (challenge: Known, directions: ReadonlyArray<Direction>) {
  const agents = yield* agentsApart(directions.length)
  for (const [index, agent] of agents.entries())
    yield* predict(agent, challenge, { direction: directions[index] ?? "neutral" })
  return agents
})

/** A challenge that is open for a day. */
const scene = Effect.gen(function* () {
  const monday = yield* freshWeek
  const deadline = plus(monday, "1 day")
  const challenge = yield* newChallenge({ deadline })
  const at = (millis: number) => plus(monday, { milliseconds: millis })
  return { at, challenge, deadline, monday: DateTime.formatIso(monday) }
})

const minutes = (count: number) => count * 60_000

layer(services)("The counts by direction of an open challenge", (it) => {
  it.effect("Counts by direction before the first step are the initial ones; prediction_count is live", () =>
    Effect.gen(function* () {
      const { challenge, monday } = yield* scene
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 0, 0, 0, monday])
      yield* say(challenge, ["bullish", "bearish"])
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 0, 0, 2, monday])
    })
  )

  it.effect("Counts by direction take a step with the tenth prediction, no sooner than 15 minutes", () =>
    Effect.gen(function* () {
      const { at, challenge, monday } = yield* scene
      yield* say(challenge, times(9, directionAt))
      yield* moveTo(at(minutes(15) - 1))
      yield* say(challenge, ["bullish"])
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 0, 0, 10, monday])
      yield* moveTo(at(minutes(15)))
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 0, 0, 10, monday])
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [4, 3, 3, 10, DateTime.formatIso(at(minutes(15)))])
    })
  )

  it.effect("Lists have the counts of the last step until the deadline, and live ones from then on", () =>
    Effect.gen(function* () {
      const { at, challenge, deadline } = yield* scene
      const split = Arenas.use((arenas) =>
        Effect.map(arenas.summary(challenge.id), (summary) => summary.split)
      )
      yield* say(challenge, times(10, directionAt))
      assert.isNull(yield* split)
      yield* moveTo(at(minutes(15)))
      yield* publishCounts
      yield* say(challenge, ["bearish"])
      assert.deepStrictEqual(yield* split, { bullish: 4, bearish: 3, neutral: 3 })
      yield* moveTo(deadline)
      assert.deepStrictEqual(yield* split, { bullish: 4, bearish: 4, neutral: 3 })
    })
  )

  it.effect("Counts by direction do not move by any number of agents of few owners, or of none", () =>
    Effect.gen(function* () {
      const { at, challenge, monday } = yield* scene
      const owner = yield* anotherOperator
      const sybils = [
        ...(yield* Effect.replicateEffect(agentOf(owner), 12)),
        ...(yield* Effect.replicateEffect(provisionalAgent(), 9))
      ]
      for (const agent of sybils) yield* predict(agent, challenge, { direction: "neutral" })
      yield* say(
        challenge,
        times(8, () => "bullish" as const)
      )
      yield* moveTo(at(minutes(60)))
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 0, 0, 29, monday])
      yield* say(challenge, ["bearish"])
      yield* publishCounts
      assert.deepStrictEqual((yield* shownOf(challenge)).slice(0, 3), [8, 1, 21])
      // The next step needs ten other owners.
      yield* moveTo(at(minutes(120)))
      for (const agent of yield* Effect.replicateEffect(agentOf(owner), 30)) yield* predict(agent, challenge)
      yield* say(
        challenge,
        times(9, () => "bearish" as const)
      )
      yield* publishCounts
      assert.deepStrictEqual((yield* shownOf(challenge)).slice(0, 3), [8, 1, 21])
    })
  )

  it.effect("Counts by direction never move by nine predictions, nor by any number of revisions", () =>
    Effect.gen(function* () {
      const { at, challenge, monday } = yield* scene
      const agents = yield* say(
        challenge,
        times(9, () => "bullish" as const)
      )
      yield* moveTo(at(minutes(60)))
      yield* publishCounts
      for (const agent of [...agents, ...agents]) {
        yield* predict(agent, challenge, { direction: "bearish", is_revision: true })
      }
      yield* moveTo(at(minutes(600)))
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 0, 0, 9, monday])
      yield* say(challenge, ["neutral"])
      yield* publishCounts
      const asOf = DateTime.formatIso(at(minutes(600)))
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 9, 1, 10, asOf])
      yield* moveTo(at(minutes(700)))
      for (const agent of agents)
        yield* predict(agent, challenge, { direction: "neutral", is_revision: true })
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 9, 1, 10, asOf])
    })
  )

  it.effect("Counts by direction take the next step 15 minutes and ten predictions after the last", () =>
    Effect.gen(function* () {
      const { at, challenge } = yield* scene
      yield* say(
        challenge,
        times(12, () => "bullish" as const)
      )
      yield* moveTo(at(minutes(20)))
      yield* publishCounts
      const first = [12, 0, 0, 22, DateTime.formatIso(at(minutes(20)))]
      yield* say(
        challenge,
        times(10, () => "bearish" as const)
      )
      yield* moveTo(at(minutes(35) - 1))
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), first)
      yield* moveTo(at(minutes(35)))
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [12, 10, 0, 22, DateTime.formatIso(at(minutes(35)))])
    })
  )

  it.effect("Counts by direction take a step once, however many replicas find it due", () =>
    Effect.gen(function* () {
      const { at, challenge } = yield* scene
      for (const [quarter, counts] of [
        [1, [10, 0, 0]],
        [2, [20, 10, 0]]
      ] as const) {
        yield* moveTo(at(minutes(15 * quarter)))
        yield* say(
          challenge,
          times(10, () => "bullish" as const)
        )
        const stepping = yield* held(publishCounts)
        yield* say(
          challenge,
          times(10, () => "bearish" as const)
        )
        const late = yield* meeting(publishCounts)
        yield* stepping.commit
        yield* Fiber.join(late)
        yield* concurrently(times(8, () => publishCounts))
        const asOf = DateTime.formatIso(at(minutes(15 * quarter)))
        assert.deepStrictEqual(yield* shownOf(challenge), [...counts, 20 * quarter, asOf])
      }
    })
  )

  it.effect("Counts by direction are final from the deadline on, with all that was received before", () =>
    Effect.gen(function* () {
      const { challenge, deadline, monday } = yield* scene
      yield* say(challenge, ["bullish", "bearish"])
      yield* moveTo(millisBefore(deadline, 1))
      assert.deepStrictEqual(yield* shownOf(challenge), [0, 0, 0, 2, monday])
      const [late] = yield* agentsApart(1)
      assert(late !== undefined)
      yield* moveTo(deadline)
      const final = DateTime.formatIso(deadline)
      assert.deepStrictEqual(yield* shownOf(challenge), [1, 1, 0, 2, final])
      yield* predict(late, challenge, { direction: "neutral" }, millisBefore(deadline, 1))
      assert.deepStrictEqual(yield* shownOf(challenge), [1, 1, 1, 3, final])
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [1, 1, 1, 3, final])
    })
  )

  it.effect("Counts by direction of a cancelled challenge stay at the last step until its deadline", () =>
    Effect.gen(function* () {
      const { at, challenge, deadline } = yield* scene
      yield* say(challenge, times(10, directionAt))
      yield* moveTo(at(minutes(15)))
      yield* publishCounts
      yield* say(
        challenge,
        times(10, () => "bullish" as const)
      )
      yield* Scoring.use((scoring) => scoring.void("directional", challenge.id, "a test"))
      yield* moveTo(at(minutes(45)))
      yield* publishCounts
      assert.deepStrictEqual(yield* shownOf(challenge), [4, 3, 3, 20, DateTime.formatIso(at(minutes(15)))])
      yield* moveTo(deadline)
      assert.deepStrictEqual(yield* shownOf(challenge), [14, 3, 3, 20, DateTime.formatIso(deadline)])
    })
  )

  it.effect.each(oneIn(3, [1, 2, 3]))(
    "Counts by direction are those of the last allowed step, in any course of events (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const { at, challenge, monday } = yield* scene
        const agents = yield* agentsApart(60)
        const last = new Map<number, Direction>()
        const truth = () =>
          directions.map((each) => [...last.values()].filter((direction) => direction === each).length)
        let [now, stepAt, stepCount, steps] = [0, 0, 0, 0]
        let expected: ReadonlyArray<unknown> = [0, 0, 0, 0, monday]
        for (let turn = 0; turn < 120; turn++) {
          now += yield* Random.nextIntBetween(0, minutes(2))
          yield* moveTo(at(now))
          const who = yield* Random.nextIntBetween(0, agents.length - 1)
          const direction = directionAt(yield* Random.nextIntBetween(0, 2))
          const agent = agents[who]
          assert(agent !== undefined)
          yield* predict(agent, challenge, { direction, is_revision: true })
          last.set(who, direction)
          // The job is not always in time.
          if (yield* Random.nextBoolean) {
            yield* publishCounts
            if (now - stepAt >= minutes(15) && last.size - stepCount >= 10) {
              ;[stepAt, stepCount, steps] = [now, last.size, steps + 1]
              expected = [...truth(), 0, DateTime.formatIso(at(now))]
            }
          }
          assert.deepStrictEqual(yield* shownOf(challenge), expected.with(3, last.size))
        }
        assert.isAtLeast(steps, 2)
      }).pipe(Random.withSeed(String(seed)))
  )
})

layer(services)("The odds of an open pool", (it) => {
  it.effect("The odds move in steps of ten stakes and 15 minutes, all bins at once, until the deadline", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const deadline = plus(monday, "1 day")
      const challenge = yield* newMacro({ deadline })
      const agents = yield* stakers(challenge, 21, 100)
      const put = (from: number, until: number) =>
        Effect.forEach(agents.slice(from, until), (agent, index) =>
          stake(agent, challenge, 50, index % 2 === 0 ? 2 : 3.1)
        )
      const shown = Effect.map(oddsOf(challenge), ({ bins, counts_as_of, stakers: count, total }) => [
        total,
        count,
        bins.map(({ share, staked, stakers: ofBin }) => [share, staked, ofBin]),
        counts_as_of
      ])
      const none = [0, 0n, 0]
      const nothing = [0n, 0, [none, none, none, none], DateTime.formatIso(monday)]
      yield* put(0, 9)
      yield* moveTo(plus(monday, "1 hour"))
      yield* publishOdds
      assert.deepStrictEqual(yield* shown, nothing)
      yield* put(9, 10)
      assert.deepStrictEqual(yield* shown, nothing)
      yield* publishOdds
      const half = [0.6, credits(300), 6]
      const rest = [0.4, credits(200), 4]
      const first = [credits(500), 10, [half, none, rest, none], DateTime.formatIso(plus(monday, "1 hour"))]
      assert.deepStrictEqual(yield* shown, first)
      yield* put(10, 20)
      yield* moveTo(plus(monday, { milliseconds: minutes(75) - 1 }))
      yield* publishOdds
      assert.deepStrictEqual(yield* shown, first)
      yield* moveTo(plus(monday, "75 minutes"))
      yield* concurrently(times(8, () => publishOdds))
      const second = (yield* shown).slice(0, 2)
      assert.deepStrictEqual(second, [credits(1000), 20])
      yield* put(20, 21)
      yield* moveTo(millisBefore(deadline, 1))
      assert.deepStrictEqual((yield* shown).slice(0, 2), second)
      yield* moveTo(deadline)
      assert.deepStrictEqual((yield* shown).slice(0, 2), [credits(1050), 21])
      assert.strictEqual((yield* shown)[3], DateTime.formatIso(deadline))
    })
  )
})

layer(testServices({ AUSPEX_COUNTS_EVERY: "15 minutes,10" }))("The odds of an open pool", (it) => {
  it.effect("The odds are current unless a setting says otherwise", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newMacro()
      for (const [index, agent] of (yield* stakers(challenge, 2, 100)).entries()) {
        yield* stake(agent, challenge, 50)
        const { counts_as_of, stakers: count, total } = yield* oddsOf(challenge)
        assert.deepStrictEqual([count, total, counts_as_of], [index + 1, credits(50 * (index + 1)), null])
      }
    })
  )
})

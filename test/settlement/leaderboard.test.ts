/** The leaderboard and the scorecard: order, ranks, ties, pages, categories. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Random } from "effect"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { emptyAnswer } from "../../src/services/domain/Prediction.ts"
import type { Page } from "../../src/services/domain/paging.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import type { Category } from "../../src/services/Targets.ts"
import { agentOf, anotherOperator, claimedAgent, claimedAgents, provisionalAgent } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { allPages, firstPage, foreignCursors } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const leaderboard = (category: Category | undefined, page: Page = firstPage) =>
  Scoring.use((scoring) => scoring.leaderboard({ category }, page))
const scorecard = (agentId: string, page: Page = firstPage) =>
  Scoring.use((scoring) => scoring.scorecard(agentId, page))

interface Bet {
  readonly agent: AgentId
  readonly confidence: number
  readonly right: boolean
}

/** One challenge that goes up, predicted as the bets say and settled an hour later. */
const round = Effect.fnUntraced(function* (asset: string, bets: ReadonlyArray<Bet>) {
  const deadline = plus(yield* DateTime.now, "1 hour")
  const challenge = yield* newChallenge({ asset, deadline })
  yield* Effect.forEach(
    bets,
    ({ agent, confidence, right }) =>
      predict(agent, challenge, { direction: right ? "bullish" : "bearish", confidence }),
    { concurrency: 8 }
  )
  yield* moveTo(deadline)
  yield* importQuotes(asset, [[deadline, 102]])
  yield* settleDue
  return challenge
})

const pointsOf = ({ confidence, right }: Bet) => (right ? 50 + 50 * confidence : 50 - 50 * confidence)

/** The specified order and ranks, from the bets alone. */
const ranking = (options: {
  readonly bets: ReadonlyArray<Bet>
  readonly verified: ReadonlySet<AgentId>
  readonly minCount: number
}) => {
  const rows = [...Map.groupBy(options.bets, ({ agent }) => agent)].map(([agent, bets]) => {
    const average = bets.reduce((sum, bet) => sum + pointsOf(bet), 0) / bets.length
    return { agent, average, count: bets.length }
  })
  rows.sort((a, b) => b.average - a.average || b.count - a.count || (a.agent < b.agent ? -1 : 1))
  const official = rows.filter(({ agent }) => options.verified.has(agent))
  return rows.map(({ agent, average, count }) => {
    const better = official.filter(
      (other) => other.average > average || (other.average === average && other.count > count)
    )
    const rank = options.verified.has(agent) ? better.length + 1 : null
    return { rank, established: count >= options.minCount, agent, average, count }
  })
}

const shown = (
  items: ReadonlyArray<{
    readonly rank: number | null
    readonly established: boolean
    readonly agent_id: AgentId
    readonly avg_score: number | null
    readonly prediction_count: number
  }>
) =>
  items.map(({ rank, established, agent_id, avg_score, prediction_count }) => ({
    rank,
    established,
    agent: agent_id,
    average: avg_score,
    count: prediction_count
  }))

layer(testServices({ AUSPEX_RANK_MIN_COUNT: "3" }))("The order of the leaderboard", (it) => {
  /** Confidences of few values, so that averages tie, also across different counts. */
  const manyBets = Effect.gen(function* () {
    yield* freshWeek
    const verified = yield* claimedAgents(45)
    const unverified = yield* Effect.replicateEffect(provisionalAgent(), 15)
    const everyone = [...verified, ...unverified]
    const bets: Array<Bet> = []
    for (const asset of ["GC", "ES", "GC", "CL", "ETH"]) {
      const playing = yield* Effect.filter(everyone, () =>
        Effect.map(Random.nextIntBetween(1, 10), (drawn) => drawn <= 8)
      )
      const drawn = yield* Effect.forEach(playing, (agent) =>
        Effect.map(Effect.all([Random.nextIntBetween(0, 2), Random.nextBoolean]), ([half, right]): Bet => ({
          agent,
          confidence: half / 2,
          right
        }))
      )
      yield* round(asset, drawn)
      bets.push(...drawn)
    }
    return { bets, verified: new Set(verified), everyone }
  })

  it.effect(
    "The leaderboard orders by avg_score, count and agent_id, ranks claimed agents, and ties share a rank",
    () =>
      Effect.gen(function* () {
        const { bets, verified } = yield* manyBets
        const expected = ranking({ bets, verified, minCount: 3 })
        const whole = yield* leaderboard(undefined)
        assert.deepStrictEqual(shown(whole.items), expected)
        const established = Object.groupBy(expected, (row) => (row.established ? "yes" : "no"))
        assert.isDefined(established.no)
        // Pages for people give agents below min_count no rank, and rank the others among themselves.
        const counts = new Map(
          [...Map.groupBy(bets, ({ agent }) => agent)].map(([agent, of]) => [agent, of.length])
        )
        const rankedFirst = [
          ...ranking({
            bets: bets.filter(({ agent }) => (counts.get(agent) ?? 0) >= 3),
            verified,
            minCount: 3
          }),
          ...(established.no ?? []).map((row) => ({ ...row, rank: null }))
        ]
        assert.strictEqual(whole.total, expected.length)
        assert.strictEqual(whole.min_count, 3)
        assert.isNull(whole.category)
        assert.isNull(whole.next_cursor)
        assert.strictEqual(whole.updated_at, DateTime.formatIso(yield* DateTime.now))
        for (const item of whole.items) {
          assert.strictEqual(item.verified, verified.has(item.agent_id))
          assert.strictEqual(item.status, item.verified ? "verified" : "unverified")
        }
        // The draw contains the cases of the rule: ties, and agents without a rank.
        const ranks = expected.flatMap(({ rank }) => (rank === null ? [] : [rank]))
        assert.isBelow(new Set(ranks).size, ranks.length)
        assert.isBelow(ranks.length, expected.length)

        // Pages of any size leave every agent its rank and place.
        for (const limit of [1, 2, 7, 59]) {
          const pages = yield* allPages(limit, (page) => leaderboard(undefined, page))
          assert.deepStrictEqual(shown(pages.flat()), expected, `pages of ${limit}`)
          const shownToPeople = yield* allPages(limit, (page) =>
            Scoring.use((scoring) => scoring.leaderboard({ rankedFirst: true }, page))
          )
          assert.deepStrictEqual(shown(shownToPeople.flat()), rankedFirst, `pages of ${limit}`)
        }
      }).pipe(Random.withSeed("leaderboard"))
  )
})

layer(testServices({ AUSPEX_RANK_MIN_COUNT: "2" }))("The leaderboard", (it) => {
  it.effect("The leaderboard without agents is empty", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* leaderboard("crypto"), {
        items: [],
        total: 0,
        agents: 0,
        category: "crypto",
        order: "average",
        horizon: null,
        since: null,
        provider: null,
        min_count: 2,
        updated_at: null,
        next_cursor: null
      })
    })
  )

  it.effect("A category's leaderboard counts its targets only, the one without a category all of them", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [gold, both, equity] = [
        yield* claimedAgent("g"),
        yield* claimedAgent("b"),
        yield* claimedAgent("e")
      ]
      const bet = (agent: AgentId, right: boolean): Bet => ({ agent, right, confidence: 1 })
      yield* round("GC", [bet(gold, true), bet(both, true)])
      yield* round("NG", [bet(gold, true), bet(both, false)])
      yield* round("ES", [bet(both, false), bet(equity, true)])
      yield* round("ES", [bet(both, false), bet(equity, true)])
      const boardOf = (category: Category | undefined) =>
        Effect.map(leaderboard(category), ({ items, total, category: named }) => ({
          named,
          total,
          items: items.map((each) => [each.rank, each.agent_name, each.avg_score, each.prediction_count])
        }))
      assert.deepStrictEqual(yield* boardOf("commodities"), {
        named: "commodities",
        total: 2,
        items: [
          [1, "g", 100, 2],
          [2, "b", 50, 2]
        ]
      })
      assert.deepStrictEqual(yield* boardOf("equity"), {
        named: "equity",
        total: 2,
        items: [
          [1, "e", 100, 2],
          [2, "b", 0, 2]
        ]
      })
      const [first, second] = gold < equity ? ["g", "e"] : ["e", "g"]
      assert.deepStrictEqual(yield* boardOf(undefined), {
        named: null,
        total: 3,
        items: [
          [1, first, 100, 2],
          [1, second, 100, 2],
          [3, "b", 25, 4]
        ]
      })
      assert.deepStrictEqual((yield* boardOf("rates")).items, [])
    })
  )

  it.effect("The leaderboard has the statistics of scoring.md beside each average", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent("stats")
      yield* round("DXY", [{ agent, confidence: 0.5, right: true }])
      const once = (yield* leaderboard("rates")).items[0]
      assert.isNull(once?.score_ci95)
      assert.deepInclude(once, { rank: 1, established: false })
      yield* moveTo(plus(yield* DateTime.now, "1 day"))
      yield* round("ZN", [{ agent, confidence: 0.5, right: false }])
      const [row] = (yield* leaderboard("rates")).items
      assert(row !== undefined)
      const { score_ci95, brier_index, owner_agents, ...rest } = row
      assert.isAtLeast(owner_agents ?? 0, 1)
      assert.deepStrictEqual(rest, {
        rank: 1,
        established: true,
        agent_id: agent,
        agent_name: "stats",
        name_tag: null,
        model_provider: null,
        model_name: null,
        status: "verified",
        verified: true,
        avg_score: 50,
        accuracy_rate: 0.5,
        correct_count: 1,
        prediction_count: 2,
        mean_skill: null,
        // Days are counted once they are over.
        skill: null,
        peer: null,
        coverage: null,
        evidence: null,
        needed: null,
        group: null
      })
      // p = 0.75 on each: Brier scores 0.0625 and 0.5625.
      assert.closeTo(brier_index ?? Number.NaN, 100 * (1 - Math.sqrt((0.0625 + 0.5625) / 2)), 1e-9)
      // Twelve digits are compared: a double's last ones are the noise of its square root.
      assert.strictEqual(brier_index, Number((100 * (1 - Math.sqrt(0.3125))).toPrecision(12)))
      // Two days of 75 and 25: t(0.975, 1) is 12.7, clipped.
      assert.deepStrictEqual(score_ci95, [0, 100])
    })
  )

  it.effect("The leaderboard says how many agents each owner has, and null for agents without one", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const owner = yield* anotherOperator
      const [one, other] = [yield* agentOf(owner), yield* agentOf(owner)]
      const unclaimed = yield* provisionalAgent()
      yield* round(
        "ETH",
        [one, unclaimed].map((agent) => ({ agent, confidence: 0.5, right: true }))
      )
      const rows = (yield* leaderboard("crypto")).items
      assert.deepStrictEqual(
        [one, other, unclaimed].map((id) => rows.find(({ agent_id }) => agent_id === id)?.owner_agents),
        [2, undefined, null]
      )
    })
  )

  it.effect("The leaderboard rejects a cursor of another list", () =>
    Effect.gen(function* () {
      const agent_id = "01890000-0000-7000-8000-000000000000"
      const forged = [
        { score: 50, count: 3 },
        { score: "50", count: 3, agent_id },
        { score: 50, count: 1.5, agent_id },
        { score: 50, count: 3, agent_id: "me" }
      ]
      for (const cursor of foreignCursors(["leaderboard", "global"], ...forged)) {
        const rejected = yield* Effect.flip(leaderboard(undefined, { limit: 5, cursor }))
        assert.deepStrictEqual(
          rejected.errors.map((error) => error.path),
          ["cursor"]
        )
      }
    })
  )
})

layer(testServices())("The scorecard", (it) => {
  it.effect("A scorecard has statistics over all, per category and per target, and settled predictions", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const agent = yield* claimedAgent("scored")
      const bet = (confidence: number, right: boolean) => [{ agent, confidence, right }]
      const first = yield* round("GC", bet(1, true))
      const second = yield* round("GC", bet(0.5, false))
      const third = yield* round("ETH", bet(0.2, true))
      yield* predict(agent, yield* newChallenge({ asset: "ZS" }))
      const card = yield* scorecard(agent)
      assert.deepStrictEqual([card.agent_id, card.agent_name, card.verified], [agent, "scored", true])
      assert.deepInclude(card.overall, { prediction_count: 3, correct_count: 2, avg_score: 185 / 3 })
      assert.deepStrictEqual(
        card.categories.map((each) => [each.category, each.prediction_count, each.avg_score]),
        [
          ["commodities", 2, 62.5],
          ["crypto", 1, 60]
        ]
      )
      assert.deepStrictEqual(
        card.targets.map((each) => [each.target, each.prediction_count, each.accuracy_rate]),
        [
          ["ETH", 1, 1],
          ["GC", 2, 0.5]
        ]
      )
      assert.deepStrictEqual(
        card.predictions.map((each) => [each.challenge_id, each.score, each.is_correct]),
        [
          [third.id, 60, true],
          [second.id, 25, false],
          [first.id, 100, true]
        ]
      )
      const oldest = card.predictions.at(-1)
      assert(oldest !== undefined)
      const { commit, prediction_id, ...shownOldest } = oldest
      assert.match(prediction_id, /^[0-9a-f-]{36}$/)
      assert.match(commit, /^[0-9a-f]{64}$/)
      assert.deepStrictEqual(shownOldest, {
        challenge_id: first.id,
        type: "directional",
        asset: "GC",
        question: first.question,
        ...emptyAnswer,
        direction: "bullish",
        confidence: 1,
        actual_value: null,
        crps: null,
        skill: null,
        result: "bullish",
        is_correct: true,
        score: 100,
        created_at: DateTime.formatIso(now),
        settled_at: first.deadline,
        amended: false
      })
      const pages = yield* allPages(2, (page) =>
        Effect.map(scorecard(agent, page), ({ predictions, next_cursor }) => ({
          items: predictions,
          next_cursor
        }))
      )
      assert.deepStrictEqual(
        pages.map((page) => page.length),
        [2, 1]
      )
      assert.deepStrictEqual(pages.flat(), [...card.predictions])
    })
  )

  it.effect("The scorecard of an unscored agent has no statistics, and an unknown agent has none", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent("new")
      yield* predict(agent, yield* newChallenge())
      assert.deepStrictEqual(yield* scorecard(agent), {
        agent_id: agent,
        agent_name: "new",
        name_tag: agent.slice(-8),
        verified: false,
        overall: {
          avg_score: null,
          accuracy_rate: null,
          correct_count: 0,
          prediction_count: 0,
          score_ci95: null,
          brier_index: null,
          mean_skill: null
        },
        categories: [],
        targets: [],
        predictions: [],
        next_cursor: null
      })
      for (const id of ["nobody", "01890000-0000-7000-8000-000000000000"]) {
        assert.strictEqual((yield* Effect.flip(scorecard(id)))._tag, "NotFound")
      }
      const rejected = yield* Effect.flip(scorecard(agent, { limit: 5, cursor: "x" }))
      assert.strictEqual(rejected._tag, "InvalidRequest")
    })
  )
})

/** The kept sums: they equal a recomputation from the scores, whatever the history, and an audit proves it. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Equal, Schema } from "effect"
import { TestClock } from "effect/testing"
import { directionalScore } from "../../src/scoring/directional.ts"
import {
  accuracyRate,
  addScore,
  avgScore,
  brierIndex,
  emptyStats,
  scoreCi95
} from "../../src/scoring/agentStats.ts"
import type { AgentStats } from "../../src/scoring/agentStats.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Direction } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { breadth } from "../support/breadth.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { storedStats } from "../support/storedStats.ts"
import { testServices } from "../support/services.ts"
import { rowsOf } from "../support/database.ts"
import { differencesAfter } from "../support/tampering.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"

const audit = Audit.use(({ verifyStats }) => verifyStats)

const assets = { GC: "commodities", NG: "commodities", ES: "equity", ETH: "crypto" } as const
const closes = { bullish: 102, bearish: 98, neutral: 100.5 }

const Bet = Schema.Struct({
  agent: Schema.Literals([0, 1, 2, 3]),
  direction: Direction,
  /** A revised prediction must not be scored beside its revision. */
  revised: Schema.Boolean,
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
})

const Round = Schema.Struct({
  hours: Schema.Literals([0, 0, 5, 11, 24, 77]),
  asset: Schema.Literals(["GC", "NG", "ES", "ETH"]),
  result: Direction,
  bets: Schema.Array(Bet).check(Schema.isMaxLength(6))
})

/** Results of a square root have twelve digits. */
const twelveDigits = (value: number) => Number(value.toPrecision(12))

/** The published members of stats, as a scorecard shows them. */
const toPublic = (stats: AgentStats) => {
  const brier = brierIndex(stats)
  const interval = scoreCi95(stats)
  return {
    avg_score: avgScore(stats),
    accuracy_rate: accuracyRate(stats),
    correct_count: stats.correctCount,
    prediction_count: stats.scoredCount,
    score_ci95: interval === null ? null : ([twelveDigits(interval[0]), twelveDigits(interval[1])] as const),
    brier_index: brier === null ? null : twelveDigits(brier),
    mean_skill: null
  }
}

const confidenceOf = Schema.decodeUnknownSync(Schema.BigDecimalFromString)

layer(testServices())("Kept sums", (it) => {
  it.effect.prop(
    "Kept sums equal the reference fold over any history, and the audit agrees",
    [Schema.Array(Round).check(Schema.isMaxLength(14))],
    ([rounds]) =>
      Effect.gen(function* () {
        yield* freshWeek
        const agents = yield* claimedAgents(4)
        const expected = new Map<string, AgentStats>()
        for (const { hours, asset, result, bets } of rounds) {
          yield* TestClock.adjust(`${hours} hours`)
          const now = yield* DateTime.now
          const deadline = plus(now, "1 minute")
          const challenge = yield* newChallenge({ asset, deadline })
          const latest = new Map<string, typeof Bet.Type>()
          for (const bet of bets) {
            const agent = agents[bet.agent]
            assert(agent !== undefined)
            if (bet.revised) yield* predict(agent, challenge, { confidence: 0.123, is_revision: true })
            yield* predict(agent, challenge, { ...bet, is_revision: true })
            latest.set(agent, bet)
          }
          yield* moveTo(deadline)
          yield* importQuotes(asset, [[deadline, closes[result]]])
          yield* settleDue
          for (const [agent, bet] of latest) {
            const correct = bet.direction === result
            for (const board of ["global", assets[asset], asset]) {
              const name = `${board}: ${agent}`
              expected.set(
                name,
                addScore(expected.get(name) ?? emptyStats, {
                  kind: "binary",
                  day: DateTime.formatIsoDateUtc(deadline),
                  correct,
                  score: directionalScore(correct, confidenceOf(String(bet.confidence)))
                })
              )
            }
          }
        }
        const kept = yield* storedStats(agents)
        assert.sameMembers([...kept.keys()], [...expected.keys()])
        for (const [name, stats] of expected) assert.isTrue(Equal.equals(kept.get(name), stats), name)
        for (const agent of agents) {
          const card = yield* Scoring.use((scoring) => scoring.scorecard(agent, firstPage))
          const statsOf = (board: string) => toPublic(expected.get(`${board}: ${agent}`) ?? emptyStats)
          assert.deepStrictEqual(card.overall, statsOf("global"))
          for (const { category, ...stats } of card.categories) {
            assert.deepStrictEqual(stats, statsOf(category))
          }
          for (const { target, ...stats } of card.targets) {
            assert.deepStrictEqual(stats, statsOf(target))
          }
        }
        assert.deepStrictEqual((yield* audit).differences, [])
      }),
    { arbitrary: { runs: breadth(6, 25), size: 14 } }
  )

  it.effect("Kept sums have a day of settlement that never goes back, whatever a replica's clock says", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const agent = yield* claimedAgent()
      const [early, late] = [plus(monday, "23 hours"), plus(monday, "25 hours")]
      const challenges = yield* Effect.replicateEffect(newChallenge({ deadline: early }), 2)
      for (const challenge of challenges) yield* predict(agent, challenge)
      yield* predict(agent, yield* newChallenge({ asset: "NG", deadline: early }))
      const ahead = yield* newChallenge({ deadline: late })
      yield* predict(agent, ahead)
      yield* moveTo(late)
      yield* importQuotes("GC", [[late, 102]])
      yield* settleDue
      // The challenge of this settlement was due before midnight, and the replica's clock says that it is.
      yield* importQuotes("NG", [[early, 102]])
      yield* moveTo(plus(monday, "23.5 hours"))
      yield* withDatabaseAt(late)(settleDue)
      const days = yield* rowsOf(
        Schema.Struct({ day: Schema.String, settlements: Schema.Int }),
        (sql) => sql`select day::text, count(*)::int as settlements from settlements
                      where day >= ${DateTime.formatIsoDateUtc(monday)}::date group by day`
      )
      assert.deepStrictEqual(days, [{ day: DateTime.formatIsoDateUtc(late), settlements: 4 }])
      assert.deepStrictEqual((yield* audit).differences, [])
    })
  )
})

const apart = (differences: ReadonlyArray<string>) => ({
  scores: differences.filter((each) => each.startsWith("score in challenge ")),
  stats: differences.filter((each) => !each.startsWith("score in challenge "))
})

layer(testServices())("The check of kept sums", (it) => {
  const history = Effect.gen(function* () {
    const deadline = plus(yield* freshWeek, "1 hour")
    const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
    for (const [day, asset] of ["NG", "ES", "NG"].entries()) {
      const due = plus(deadline, `${day} days`)
      const challenge = yield* newChallenge({ asset, deadline: due })
      yield* predict(agent, challenge)
      yield* predict(other, challenge, { direction: "bearish" })
      yield* moveTo(due)
      yield* importQuotes(asset, [[due, 102]])
      yield* settleDue
    }
    return { agent, other }
  })

  it.effect("The check of kept sums finds nothing while they equal the scores, and counts the agents", () =>
    Effect.gen(function* () {
      yield* history
      assert.deepStrictEqual(yield* audit, { agents: 2, differences: [] })
    })
  )

  it.effect("The check of kept sums names every board and agent that a changed score contradicts", () =>
    Effect.gen(function* () {
      const { agent } = yield* history
      const named = yield* differencesAfter(
        (sql) => sql`
          update prediction_scores s set score = 75.0000000001
            from challenges c
           where c.id = s.challenge_id and c.target = 'ES' and s.agent_id = ${agent}::uuid`
      )
      const { stats, scores } = apart(named)
      assert.sameMembers(stats, [`ES: ${agent}`, `equity: ${agent}`, `global: ${agent}`])
      assert.strictEqual(scores.length, 1)
      assert.deepStrictEqual((yield* audit).differences, [])
    })
  )

  it.effect("The check of kept sums names sums that were changed, removed or made up", () =>
    Effect.gen(function* () {
      const { agent, other } = yield* history
      const changes = ["score_sum", "correct", "brier_sum", "day_sum", "sum_day_sq", "sum_day_cross"]
      for (const column of changes) {
        const named = yield* differencesAfter(
          (sql) => sql`
            update agent_stats set ${sql(column)} = ${sql(column)} + 1
             where board = 'NG' and agent_id = ${other}::uuid`
        )
        assert.deepStrictEqual(named, [`NG: ${other}`], column)
      }
      const removed = yield* differencesAfter(
        (sql) => sql`delete from agent_stats where board = 'commodities' and agent_id = ${agent}::uuid`
      )
      assert.deepStrictEqual(removed, [`commodities: ${agent}`])
      const unfounded = yield* differencesAfter(
        (sql) => sql`delete from prediction_scores where agent_id = ${agent}::uuid`
      )
      assert.isNotEmpty(apart(unfounded).scores)
      assert.sameMembers(
        apart(unfounded).stats,
        ["NG", "ES", "commodities", "equity", "global"].map((board) => `${board}: ${agent}`)
      )
    })
  )
})

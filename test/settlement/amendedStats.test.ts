/** After amendments the kept sums equal a recomputation from the newest versions, whatever the history. */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, DateTime, Effect, Equal, Schema } from "effect"
import { TestClock } from "effect/testing"
import { calibrationRow } from "../../src/scoring/calibration.ts"
import { normalDistribution } from "../../src/scoring/distributions.ts"
import { crps, crpsScore } from "../../src/scoring/crps.ts"
import { directionalResult, directionalScore } from "../../src/scoring/directional.ts"
import { addScore, emptyStats } from "../../src/scoring/agentStats.ts"
import type { AgentStats, SettledScore } from "../../src/scoring/agentStats.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Direction } from "../../src/services/domain/Challenge.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { breadth } from "../support/breadth.ts"
import { claimedAgents } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict
} from "../support/challenges.ts"
import { storedStats } from "../support/storedStats.ts"
import { revealAll } from "../support/loggedFixture.ts"
import { testServices } from "../support/services.ts"

const assets = { GC: "commodities", NG: "commodities", ES: "equity", CPI: "economics" } as const

const Bet = Schema.Struct({
  agent: Schema.Literals([0, 1, 2, 3]),
  direction: Direction,
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  predicted_value: Schema.Literals([2.7, 3, 3.14, 3.5]),
  predicted_std: Schema.Literals([0.01, 0.1, 1 / 3])
})

const Round = Schema.Struct({
  hours: Schema.Literals([0, 5, 24, 77]),
  asset: Schema.Literals(["GC", "NG", "ES", "CPI"]),
  /** The closing price is 100 times this, the published value 3 times. */
  value: Schema.Literals([0.97, 1, 1.003, 1.04]),
  bets: Schema.Array(Bet).check(Schema.isMaxLength(5))
})

const Correction = Schema.Struct({
  round: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
  days: Schema.Literals([0, 1, 3]),
  value: Schema.Finite.check(Schema.isBetween({ minimum: 0.9, maximum: 1.1 }))
})

interface Played {
  readonly challenge: { readonly id: string }
  readonly asset: (typeof Round.Type)["asset"]
  readonly day: string
  readonly bets: ReadonlyMap<AgentId, typeof Bet.Type>
  value: number
}

const exact = (value: number) => BigDecimal.fromNumberUnsafe(value)

/** The score of one prediction by the reference formulas. */
const scored = ({ asset, day, value }: Played, bet: typeof Bet.Type): SettledScore => {
  if (asset === "CPI") {
    const { score, skill } = crpsScore(
      crps({ mean: bet.predicted_value, sd: bet.predicted_std }, value),
      0.12
    )
    return { kind: "numeric", day, score: exact(score), skill: exact(skill) }
  }
  const correct = directionalResult(exact(100), exact(value), exact(1)) === bet.direction
  return { kind: "binary", day, correct, score: directionalScore(correct, exact(bet.confidence)) }
}

layer(testServices())("Any settlements and amendments", (it) => {
  it.effect.prop(
    "Scores, boards and calibration equal a recomputation from the newest settlements",
    [
      Schema.Array(Round).check(Schema.isBetweenLength(1, 8)),
      Schema.Array(Correction).check(Schema.isBetweenLength(1, 6))
    ],
    ([rounds, corrections]) =>
      Effect.gen(function* () {
        yield* freshWeek
        const agents = yield* claimedAgents(4)
        const played: Array<Played> = []
        for (const { asset, bets, hours, value } of rounds) {
          yield* TestClock.adjust(`${hours} hours`)
          const deadline = plus(yield* DateTime.now, "1 minute")
          const isMacro = asset === "CPI"
          const challenge = isMacro
            ? yield* newMacro({ deadline, decimal_step: 0.1 })
            : yield* newChallenge({ asset, deadline })
          const latest = new Map<AgentId, typeof Bet.Type>()
          for (const bet of bets) {
            const agent = agents[bet.agent]
            assert(agent !== undefined)
            const { confidence, direction, predicted_std, predicted_value } = bet
            if (isMacro) yield* forecast(agent, challenge, { predicted_std, predicted_value })
            else yield* predict(agent, challenge, { confidence, direction, is_revision: true })
            latest.set(agent, bet)
          }
          yield* moveTo(deadline)
          const settledBy = isMacro ? 3 * value : 100 * value
          if (isMacro)
            yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, settledBy, { confirm: true }))
          else {
            yield* importQuotes(asset, [[deadline, settledBy]])
            yield* Scoring.use((scoring) => scoring.settleDue)
          }
          const day = DateTime.formatIsoDateUtc(deadline)
          played.push({ challenge, asset, day, bets: latest, value: settledBy })
        }
        for (const [index, { days, round, value }] of corrections.entries()) {
          yield* TestClock.adjust(`${days} days`)
          const one = played[round % played.length]
          assert(one !== undefined)
          const isMacro = one.asset === "CPI"
          const corrected = isMacro ? 3 * value : 100 * value
          if (corrected === one.value) continue
          one.value = corrected
          const reason = `correction ${index}`
          yield* Amendments.use((amendments) =>
            amendments.amend(
              one.challenge.id,
              isMacro ? { actual_value: corrected, reason } : { close_price: corrected, reason }
            )
          )
        }

        const expected = new Map<string, AgentStats>()
        for (const one of played) {
          for (const [agent, bet] of one.bets) {
            for (const board of ["global", assets[one.asset], one.asset]) {
              const name = `${board}: ${agent}`
              expected.set(name, addScore(expected.get(name) ?? emptyStats, scored(one, bet)))
            }
          }
        }
        const kept = yield* storedStats(agents)
        assert.sameMembers([...kept.keys()], [...expected.keys()])
        for (const [name, stats] of expected) assert.isTrue(Equal.equals(kept.get(name), stats), name)

        for (const agent of agents) {
          const rows = played.flatMap(({ asset, bets, value }) => {
            const bet = bets.get(agent)
            return asset !== "CPI" || bet === undefined
              ? []
              : [calibrationRow(normalDistribution(bet.predicted_value, bet.predicted_std), value, 0.12, 0.1)]
          })
          const { count, pit } = yield* Scoring.use((scoring) => scoring.calibrationOf(agent))
          assert.strictEqual(count, rows.length)
          for (const [index, bucket] of pit.buckets.entries()) {
            const sum = rows.reduce(
              (total, row) => BigDecimal.sum(total, exact(row.pit[index] ?? 0)),
              exact(0)
            )
            assert.strictEqual(bucket.count, BigDecimal.toNumberUnsafe(sum))
          }
        }
        assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
      }),
    { arbitrary: { runs: breadth(6, 20), size: 8 } }
  )

  it.effect("The log's audit finds nothing after any settlements and amendments", () =>
    Effect.gen(function* () {
      yield* revealAll
      assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
    })
  )
})

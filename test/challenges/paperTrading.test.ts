/** Virtual positions: entry, exit and result, through the whole path. */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { positionSize, profitPct } from "../../src/scoring/paper.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Direction } from "../../src/services/domain/Challenge.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { concurrently } from "../support/concurrently.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { allPages, firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

/** The positions in the order of the list, newest first. */
const positionsOf = (agent: AgentId, challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.paperSignals(agent, challenge.id, firstPage)).pipe(
    Effect.map(({ items }) => items.map(({ position }) => position))
  )

const shortened = Effect.fnUntraced(function* (agent: AgentId, challenge: { readonly id: string }) {
  const positions = yield* positionsOf(agent, challenge)
  return positions.map((each): ReadonlyArray<unknown> | null =>
    each === null ? null : [each.status, each.size, each.entry_price, each.exit_price, each.pnl_pct]
  )
})

/** A challenge that closed a minute ago and resolves in a day; gold is at 100. */
const closedChallenge = Effect.fnUntraced(function* (days: number = 1) {
  const deadline = plus(yield* freshWeek, "1 hour")
  const resolveAt = plus(deadline, `${days} days`)
  const challenge = yield* newChallenge({ deadline, resolve_at: resolveAt })
  const agent = yield* claimedAgent()
  yield* importQuotes("GC", [[deadline, 100]])
  yield* moveTo(plus(deadline, "1 minute"))
  return { agent, challenge, deadline, resolveAt }
})

layer(testServices())("The virtual position of a paper-trade signal", (it) => {
  it.effect("A signal on GC or ES simulates a position, and one on another asset is only recorded", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`update targets set paused = false`
      const assets = ["GC", "ES", "CL", "ZN", "HG", "NG", "BTC", "ZS", "DXY", "ETH"]
      const deadline = plus(yield* freshWeek, "1 hour")
      const agent = yield* claimedAgent()
      const challenges = yield* Effect.forEach(assets, (asset) =>
        newChallenge({ asset, deadline, resolve_at: plus(deadline, "1 day") })
      )
      yield* Effect.forEach(assets, (asset) => importQuotes(asset, [[deadline, 100]]))
      yield* moveTo(deadline)
      const answers = yield* Effect.forEach(challenges, (challenge) => predict(agent, challenge))
      const positions = yield* Effect.forEach(challenges, (challenge) => positionsOf(agent, challenge))
      assert.deepStrictEqual(
        assets.filter((_, index) => positions[index]?.[0] !== null),
        ["GC", "ES"]
      )
      assert.deepStrictEqual(
        assets.filter((_, index) => answers[index]?.answer.note?.includes("a virtual position at 100")),
        ["GC", "ES"]
      )
      assert.isTrue(answers.every(({ answer }) => !answer.counts_for_score))
    })
  )

  it.effect("A virtual position is entered at the latest price, and its size is the signed confidence", () =>
    Effect.gen(function* () {
      const { challenge, deadline } = yield* closedChallenge()
      const observed = plus(deadline, "2 minutes")
      yield* importQuotes("GC", [
        [observed, 101.25],
        [plus(deadline, "4 minutes"), 999]
      ])
      yield* moveTo(plus(deadline, "3 minutes"))
      const sizes: Array<unknown> = []
      for (const direction of ["bullish", "bearish", "neutral"] as const) {
        const agent = yield* claimedAgent()
        yield* predict(agent, challenge, { direction, confidence: 0.8 })
        const [position] = yield* positionsOf(agent, challenge)
        sizes.push(position?.size)
        assert.deepStrictEqual(position, {
          status: "open",
          size: Number(sizes.at(-1)),
          entry_price: 101.25,
          entry_observed_at: DateTime.formatIso(observed),
          entry_source: "admin quote",
          exit_price: null,
          exit_observed_at: null,
          exit_source: null,
          pnl_pct: null
        })
      }
      assert.deepStrictEqual(sizes, [0.8, -0.8, 0])
    })
  )

  it.effect("A virtual position is replaced at the next signal's entry price, and closed at the end", () =>
    Effect.gen(function* () {
      const { agent, challenge, deadline, resolveAt } = yield* closedChallenge()
      yield* predict(agent, challenge, { direction: "bullish", confidence: 0.5 })
      for (const [minute, price, direction] of [
        [10, 110, "bearish"],
        [20, 121, "bullish"],
        [30, 120, "neutral"]
      ] as const) {
        yield* importQuotes("GC", [[plus(deadline, `${minute} minutes`), price]])
        yield* moveTo(plus(deadline, `${minute + 1} minutes`))
        yield* predict(agent, challenge, { direction, confidence: 1 })
      }
      const replaced = [
        ["replaced", 1, 121, 120, -100 / 121],
        ["replaced", -1, 110, 121, -10],
        ["replaced", 0.5, 100, 110, 5]
      ]
      assert.deepStrictEqual(yield* shortened(agent, challenge), [["open", 0, 120, null, null], ...replaced])
      yield* importQuotes("GC", [[resolveAt, 150]])
      yield* moveTo(resolveAt)
      yield* settleDue
      assert.deepStrictEqual(yield* shortened(agent, challenge), [["closed", 0, 120, 150, 0], ...replaced])
    })
  )

  it.effect("A virtual position is closed by the closing price, whenever and however often jobs run", () =>
    Effect.gen(function* () {
      const { agent, challenge, resolveAt } = yield* closedChallenge()
      yield* predict(agent, challenge, { direction: "bearish", confidence: 0.25 })
      yield* importQuotes("GC", [
        [resolveAt, 98],
        [plus(resolveAt, "2 hours"), 120]
      ])
      yield* moveTo(plus(resolveAt, "3 hours"))
      assert.deepStrictEqual(yield* shortened(agent, challenge), [["open", -0.25, 100, null, null]])
      yield* Effect.all([settleDue, settleDue, settleDue], { concurrency: "unbounded" })
      yield* settleDue
      assert.deepStrictEqual(yield* shortened(agent, challenge), [["closed", -0.25, 100, 98, 0.5]])
      const [position] = yield* positionsOf(agent, challenge)
      assert.strictEqual(position?.exit_observed_at, DateTime.formatIso(resolveAt))
      assert.strictEqual(position?.exit_source, "admin quote")
    })
  )

  it.effect("A virtual position follows the newest settlement when the closing price is amended", () =>
    Effect.gen(function* () {
      const { agent, challenge, resolveAt } = yield* closedChallenge()
      yield* predict(agent, challenge, { confidence: 1 })
      yield* importQuotes("GC", [[resolveAt, 110]])
      yield* moveTo(resolveAt)
      yield* settleDue
      assert.deepStrictEqual(yield* shortened(agent, challenge), [["closed", 1, 100, 110, 10]])
      yield* Amendments.use((amendments) =>
        amendments.amend(challenge.id, { close_price: 105, reason: "a typo" })
      )
      assert.deepStrictEqual(yield* shortened(agent, challenge), [["closed", 1, 100, 105, 5]])
    })
  )

  it.effect("A virtual position is void when its challenge is cancelled; a replaced one stays", () =>
    Effect.gen(function* () {
      const { agent, challenge, deadline } = yield* closedChallenge()
      yield* predict(agent, challenge, { confidence: 1 })
      yield* importQuotes("GC", [[plus(deadline, "10 minutes"), 101]])
      yield* moveTo(plus(deadline, "11 minutes"))
      yield* predict(agent, challenge, { confidence: 1 })
      yield* Scoring.use((scoring) => scoring.void("directional", challenge.id, "The exchange was shut."))
      assert.deepStrictEqual(yield* shortened(agent, challenge), [
        ["void", 1, 101, null, null],
        ["replaced", 1, 100, 101, 1]
      ])
    })
  )

  it.effect("A virtual position is not taken from resolve_at on, when the closing price may be known", () =>
    Effect.gen(function* () {
      const { agent, challenge, resolveAt } = yield* closedChallenge()
      const [late, later] = [yield* claimedAgent(), yield* claimedAgent()]
      yield* importQuotes("GC", [[resolveAt, 110]])
      yield* predict(agent, challenge, {}, DateTime.subtract(resolveAt, { milliseconds: 1 }))
      yield* moveTo(resolveAt)
      const { answer } = yield* predict(late, challenge)
      assert.notInclude(answer.note ?? "", "position")
      yield* settleDue
      yield* moveTo(plus(resolveAt, "1 hour"))
      yield* predict(later, challenge)
      assert.deepStrictEqual(yield* positionsOf(late, challenge), [null])
      assert.deepStrictEqual(yield* positionsOf(later, challenge), [null])
      assert.strictEqual((yield* positionsOf(agent, challenge)).length, 1)
    })
  )

  it.effect.each([
    ["is not taken where no price is known", [], false],
    ["is taken at a price of four days ago", [[0, 100]], true],
    ["is not taken at a price older than that", [[-1, 100]], false]
  ] as const)("A virtual position %s", ([, quotes, isTaken]) =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline, resolve_at: plus(deadline, "7 days") })
      const agent = yield* claimedAgent()
      yield* Effect.forEach(quotes, ([millis, price]) =>
        importQuotes("GC", [[plus(deadline, millis), price]])
      )
      yield* moveTo(plus(deadline, "4 days"))
      yield* predict(agent, challenge)
      const [position] = yield* positionsOf(agent, challenge)
      assert.strictEqual(position !== null, isTaken)
    })
  )

  it.effect("A virtual position stays as it is when the next signal comes without a price", () =>
    Effect.gen(function* () {
      const { agent, challenge, deadline, resolveAt } = yield* closedChallenge(10)
      yield* predict(agent, challenge, { confidence: 1 })
      yield* moveTo(plus(deadline, "5 days"))
      yield* predict(agent, challenge, { direction: "neutral" })
      assert.deepStrictEqual(yield* shortened(agent, challenge), [null, ["open", 1, 100, null, null]])
      yield* importQuotes("GC", [[resolveAt, 102]])
      yield* moveTo(resolveAt)
      yield* settleDue
      assert.deepStrictEqual(yield* shortened(agent, challenge), [null, ["closed", 1, 100, 102, 2]])
    })
  )

  it.effect("Twenty signals at once leave one virtual position", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* closedChallenge()
      yield* concurrently(Array.from({ length: 20 }, () => predict(agent, challenge)))
      assert.deepStrictEqual(yield* shortened(agent, challenge), [["open", 0.5, 100, null, null]])
    })
  )

  it.effect("A virtual position belongs to its agent and challenge: signals of others replace nothing", () =>
    Effect.gen(function* () {
      const { agent, challenge, resolveAt } = yield* closedChallenge()
      const other = yield* claimedAgent()
      const another = yield* newChallenge({ deadline: yield* DateTime.now, resolve_at: resolveAt })
      yield* predict(agent, challenge)
      yield* predict(other, challenge)
      yield* predict(agent, another)
      for (const [who, where] of [
        [agent, challenge],
        [other, challenge],
        [agent, another]
      ] as const) {
        assert.deepStrictEqual(yield* shortened(who, where), [["open", 0.5, 100, null, null]])
      }
    })
  )

  const Signal = Schema.Struct({
    direction: Direction,
    confidence: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })),
    cents: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))
  })

  it.effect.prop(
    "A virtual position leaves at the next one's entry, and the last one at the closing price",
    [
      Schema.Array(Signal).check(Schema.isBetweenLength(1, 6)),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 }))
    ],
    ([sent, limit]) =>
      Effect.gen(function* () {
        const { agent, challenge, deadline, resolveAt } = yield* closedChallenge()
        const at = (index: number) => plus(deadline, `${10 * (index + 1)} minutes`)
        yield* importQuotes("GC", [
          ...sent.map(({ cents }, index) => [at(index), cents / 100] as const),
          [resolveAt, 77.7] as const
        ])
        for (const [index, { confidence, direction }] of sent.entries()) {
          yield* moveTo(at(index))
          yield* predict(agent, challenge, { direction, confidence: confidence / 100 })
        }
        yield* moveTo(resolveAt)
        yield* settleDue
        const decimals = [
          ...sent.map(({ cents }) => BigDecimal.make(BigInt(cents), 2)),
          BigDecimal.make(777n, 1)
        ]
        const expected = sent.map(({ confidence, direction }, index) => {
          const [entry, exit] = [decimals[index], decimals[index + 1]]
          assert(entry !== undefined && exit !== undefined)
          return profitPct(positionSize(direction, BigDecimal.make(BigInt(confidence), 2)), entry, exit)
        })
        const pages = yield* allPages(limit, (page) =>
          Arenas.use((arenas) => arenas.paperSignals(agent, challenge.id, page))
        )
        assert.deepStrictEqual(
          pages.flat().map(({ position }) => position?.pnl_pct),
          expected.toReversed()
        )
      }),
    { arbitrary: { runs: 8 } }
  )
})

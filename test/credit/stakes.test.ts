/** Stakes in macro pools: each rule, their order, and the records of a stake. */
import { Scoring } from "../../src/services/Scoring.ts"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Credits } from "../../src/services/Credits.ts"
import { provisionalAgent, anotherOperator } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  millisBefore,
  moveTo,
  newChallenge,
  newMacro,
  plus
} from "../support/challenges.ts"
import { credits, fund, stateOf, oddsOf, stake, stakeFindings, staker, stakers } from "../support/credit.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"
import { createdBefore } from "../support/tampering.ts"

const rejectionOf = (...parameters: Parameters<typeof stake>) =>
  Effect.map(Effect.flip(stake(...parameters)), ({ code, detail }) => ({ code, detail }))

const codeOf = (...parameters: Parameters<typeof stake>) =>
  Effect.map(rejectionOf(...parameters), ({ code }) => code)

/** An open challenge, and one agent that has predicted it. */
const scene = Effect.fnUntraced(function* (amount = 1000) {
  const now = yield* freshWeek
  const challenge = yield* newMacro()
  const [agent] = yield* stakers(challenge, 1, amount)
  assert(agent !== undefined)
  return { agent, challenge, now, deadline: plus(now, "1 hour") }
})

layer(testServices())("A stake", (it) => {
  it.effect("A stake freezes its amount for the pool, and answers the rest", () =>
    Effect.gen(function* () {
      const { agent, challenge, now } = yield* scene()
      const answer = yield* stake(agent, challenge, 100)
      assert.deepStrictEqual(answer, {
        stake_id: answer.stake_id,
        challenge_id: challenge.id,
        bin: 2,
        amount: credits(100),
        available: credits(900),
        frozen: credits(100)
      })
      assert.match(answer.stake_id, /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(yield* stateOf(`agent:${agent}`), { posted: credits(1000), held: credits(100) })
      const { items } = yield* Credits.use((service) => service.transactions(agent, firstPage))
      assert.deepStrictEqual(items[0], {
        transaction_id: `stake:${challenge.id}:${agent}`,
        kind: "pending",
        amount: credits(100),
        available_change: -credits(100),
        frozen_change: credits(100),
        reason: `stake on bin 2 of CPI 2026-03, challenge ${challenge.id}`,
        created_at: DateTime.formatIso(now)
      })
    })
  )

  it.effect("A stake is on the bin of its value: the upper one on an edge, the open ones beyond", () =>
    Effect.gen(function* () {
      const { challenge } = yield* scene()
      const values = [
        [-1e15, 0],
        [2.999999999, 0],
        [3, 1],
        [3.0999999, 1],
        [3.1, 2],
        [3.2, 3],
        [1e15, 3]
      ] as const
      const agents = yield* stakers(challenge, values.length, 100)
      for (const [index, [value, bin]] of values.entries()) {
        const agent = agents[index]
        assert(agent !== undefined)
        assert.strictEqual((yield* stake(agent, challenge, 50, value)).bin, bin, String(value))
      }
    })
  )

  it.effect("A stake stays on its bin when the forecast is replaced", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene()
      yield* stake(agent, challenge, 100, 3.05)
      yield* forecast(agent, challenge, { predicted_value: 3.5 })
      const { bins } = yield* oddsOf(challenge)
      assert.deepStrictEqual(
        bins.map(({ staked }) => staked),
        [0n, credits(100), 0n, 0n]
      )
    })
  )

  it.effect("A stake on an unknown challenge, or one of another type, is 404", () =>
    Effect.gen(function* () {
      const { agent } = yield* scene()
      const directional = yield* newChallenge()
      for (const id of ["0190f000-0000-7000-8000-000000000000", "nothing", directional.id]) {
        assert.deepStrictEqual(yield* rejectionOf(agent, { id }, 1), {
          code: "not_found",
          detail: `There is no challenge ${id}.`
        })
        assert.strictEqual((yield* Effect.flip(oddsOf({ id })))._tag, "NotFound")
      }
    })
  )

  it.effect("A stake takes an id in capitals for the same one", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene()
      const answer = yield* stake(agent, { id: challenge.id.toUpperCase() }, 50)
      assert.strictEqual(answer.challenge_id, challenge.id)
      assert.strictEqual((yield* oddsOf({ id: challenge.id.toUpperCase() })).challenge_id, challenge.id)
    })
  )

  it.effect("A stake counts a millisecond before the deadline, and not at it or after", () =>
    Effect.gen(function* () {
      const { challenge, deadline } = yield* scene()
      const agents = yield* stakers(challenge, 3, 100)
      const [early, punctual, late] = agents
      assert(early !== undefined && punctual !== undefined && late !== undefined)
      yield* stake(early, challenge, 50, 3.1, millisBefore(deadline, 1))
      const closed = {
        code: "challenge_closed",
        detail: `The deadline of this challenge, ${DateTime.formatIso(deadline)}, has passed: its pool takes no stake.`
      }
      assert.deepStrictEqual(yield* rejectionOf(punctual, challenge, 50, 3.1, deadline), closed)
      assert.deepStrictEqual(yield* rejectionOf(late, challenge, 50, 3.1, plus(deadline, "1 millis")), closed)
    })
  )

  it.effect("A stake is rejected once the challenge is closed, whatever its stamp, and when it is void", () =>
    Effect.gen(function* () {
      const { agent, challenge, deadline } = yield* scene()
      const unvalued = yield* newMacro({ deadline })
      yield* forecast(agent, unvalued)
      yield* moveTo(plus(deadline, "1 minute"))
      const scoring = yield* Scoring
      yield* scoring.resolveMacro(challenge.id, 3.1)
      yield* scoring.void("macro", unvalued.id, "never published")
      const before = millisBefore(deadline, 1)
      assert.strictEqual(yield* codeOf(agent, challenge, 50, 3.1, before), "not_recorded_in_time")
      assert.deepStrictEqual(yield* rejectionOf(agent, unvalued, 50, 3.1, before), {
        code: "challenge_cancelled",
        detail: "The challenge is void: its pool takes no stake."
      })
    })
  )

  it.effect("A stake without a prior prediction on the same challenge is rejected", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene()
      const other = yield* newMacro({ period: "2026-04" })
      assert.deepStrictEqual(yield* rejectionOf(agent, other, 50), {
        code: "no_prediction",
        detail: "This agent has not predicted this challenge: send a forecast before staking on it."
      })
      yield* stake(agent, challenge, 50)
    })
  )

  it.effect("An agent has one stake a pool, in one bin, and a second one changes nothing", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene()
      yield* stake(agent, challenge, 50)
      for (const value of [3.1, 4]) {
        assert.deepStrictEqual(yield* rejectionOf(agent, challenge, 50, value), {
          code: "already_staked",
          detail:
            "This agent has staked in this pool: an agent stakes once, on one bin. A forecast is replaced without amount."
        })
      }
      assert.strictEqual((yield* stateOf(`agent:${agent}`)).held, credits(50))
      const other = yield* newMacro({ period: "2026-04" })
      yield* forecast(agent, other)
      assert.strictEqual((yield* stake(agent, other, 70)).frozen, credits(120))
    })
  )

  it.effect("A stake has a minimum, to the micro-credit", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene()
      assert.deepStrictEqual(yield* rejectionOf(agent, challenge, credits(50) - 1n), {
        code: "stake_too_small",
        detail: "A stake of 49.999999 credits is too small: at least 50 are needed."
      })
      yield* stake(agent, challenge, 50)
    })
  )

  it.effect("A stake is covered by available credit, to the micro-credit: frozen credit does not count", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene(150)
      const other = yield* newMacro({ period: "2026-04" })
      yield* forecast(agent, other)
      yield* stake(agent, other, 60)
      assert.deepStrictEqual(yield* rejectionOf(agent, challenge, credits(90) + 1n), {
        code: "insufficient_credit",
        detail: "A stake of 90.000001 credits is more than this agent has available: 90."
      })
      assert.strictEqual((yield* stake(agent, challenge, 90)).available, 0n)
    })
  )

  it.effect("An unclaimed agent has no credit for a stake, and stakes once it has a grant", () =>
    Effect.gen(function* () {
      const { challenge } = yield* scene()
      const agent = yield* provisionalAgent()
      yield* forecast(agent, challenge)
      assert.strictEqual(yield* codeOf(agent, challenge, 50), "insufficient_credit")
      yield* fund(`agent:${agent}`, 50)
      assert.strictEqual((yield* stake(agent, challenge, 50)).available, 0n)
      assert.deepStrictEqual((yield* stakeFindings).findings, [])
    })
  )

  it.effect("A stake is at most half of its bin, but in an empty one", () =>
    Effect.gen(function* () {
      const { challenge } = yield* scene()
      const [first, second, third, fourth] = yield* stakers(challenge, 4, 10_000)
      assert(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined)
      yield* stake(first, challenge, 100)
      assert.deepStrictEqual(yield* rejectionOf(second, challenge, credits(100) + 1n), {
        code: "bin_concentration",
        detail:
          "A stake of 100.000001 credits would be more than half of bin 2, which holds 100: at most 100 may be staked on it now."
      })
      yield* stake(second, challenge, 100)
      assert.strictEqual(yield* codeOf(third, challenge, credits(200) + 1n), "bin_concentration")
      yield* stake(third, challenge, 200)
      // Another bin has a limit of its own.
      yield* stake(fourth, challenge, 10_000, 3.5)
      assert.deepStrictEqual((yield* stakeFindings).findings, [])
    })
  )

  it.effect("A stake of an owner's second agent counts as that of any other agent", () =>
    Effect.gen(function* () {
      const { challenge } = yield* scene()
      assert.isFalse(challenge.pool_owner_rule)
      const owner = yield* anotherOperator
      const [first, second] = yield* Effect.forEach([1, 2], () =>
        Effect.tap(staker(1000, owner), (each) => forecast(each, challenge))
      )
      assert(first !== undefined && second !== undefined)
      yield* stake(first, challenge, 50)
      assert.deepStrictEqual(yield* rejectionOf(second, challenge, 51), {
        code: "bin_concentration",
        detail:
          "A stake of 51 credits would be more than half of bin 2, which holds 50: at most 50 may be staked on it now."
      })
      yield* stake(second, challenge, 50)
      assert.deepStrictEqual((yield* stakeFindings).findings, [])
    })
  )

  it.effect("A stake is rejected for the first rule that it breaks", () =>
    Effect.gen(function* () {
      const { agent, challenge, deadline } = yield* scene(40)
      const [crowd] = yield* stakers(challenge, 1, 60)
      assert(crowd !== undefined)
      yield* stake(crowd, challenge, 60)
      const stranger = yield* staker(0)
      // No credit, too little, no prediction, too late: each is put right in turn.
      assert.strictEqual(yield* codeOf(stranger, challenge, 1, 3.1, deadline), "challenge_closed")
      assert.strictEqual(yield* codeOf(stranger, challenge, 1), "no_prediction")
      assert.strictEqual(yield* codeOf(crowd, challenge, 1), "already_staked")
      assert.strictEqual(yield* codeOf(agent, challenge, 49), "stake_too_small")
      assert.strictEqual(yield* codeOf(agent, challenge, 500), "insufficient_credit")
      yield* fund(`agent:${agent}`, 460)
      assert.strictEqual(yield* codeOf(agent, challenge, 500), "bin_concentration")
      yield* stake(agent, challenge, 60)
    })
  )
})

layer(testServices({ AUSPEX_POOL_OWNER_RULE: "on" }))("A stake in a pool with the owner rule", (it) => {
  it.effect("A second agent's stake counts with that of its owner's first one", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene()
      assert.isTrue(challenge.pool_owner_rule)
      assert.isTrue((yield* oddsOf(challenge)).pool_owner_rule)
      const owner = yield* anotherOperator
      const mine = yield* Effect.forEach([1, 2, 3], () =>
        Effect.tap(staker(1000, owner), (each) => forecast(each, challenge))
      )
      const [first, second, third] = mine
      assert(first !== undefined && second !== undefined && third !== undefined)
      yield* stake(first, challenge, 50)
      // The first is all of the bin already.
      assert.deepStrictEqual(yield* rejectionOf(second, challenge, 50), {
        code: "bin_concentration",
        detail:
          "A stake of 50 credits would be more than half of bin 2, which holds 50, 50 of them by agents of the same owner: no more may be staked on it now."
      })
      const others = yield* stakers(challenge, 3, 1000)
      for (const [place, amount] of [50, 100, 100].entries()) {
        const other = others[place]
        assert(other !== undefined)
        yield* stake(other, challenge, amount)
      }
      // The owner has 50 of 300: with 200 more it would have half.
      assert.strictEqual(yield* codeOf(second, challenge, credits(200) + 1n), "bin_concentration")
      yield* stake(second, challenge, 200)
      assert.strictEqual(yield* codeOf(third, challenge, 50), "bin_concentration")
      // On another bin it is the first of its owner's.
      yield* stake(third, challenge, 50, 3.5)
      yield* stake(agent, challenge, 500)
      assert.deepStrictEqual((yield* stakeFindings).findings, [])
    })
  )
})

layer(testServices())("A pool that opened before the owner rule was a setting", (it) => {
  it.effect("A pool from before the setting keeps the owner rule: agents of one owner count as one", () =>
    Effect.gen(function* () {
      const { challenge } = yield* scene()
      yield* createdBefore(challenge.id)
      assert.isTrue((yield* oddsOf(challenge)).pool_owner_rule)
      const owner = yield* anotherOperator
      const [first, second] = yield* Effect.forEach([1, 2], () =>
        Effect.tap(staker(1000, owner), (each) => forecast(each, challenge))
      )
      assert(first !== undefined && second !== undefined)
      yield* stake(first, challenge, 50)
      assert.strictEqual(yield* codeOf(second, challenge, 50), "bin_concentration")
    })
  )
})

layer(testServices({ AUSPEX_MIN_STAKE: "7" }))("The minimum stake", (it) => {
  it.effect("The minimum stake is the one of AUSPEX_MIN_STAKE", () =>
    Effect.gen(function* () {
      const { agent, challenge } = yield* scene()
      assert.strictEqual(yield* codeOf(agent, challenge, credits(7) - 1n), "stake_too_small")
      yield* stake(agent, challenge, 7)
    })
  )
})

layer(testServices())("The odds of a pool", (it) => {
  it.effect("Odds are each bin's share of the stakes, and show nothing of the stakers", () =>
    Effect.gen(function* () {
      const { challenge } = yield* scene()
      const none = yield* oddsOf(challenge)
      assert.deepStrictEqual([none.total, none.stakers], [0n, 0])
      assert.deepStrictEqual(
        none.bins.map(({ share, staked, stakers }) => [share, staked, stakers]),
        challenge.bins.map(() => [0, 0n, 0])
      )
      const agents = yield* stakers(challenge, 3, 1000)
      for (const [place, [amount, value]] of (
        [
          [300, 3.1],
          [300, 3.15],
          [200, 2]
        ] as const
      ).entries()) {
        const agent = agents[place]
        assert(agent !== undefined)
        yield* stake(agent, challenge, amount, value)
      }
      assert.deepStrictEqual(yield* oddsOf(challenge), {
        challenge_id: challenge.id,
        total: credits(800),
        stakers: 3,
        counts_as_of: null,
        pool_owner_rule: false,
        bins: [
          { index: 0, low: null, high: 3, share: 0.25, staked: credits(200), stakers: 1 },
          { index: 1, low: 3, high: 3.1, share: 0, staked: 0n, stakers: 0 },
          { index: 2, low: 3.1, high: 3.2, share: 0.75, staked: credits(600), stakers: 2 },
          { index: 3, low: 3.2, high: null, share: 0, staked: 0n, stakers: 0 }
        ]
      })
    })
  )

  it.effect("Odds stay as they were when the challenge has ended", () =>
    Effect.gen(function* () {
      const { agent, challenge, deadline } = yield* scene()
      yield* stake(agent, challenge, 50)
      const before = yield* oddsOf(challenge)
      yield* moveTo(plus(deadline, "1 minute"))
      yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1))
      assert.deepStrictEqual(yield* oddsOf(challenge), { ...before, counts_as_of: challenge.deadline })
    })
  )
})

/** The rewards of the winners of a credit pool, beside the specified formula in exact fractions. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { planCoefficients, poolFunding, poolRewards } from "../../src/scoring/pools.ts"
import type { WinningStake } from "../../src/scoring/pools.ts"
import { fraction, plainReward } from "../support/poolFormula.ts"

const credits = (amount: number): bigint => BigInt(amount) * 1_000_000n

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Amounts from a micro-credit to 10^9 credits, and scores with up to 31 decimals. */
const Draw = Schema.Struct({
  amount: int(1, 999_999),
  power: int(0, 9),
  score: Schema.Literals(["0", "100", "50", "0.00000000000001421085471520200", "99.99999999999999"]),
  points: int(0, 99),
  decimals: int(0, 1_000_000),
  drawn: Schema.Boolean,
  plan: Schema.Literals(["free", "pro", "team"]),
  owner: int(0, 3),
  elsewhere: int(0, 3),
  order: int(0, 1_000_000)
})

const Pool = Schema.Struct({
  rewardPool: int(0, Number.MAX_SAFE_INTEGER),
  draws: Schema.Array(Draw).check(Schema.isBetweenLength(1, 12))
})

const stakeOf = (draw: typeof Draw.Type, index: number): WinningStake => {
  const amount = BigInt(draw.amount) * 10n ** BigInt(draw.power)
  return {
    agent_id: `agent ${index}`,
    owner_id: null,
    amount,
    owner_amount: amount,
    score: draw.drawn ? `${draw.points}.${String(draw.decimals).padStart(7, "0")}` : draw.score,
    coefficient: planCoefficients[draw.plan]
  }
}

/** Several agents an owner, each owner on one plan, some with stakes on other bins. */
const owned = (draws: ReadonlyArray<typeof Draw.Type>): ReadonlyArray<WinningStake> => {
  const stakes = draws.map((draw, index) => ({ ...stakeOf(draw, index), owner_id: `owner ${draw.owner}` }))
  return stakes.map((stake) => {
    const own = stakes.filter(({ owner_id }) => owner_id === stake.owner_id)
    const first = draws.find(({ owner }) => `owner ${owner}` === stake.owner_id)
    const here = own.reduce((sum, { amount }) => sum + amount, 0n)
    return {
      ...stake,
      coefficient: planCoefficients[first?.plan ?? "free"],
      owner_amount: here * BigInt(1 + (first?.elsewhere ?? 0))
    }
  })
}

const rewardsOf = (rewardPool: bigint, winners: ReadonlyArray<WinningStake>) =>
  winners.map(poolRewards(rewardPool, winners))

const sum = (amounts: ReadonlyArray<bigint>) => amounts.reduce((all, amount) => all + amount, 0n)

describe("The reward of a winner", () => {
  it.prop("The reward is the specified formula, agent by agent", [Pool], ([{ draws, rewardPool }]) => {
    const winners = draws.map(stakeOf)
    const pool = BigInt(rewardPool)
    assert.deepStrictEqual(
      rewardsOf(pool, winners),
      winners.map((winner) => plainReward(pool, winners, winner))
    )
  })

  it.prop("The rewards together are never more than the funding of the pool", [Pool], ([pool]) => {
    for (const winners of [pool.draws.map(stakeOf), owned(pool.draws)]) {
      const rewards = rewardsOf(BigInt(pool.rewardPool), winners)
      assert.isTrue(rewards.every((reward) => reward >= 0n))
      assert.isTrue(sum(rewards) <= poolFunding(BigInt(pool.rewardPool)))
    }
  })

  it.prop("A reward does not depend on the order of the stakes", [Pool], ([{ draws, rewardPool }]) => {
    const winners = owned(draws)
    const shuffled = winners
      .map((winner, index) => ({ winner, order: draws[index]?.order ?? 0 }))
      .toSorted((one, other) => one.order - other.order)
      .map(({ winner }) => winner)
    const expected = poolRewards(BigInt(rewardPool), winners)
    assert.deepStrictEqual(rewardsOf(BigInt(rewardPool), shuffled), shuffled.map(expected))
  })

  it("The reward is half by accuracy and half by stake, times the plan's coefficient, rounded down", () => {
    const winner = (name: string, amount: number, score: string, plan: "free" | "pro" | "team") => ({
      agent_id: name,
      owner_id: null,
      amount: credits(amount),
      owner_amount: credits(amount),
      score,
      coefficient: planCoefficients[plan]
    })
    const winners = [
      winner("a", 100, "90", "free"),
      winner("b", 300, "60", "pro"),
      winner("c", 200, "0", "team")
    ]
    // 0.5 * 90/150 + 0.5 * 100/600, and so on, of 1 000 credits.
    assert.deepStrictEqual(rewardsOf(credits(1000), winners), [383_333_333n, 495_000_000n, 208_333_333n])
  })

  it("The reward has an equal share of the first half when all scores are 0", () => {
    const winners = [100, 300].map((amount) => ({
      agent_id: `${amount}`,
      owner_id: null,
      amount: credits(amount),
      owner_amount: credits(amount),
      score: "0.000",
      coefficient: "1"
    }))
    assert.deepStrictEqual(rewardsOf(credits(1000), winners), [credits(375), credits(625)])
  })

  it("The reward of one winner alone is all of the reward pool, times its coefficient", () => {
    for (const score of ["0", "0.1", "100"]) {
      const alone = { agent_id: "a", owner_id: "o", amount: 1n, owner_amount: 1n, score, coefficient: "1.25" }
      assert.deepStrictEqual(rewardsOf(credits(1000) + 3n, [alone]), [credits(1250) + 3n])
    }
  })
})

describe("The agents of one owner in a pool with the owner rule", () => {
  it("Agents of one owner get together as much as one agent with their stake and mean score", () => {
    const others = [
      {
        agent_id: "x",
        owner_id: null,
        amount: credits(200),
        owner_amount: credits(200),
        score: "40",
        coefficient: "1"
      }
    ]
    const together = ["90", "30"].map((score, index) => ({
      agent_id: `a${index}`,
      owner_id: "o",
      amount: credits(100 * (index + 1)),
      owner_amount: credits(300),
      score,
      coefficient: "1"
    }))
    const one = {
      agent_id: "a",
      owner_id: "o",
      amount: credits(300),
      owner_amount: credits(300),
      score: "60",
      coefficient: "1"
    }
    const [first = 0n, second = 0n] = rewardsOf(credits(1000), [...together, ...others])
    assert.deepStrictEqual(rewardsOf(credits(1000), [one, ...others])[0], first + second)
    // The half for accuracy is shared equally, the other by stake.
    assert.deepStrictEqual([first, second], [credits(250), credits(350)])
  })

  const Round = Schema.Struct({
    /** The chances of each bin, and the other winner on it. */
    others: Schema.Array(Schema.Struct({ amount: int(1, 10_000), points: int(0, 100) })).check(
      Schema.isBetweenLength(10, 10)
    ),
    odds: Schema.Array(int(0, 100)).check(Schema.isBetweenLength(10, 10)),
    parts: Schema.Array(int(1, 1000)).check(Schema.isBetweenLength(10, 10)),
    points: int(0, 100)
  })

  it.prop(
    "Ten agents on all bins never return more than one with the same credit on the best bin",
    [Round],
    ([{ odds, others, parts, points }]) => {
      const credit = credits(parts.reduce((all, part) => all + part, 0))
      const rewardOf = (bin: number, mine: bigint) => {
        const other = others[bin]
        const winners: ReadonlyArray<WinningStake> = [
          {
            agent_id: "mine",
            owner_id: "me",
            amount: mine,
            owner_amount: credit,
            score: String(points),
            coefficient: "1"
          },
          {
            agent_id: "other",
            owner_id: "other",
            amount: credits(other?.amount ?? 1),
            owner_amount: credits(other?.amount ?? 1),
            score: String(other?.points ?? 0),
            coefficient: "1"
          }
        ]
        return rewardsOf(credits(1000), winners)[0] ?? 0n
      }
      const expected = (rewards: ReadonlyArray<bigint>) =>
        rewards.reduce((all, reward, bin) => all + reward * BigInt(odds[bin] ?? 0), 0n)
      const ten = expected(parts.map((part, bin) => rewardOf(bin, credits(part))))
      const one = others.map((_, bin) => rewardOf(bin, credit) * BigInt(odds[bin] ?? 0))
      const best = one.reduce((most, each) => (each > most ? each : most), 0n)
      assert.isTrue(ten <= best, `${ten} > ${best}`)
    }
  )
})

describe("The funding of a pool", () => {
  it("The funding of a pool is its reward pool with the highest coefficient, rounded up", () => {
    assert.deepStrictEqual([0n, 1n, 3n, 4n, credits(1000)].map(poolFunding), [0n, 2n, 4n, 5n, credits(1250)])
  })

  it("The fractions that these tests compute with are exact", () => {
    assert.deepStrictEqual(fraction("0.125"), { over: 125n, under: 1000n })
  })
})

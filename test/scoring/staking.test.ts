import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { decideStakes, maxInBin } from "../../src/scoring/staking.ts"
import type { RequestedStake } from "../../src/scoring/staking.ts"

const stakeWith = (fields: Partial<RequestedStake> = {}): RequestedStake => ({
  pool: "pool",
  agent: "ada",
  holder: "ada's",
  bin: 0,
  amount: 50n,
  predicted: true,
  staked: false,
  available: 1000n,
  held: 0n,
  heldByHolder: 0n,
  ...fields
})

const outcomes = (stakes: ReadonlyArray<RequestedStake>, minimum = 50n) =>
  decideStakes(stakes, minimum).map(({ outcome }) => outcome)

const Few = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))

/** Few agents, owners, bins and pools, so that they meet. */
const Asks = Schema.Array(
  Schema.Struct({ agent: Few, pool: Few, bin: Few, amount: Amount, predicted: Schema.Boolean })
)

describe("The rules of a pool", () => {
  it("The rules of a pool are checked in their order", () => {
    // Each rule is broken together with all later ones.
    const wrong = [
      ["no_prediction", { predicted: false }],
      ["already_staked", { staked: true }],
      ["stake_too_small", { amount: 49n }],
      ["insufficient_credit", { available: 48n }],
      ["bin_concentration", { held: 10n }]
    ] as const
    for (const [place, [rule]] of wrong.entries()) {
      const broken = Object.assign({}, ...wrong.slice(place).map(([, fields]) => fields))
      assert.deepStrictEqual(outcomes([stakeWith({ ...(place > 2 && { amount: 60n }), ...broken })]), [rule])
    }
    assert.deepStrictEqual(outcomes([stakeWith()]), ["taken"])
  })

  it("The rules of a pool always allow the first agent into an empty bin", () => {
    assert.isUndefined(maxInBin(0n, 0n))
    assert.deepStrictEqual(outcomes([stakeWith({ amount: 1000n })]), ["taken"])
  })

  it("The rules of a pool allow a stake as much as the bin holds, and not a micro-credit more", () => {
    assert.deepStrictEqual(outcomes([stakeWith({ held: 70n, amount: 70n })]), ["taken"])
    assert.deepStrictEqual(outcomes([stakeWith({ held: 70n, amount: 71n })]), ["bin_concentration"])
  })

  it("The rules of a pool count the agents of one holder as one", () => {
    assert.strictEqual(maxInBin(500n, 100n), 300n)
    assert.strictEqual(maxInBin(500n, 250n), 0n)
    // A holder alone in a bin lifts nothing by a second agent.
    assert.strictEqual(maxInBin(500n, 500n), 0n)
    assert.deepStrictEqual(
      outcomes([
        stakeWith({ agent: "ada", amount: 100n }),
        stakeWith({ agent: "ada's other", amount: 50n }),
        stakeWith({ agent: "ben", holder: "ben's", amount: 100n }),
        stakeWith({ agent: "ada's other", amount: 50n })
      ]),
      ["taken", "bin_concentration", "taken", "bin_concentration"]
    )
  })

  it("Each stake counts for those decided after it, and a rejected one does not", () => {
    assert.deepStrictEqual(
      outcomes([
        stakeWith({ amount: 49n }),
        stakeWith({ amount: 900n }),
        stakeWith({ amount: 50n }),
        stakeWith({ pool: "another", amount: 101n }),
        stakeWith({ pool: "another", amount: 100n })
      ]),
      ["stake_too_small", "taken", "already_staked", "insufficient_credit", "taken"]
    )
  })

  it.prop(
    "Stakes decided together hold the rules, and are decided as one after the other would be",
    [Asks],
    ([asks]) => {
      const minimum = 20n
      const start = new Map(asks.map(({ agent }) => [agent, 300n]))
      const state = {
        bins: new Map<string, bigint>(),
        owned: new Map<string, bigint>(),
        staked: new Set<string>()
      }
      const stakes = asks.map((ask) =>
        stakeWith({
          pool: String(ask.pool),
          agent: String(ask.agent),
          holder: String(ask.agent % 2),
          bin: ask.bin,
          amount: BigInt(ask.amount),
          predicted: ask.predicted,
          available: 300n
        })
      )
      for (const [place, decision] of decideStakes(stakes, minimum).entries()) {
        const one = stakes[place] ?? stakeWith()
        const [bin, spot] = [`${one.pool} ${one.bin}`, `${one.pool} ${one.agent}`]
        const held = state.bins.get(bin) ?? 0n
        const heldByHolder = state.owned.get(`${bin} ${one.holder}`) ?? 0n
        const available = start.get(Number(one.agent)) ?? 0n
        const now = { ...one, available, held, heldByHolder, staked: state.staked.has(spot) }
        assert.deepStrictEqual(decideStakes([now], minimum), [decision])
        if (decision.outcome !== "taken") continue
        assert.isTrue(held === 0n || 2n * (heldByHolder + one.amount) <= held + one.amount)
        assert.isAtLeast(Number(decision.availableAfter), 0)
        start.set(Number(one.agent), decision.availableAfter)
        state.bins.set(bin, held + one.amount)
        state.owned.set(`${bin} ${one.holder}`, heldByHolder + one.amount)
        state.staked.add(spot)
      }
    }
  )
})

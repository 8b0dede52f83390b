import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { crps, crpsScore, normalCdf } from "../../src/scoring/crps.ts"
import reference from "./data/crps.json" with { type: "json" }

const vectors = reference.rows.map(([mean = 0, sd = 0, y = 0, expected = 0, pit = 0]) => ({
  forecast: { mean, sd },
  y,
  expected,
  pit
}))

const isWithin = (relative: number, actual: number, expected: number) =>
  Math.abs(actual - expected) <= relative * Math.abs(expected)

const between = (minimum: number, maximum: number) =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }))

const forecast = Schema.Struct({ mean: between(-1000, 1000), sd: between(1e-3, 1000) })
const outcome = between(-1000, 1000)

/** The integral of the squared distance between the two distribution functions, by Simpson's rule. */
const integrated = (mean: number, sd: number, y: number) => {
  const steps = 4000
  const part = (from: number, to: number, f: (x: number) => number) => {
    const h = (to - from) / steps
    const at = (i: number) => {
      if (i === 0 || i === steps) return 1
      return i % 2 === 1 ? 4 : 2
    }
    return Array.from({ length: steps + 1 }, (_, i) => (at(i) * f(from + i * h) * h) / 3).reduce(
      (sum, each) => sum + each,
      0
    )
  }
  const cdf = (x: number) => normalCdf((x - mean) / sd)
  const reach = 12 * sd
  const low = Math.min(y, mean - reach)
  const high = Math.max(y, mean + reach)
  return part(low, y, (x) => cdf(x) ** 2) + part(y, high, (x) => (1 - cdf(x)) ** 2)
}

describe("CRPS of a normal forecast", () => {
  it("CRPS agrees with every reference value within 1e-13, relative", () => {
    assert.strictEqual(vectors.length, 322)
    for (const { expected, forecast: each, y } of vectors) {
      const actual = crps(each, y)
      assert.isTrue(isWithin(1e-13, actual, expected), `N(${each.mean}, ${each.sd}) at ${y}: ${actual}`)
    }
  })

  it("The integral transform agrees with the reference within 1e-12, far into both tails", () => {
    for (const { forecast: each, pit, y } of vectors) {
      const z = (y - each.mean) / each.sd
      // The loss of z by subtraction is magnified z^2-fold in a tail.
      assert.isTrue(isWithin(1e-12 + z * z * 1e-14, normalCdf(z), pit) || pit < 1e-300, `${z}: ${pit}`)
    }
  })

  it("CRPS is the integral of its definition", () => {
    for (const y of [-3, -0.5, 0, 0.2, 1.9, 7]) {
      assert.closeTo(crps({ mean: 0.3, sd: 1.4 }, y), integrated(0.3, 1.4, y), 1e-9)
    }
  })

  it("CRPS is |y - mu| where |z| overflows", () => {
    assert.strictEqual(crps({ mean: 3, sd: 2.3e-308 }, 5), 2)
    assert.strictEqual(crps({ mean: -1e15, sd: 2.3e-308 }, 1e15), 2e15)
  })

  it("CRPS refuses a standard deviation of 0, below, or none", () => {
    for (const sd of [0, -0, -1, Number.NaN]) assert.throws(() => crps({ mean: 0, sd }, 1), RangeError)
  })

  it.prop(
    "CRPS is never below its least value, nor above the error by more than that",
    [forecast, outcome],
    ([f, y]) => {
      const value = crps(f, y)
      const error = Math.abs(y - f.mean)
      assert.isAtLeast(value, 0.2336949772551 * f.sd * (1 - 1e-12))
      assert.isAtMost(value, error + 0.2336949772551091 * f.sd * (1 + 1e-12))
    }
  )

  it.prop("CRPS scales with its unit", [forecast, outcome, between(-20, 20)], ([f, y, power]) => {
    const k = 2 ** Math.round(power)
    assert.strictEqual(crps({ mean: f.mean * k, sd: f.sd * k }, y * k), crps(f, y) * k)
  })

  it.prop(
    "CRPS does not change when everything is shifted",
    [forecast, outcome, between(-1000, 1000)],
    ([f, y, by]) => {
      assert.closeTo(crps({ mean: f.mean + by, sd: f.sd }, y + by), crps(f, y), 1e-11)
    }
  )

  it.prop("CRPS is the same for an outcome above and below", [forecast, outcome], ([f, y]) => {
    assert.strictEqual(crps({ mean: -f.mean, sd: f.sd }, -y), crps(f, y))
  })

  it.prop("CRPS rewards a closer forecast", [forecast, between(0, 5), between(0.001, 5)], ([f, z, more]) => {
    const near = crps({ mean: 0, sd: f.sd }, z * f.sd)
    assert.isBelow(near, crps({ mean: 0, sd: f.sd }, (z + more) * f.sd))
  })
})

describe("Skill and score", () => {
  const scored = (mean: number, sd: number, y: number) => crpsScore(crps({ mean, sd }, y), 0.12)

  it("Skill and score are those of the specification's examples", () => {
    assert.closeTo(scored(3.1, 0.1, 3.2).score, 55.5, 0.05)
    assert.closeTo(scored(3.1, 0.05, 3.1).score, 91.4, 0.05)
    assert.strictEqual(scored(3.1, 0.05, 3.3).score, 0)
    assert.closeTo(scored(3.1, 0.3, 3.1).score, 48.2, 0.05)
  })

  it("The score is 100 for perfect, 50 for the reference, 0 from twice its CRPS on", () => {
    const ofReference = 0.12 / Math.sqrt(Math.PI)
    assert.deepStrictEqual(crpsScore(0, 0.12), { skill: 1, score: 100 })
    assert.closeTo(crpsScore(ofReference, 0.12).score, 50, 1e-12)
    assert.closeTo(crpsScore(2 * ofReference, 0.12).score, 0, 1e-12)
    assert.strictEqual(crpsScore(3 * ofReference, 0.12).score, 0)
    assert.closeTo(crpsScore(3 * ofReference, 0.12).skill, -2, 1e-12)
  })

  it.prop(
    "The score is 50 + 50 skill within 0 to 100, and skill is not clipped",
    [between(0, 100)],
    ([value]) => {
      const { score, skill } = crpsScore(value, 1)
      assert.closeTo(score, Math.max(0, 50 + 50 * skill), 1e-10)
      assert.isAtMost(skill, 1)
      assert.isTrue(score >= 0 && score <= 100)
    }
  )

  it("Honesty pays: near the reference scale no other spread earns more than 0.4 points more", () => {
    const expected = (sd: number, belief: number) => {
      const zs = Array.from({ length: 2001 }, (_, i) => (i - 1000) / 125)
      const weight = (z: number) => Math.exp((-z * z) / 2)
      const total = zs.reduce((sum, z) => sum + weight(z), 0)
      const score = (z: number) => crpsScore(crps({ mean: 0, sd }, z * belief), 1).score
      return zs.reduce((sum, z) => sum + score(z) * weight(z), 0) / total
    }
    for (const [belief, gain] of [
      [0.75, 0.06],
      [1, 0.39]
    ] as const) {
      const honest = expected(belief, belief)
      for (let sd = 0.1; sd < 3; sd += 0.05) assert.isBelow(expected(sd, belief), honest + gain)
    }
  })

  it("crpsScore() refuses a reference scale of 0, below, or none", () => {
    for (const scale of [0, -0, -1, Number.NaN]) assert.throws(() => crpsScore(1, scale), RangeError)
  })
})

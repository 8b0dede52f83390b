import { assert, describe, it } from "@effect/vitest"
import { studentT975 } from "../../src/scoring/agentStats.ts"

/** P(|T| <= t) for whole degrees of freedom: the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4. */
const centralProbability = (t: number, df: number): number => {
  const sine = t / Math.sqrt(df + t * t)
  const cosineSq = df / (df + t * t)
  const even = df % 2 === 0
  let term = even ? 1 : Math.sqrt(cosineSq)
  let sum = df === 1 ? 0 : term
  for (let k = even ? 1 : 2; k < df - 2; k += 2) {
    term *= (cosineSq * k) / (k + 1)
    sum += term
  }
  return even ? sine * sum : (2 / Math.PI) * (Math.atan(t / Math.sqrt(df)) + sine * sum)
}

describe("studentT975", () => {
  it.each([
    [1, 12.706204736],
    [2, 4.30265273],
    [5, 2.570581836],
    [10, 2.228138852],
    [30, 2.042272456],
    [100, 1.983971519]
  ])("is the published quantile for df %i", (df, quantile) => {
    assert.closeTo(studentT975(df), quantile, 5.1e-10)
  })

  it.each([
    [31, 2.039513446396408],
    [60, 2.00029782201426],
    [365, 1.966484596376788],
    [1000, 1.962339080826408]
  ])("beyond the table keeps 12 digits, df %i", (df, quantile) => {
    assert.closeTo(studentT975(df), quantile, 1e-12)
  })

  it("leaves 2.5 % above it for every df to 2000", () => {
    for (let df = 1; df <= 2000; df++) {
      assert.closeTo(centralProbability(studentT975(df), df), 0.95, 1e-13 * Math.max(10, df / 10), `df ${df}`)
    }
  })

  it("falls towards the normal quantile", () => {
    for (let df = 1; df < 2000; df++) assert.isAbove(studentT975(df), studentT975(df + 1))
    assert.closeTo(studentT975(1e12), 1.959963984540054, 1e-11)
  })

  it("degrees of freedom that are not a whole number from 1 on are refused", () => {
    for (const df of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => studentT975(df), RangeError)
    }
  })
})

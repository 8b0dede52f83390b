import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { calibrationRow, pitBand, pitBuckets, wilsonInterval } from "../../src/scoring/calibration.ts"
import { normalDistribution } from "../../src/scoring/distributions.ts"

const between = (minimum: number, maximum: number) =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }))

const standard = normalDistribution(0, 1)
const bucketsOf = (z: number, step: number | null = null) => calibrationRow(standard, z, 1, step).pit

describe("The probability integral transform", () => {
  it("The integral transform has ten buckets, the last closed at 1", () => {
    assert.strictEqual(bucketsOf(-50)[0], 1)
    assert.strictEqual(bucketsOf(0)[5], 1)
    assert.strictEqual(bucketsOf(50)[9], 1)
  })

  it.prop(
    "The integral transform gives every outcome 1 in total, in steps too",
    [between(-60, 60), between(1e-6, 20)],
    ([z, step]) => {
      for (const pit of [bucketsOf(z), bucketsOf(z, step)]) {
        assert.strictEqual(pit.length, pitBuckets)
        assert.isTrue(pit.every((share) => share >= 0 && share <= 1 + 1e-12))
        assert.closeTo(
          pit.reduce((sum, share) => sum + share, 0),
          1,
          1e-9
        )
      }
    }
  )

  it("The integral transform spreads a step that covers everything evenly", () => {
    for (const share of bucketsOf(0, 200)) assert.closeTo(share, 0.1, 1e-12)
  })

  it("The integral transform of a step in the middle is the same to both sides", () => {
    const pit = bucketsOf(0, 1)
    for (const [index, share] of pit.entries()) assert.closeTo(share, pit[9 - index] ?? 0, 1e-12)
  })
})

describe("The sums of calibration", () => {
  it("Calibration counts an outcome within an interval up to its bound", () => {
    const within = (z: number) => {
      const { within50, within80, within95 } = calibrationRow(standard, z, 1, null)
      return [within50, within80, within95]
    }
    assert.deepStrictEqual(within(-0.67448975), [true, true, true])
    assert.deepStrictEqual(within(0.67449), [false, true, true])
    assert.deepStrictEqual(within(1.2815516), [false, false, true])
    assert.deepStrictEqual(within(-1.96), [false, false, false])
  })

  it("Calibration takes sharpness on the reference scale, and |z| as a number", () => {
    const row = calibrationRow(normalDistribution(0, 2.3e-308), 5, 0.5, null)
    assert.strictEqual(row.absZ, 1e12)
    assert.strictEqual(calibrationRow(normalDistribution(1, 0.25), 2, 0.5, null).sharpness, 0.5)
    assert.strictEqual(calibrationRow(normalDistribution(1, 0.25), 2, 0.5, null).absZ, 4)
  })

  it("Calibration has Wilson's interval for shares", () => {
    // 8 of 10: 0.490162 to 0.943318 (Brown, Cai and DasGupta 2001).
    const [low, high] = wilsonInterval(8, 10)
    assert.closeTo(low, 0.490162, 1e-6)
    assert.closeTo(high, 0.943318, 1e-6)
    assert.strictEqual(wilsonInterval(0, 20)[0], 0)
    assert.strictEqual(wilsonInterval(20, 20)[1], 1)
  })

  it("Calibration has the band n/10 +- 1.96 sqrt(0.09 n) for buckets", () => {
    const [low, high] = pitBand(100)
    assert.closeTo(low, 4.12, 1e-12)
    assert.closeTo(high, 15.88, 1e-12)
    assert.deepStrictEqual(pitBand(0), [0, 0])
  })
})

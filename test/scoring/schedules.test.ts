import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, DateTime, Schema } from "effect"
import { edgesAround } from "../../src/scoring/macro.ts"
import { levelsAround } from "../../src/scoring/priceEvents.ts"
import { nextMonday } from "../../src/scoring/calendar.ts"

const at = (iso: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(iso))

describe("The next Monday", () => {
  it("is the midnight that comes, also from the moment of one and across a year", () => {
    for (const [from, monday] of [
      ["2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00Z"],
      ["2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"],
      ["2026-12-29T12:00:00Z", "2027-01-04T00:00:00Z"]
    ] as const) {
      assert.strictEqual(nextMonday(at(from)), at(monday))
    }
  })
})

const Price = Schema.Finite.check(Schema.isBetween({ minimum: 0.01, maximum: 1e6 }))
/** Of the price; a week that moves a price by half is beyond what crypto showed. */
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0.001, maximum: 0.5 }))

describe("Levels around a price", () => {
  it("are rounded to what people would say", () => {
    assert.deepStrictEqual(levelsAround(87_431, 4619), { threshold: 87_500, up: 91_000, down: 84_000 })
    assert.deepStrictEqual(levelsAround(0.6123, 0.04), { threshold: 0.61, up: 0.64, down: 0.585 })
  })

  it.prop("lie on both sides of it, and within a standard deviation", [Price, Share], ([price, share]) => {
    const deviation = price * share
    const levels = levelsAround(price, deviation)
    assert(levels !== undefined)
    assert.isTrue(levels.down > 0 && levels.down < price && levels.up > price)
    assert.isTrue(levels.up - price < deviation && price - levels.down < deviation)
    assert.isTrue(Math.abs(levels.threshold - price) <= deviation * 0.11)
  })

  it("are none where the lower one would not be above 0", () => {
    assert.isUndefined(levelsAround(100, 200))
  })
})

describe("Edges around a print", () => {
  const edges = (last: string, scale: string, step: string) =>
    edgesAround(
      BigDecimal.fromStringUnsafe(last),
      BigDecimal.fromStringUnsafe(scale),
      BigDecimal.fromStringUnsafe(step)
    )

  it("have it in their middle, a reference scale apart in whole steps, exactly", () => {
    assert.deepStrictEqual(edges("3.1", "0.12", "0.1"), [2.85, 2.95, 3.05, 3.15, 3.25, 3.35])
    assert.deepStrictEqual(edges("-150", "74.13", "1"), [-335, -261, -187, -113, -39, 35])
  })

  it("are at least a step apart", () => {
    assert.deepStrictEqual(edges("4.25", "0.001", "0.25"), [3.625, 3.875, 4.125, 4.375, 4.625, 4.875])
  })
})

import { edgesAround, binOf, binsOf, decimalStep, referenceScale } from "../../src/scoring/macro.ts"
import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Schema } from "effect"

const decimals = (...texts: ReadonlyArray<string>) => texts.map(BigDecimal.fromStringUnsafe)
const step = BigDecimal.fromStringUnsafe("0.1")

const Edges = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -50, maximum: 50 })))

describe("Outcome bins", () => {
  it.prop("Each value is in one bin, and a value on an edge in the bin above it", [Edges], ([drawn]) => {
    const edges = [...new Set(drawn)].sort((a, b) => a - b)
    const bins = binsOf(edges, null)
    assert.strictEqual(bins.length, edges.length + 1)
    for (let value = -51; value <= 51; value += 0.5) {
      const holding = bins.filter(
        ({ high, low }) => (low === null || low <= value) && (high === null || value < high)
      )
      assert.deepStrictEqual(
        holding.map(({ index }) => index),
        [binOf(edges, value)]
      )
    }
  })
})

describe("The reference scale of a series", () => {
  const flat = decimals(...Array.from({ length: 25 }, () => "3.1"))

  it("The reference scale needs 24 surprises, which are 25 prints", () => {
    assert.isUndefined(referenceScale(flat.slice(1), step))
    assert.isDefined(referenceScale(flat, step))
  })

  it("The reference scale is at least half of the published decimal step", () => {
    assert.strictEqual(BigDecimal.format(referenceScale(flat, step) ?? step), "0.05")
  })

  it("The reference scale is 1.4826 times the surprises' median absolute deviation, exactly", () => {
    // Surprises 0.1 and 0.3 in turn: their median is 0.2, each is 0.1 away.
    let print = 0
    const prints = Array.from({ length: 25 }, (_, index) => {
      print += index % 2 === 0 ? 1 : 3
      return BigDecimal.make(BigInt(print), 1)
    })
    assert.strictEqual(BigDecimal.format(referenceScale(prints, step) ?? step), "0.14826")
  })

  it("The reference scale takes the step from the decimals that are printed", () => {
    assert.strictEqual(BigDecimal.format(decimalStep(decimals("3.10", "3", "2.95"))), "0.01")
    assert.strictEqual(BigDecimal.format(decimalStep(decimals("250", "100"))), "1")
    // A print may be any double.
    assert.strictEqual(BigDecimal.toNumberUnsafe(decimalStep(decimals("5e-324", "3"))), 1e-12)
  })
})

describe("Edges around a print", () => {
  const edges = (last: string, scale: string, step: string) =>
    edgesAround(
      BigDecimal.fromStringUnsafe(last),
      BigDecimal.fromStringUnsafe(scale),
      BigDecimal.fromStringUnsafe(step)
    )

  it("Edges have the print in their middle, a reference scale apart in whole steps, exactly", () => {
    assert.deepStrictEqual(edges("3.1", "0.12", "0.1"), [2.85, 2.95, 3.05, 3.15, 3.25, 3.35])
    assert.deepStrictEqual(edges("-150", "74.13", "1"), [-335, -261, -187, -113, -39, 35])
  })

  it("Edges are at least a step apart", () => {
    assert.deepStrictEqual(edges("4.25", "0.001", "0.25"), [3.625, 3.875, 4.125, 4.375, 4.625, 4.875])
  })
})

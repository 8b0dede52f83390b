import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Schema } from "effect"
import { positionSize, profitPct } from "../../src/scoring/paper.ts"

const decimal = BigDecimal.fromStringUnsafe

const Units = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 10n ** 24n }))
const Signed = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: -(10n ** 24n), maximum: 10n ** 24n }))
const Scale = Schema.Int.check(Schema.isBetween({ minimum: -3, maximum: 15 }))
const Confidence = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))
const Direction = Schema.Literals(["bullish", "bearish", "neutral"])

const confidenceOf = (thousandths: number) => BigDecimal.make(BigInt(thousandths), 3)

describe("The size of a paper position", () => {
  it.each([
    ["bullish", "0.8", "0.8"],
    ["bearish", "0.8", "-0.8"],
    ["neutral", "0.8", "0"],
    ["bullish", "0", "0"],
    ["bearish", "1", "-1"]
  ] as const)("A paper position of %s with confidence %s has the size %s", (direction, confidence, size) => {
    assert.isTrue(BigDecimal.equals(positionSize(direction, decimal(confidence)), decimal(size)))
  })
})

describe("The profit of a paper position", () => {
  it.each([
    ["long, up", "1", "2000", "2010", 0.5],
    ["long, down", "1", "2000", "1990", -0.5],
    ["short, down", "-1", "2000", "1990", 0.5],
    ["half of it, up", "0.5", "2000", "2010", 0.25],
    ["flat", "0", "2000", "2500", 0],
    ["where nothing moved", "1", "2000", "2000", 0],
    // In doubles (0.3 - 0.1) * 100 / 0.1 is 199.99999999999997.
    ["by exact decimals", "1", "0.1", "0.3", 200],
    ["to the double nearest to a third", "1", "3", "4", 100 / 3],
    ["when the price fell below zero", "-1", "20", "-37.63", 288.15]
  ] as const)("The profit of a paper position is exact: %s", (_, size, entry, exit, pct) => {
    assert.strictEqual(profitPct(decimal(size), decimal(entry), decimal(exit)), pct)
  })

  it.prop(
    "The profit of a paper position is the quotient to a hundred digits, rounded once",
    [Direction, Confidence, Units, Scale, Signed, Scale],
    ([direction, confidence, entryUnits, entryScale, exitUnits, exitScale]) => {
      const entry = BigDecimal.make(entryUnits, entryScale)
      const exit = BigDecimal.make(exitUnits, exitScale)
      const size = positionSize(direction, confidenceOf(confidence))
      const gain = BigDecimal.multiply(
        BigDecimal.multiply(size, BigDecimal.subtract(exit, entry)),
        decimal("100")
      )
      assert.strictEqual(
        profitPct(size, entry, exit),
        BigDecimal.toNumberUnsafe(BigDecimal.divideUnsafe(gain, entry))
      )
    }
  )

  it.prop(
    "The profit of a short paper position is the opposite of the long's",
    [Confidence, Units, Units],
    ([confidence, entryUnits, exitUnits]) => {
      const [entry, exit] = [BigDecimal.make(entryUnits, 4), BigDecimal.make(exitUnits, 4)]
      const of = (direction: "bullish" | "bearish") =>
        profitPct(positionSize(direction, confidenceOf(confidence)), entry, exit)
      assert.isTrue(of("bullish") === -of("bearish"))
    }
  )

  it("The profit of a paper position is not defined on an entry at zero or below", () => {
    for (const entry of ["0", "-1"]) {
      assert.throws(() => profitPct(decimal("1"), decimal(entry), decimal("2")), RangeError)
    }
  })
})

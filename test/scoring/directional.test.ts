import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Schema } from "effect"
import {
  type Direction,
  directionalResult,
  directionalScore,
  isCorrect
} from "../../src/scoring/directional.ts"

const decimal = BigDecimal.fromStringUnsafe

/** A decimal as a whole number of 10^-scale: the test's own exact arithmetic, apart from BigDecimal. */
interface Scaled {
  readonly units: bigint
  readonly scale: number
}

const text = ({ units, scale }: Scaled): string => {
  const digits = `${units < 0n ? -units : units}`.padStart(scale + 1, "0")
  const point = digits.length - scale
  const sign = units < 0n ? "-" : ""
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

const result = (open: Scaled, close: Scaled, deadZonePct: Scaled) =>
  directionalResult(decimal(text(open)), decimal(text(close)), decimal(text(deadZonePct)))

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const price = Schema.Struct({ units: int(1, 10 ** 13), scale: int(0, 8) })
const percent = Schema.Struct({ units: int(0, 5000), scale: int(0, 3) })

const scaled = ({ units, scale }: { readonly units: number; readonly scale: number }): Scaled => ({
  units: BigInt(units),
  scale
})

/** The open price moved by `sign` times X %, and by `beyond` units of its last digit: exact, with two digits more. */
const moved = (open: Scaled, deadZonePct: Scaled, sign: 1n | -1n, beyond: bigint): Scaled => {
  const whole = 100n * 10n ** BigInt(deadZonePct.scale)
  return {
    units: open.units * (whole + sign * deadZonePct.units) + beyond,
    scale: open.scale + deadZonePct.scale + 2
  }
}

/** The same rule in whole numbers: close against open (100 +- X) / 100 on one common scale. */
const expected = (open: Scaled, close: Scaled, deadZonePct: Scaled): Direction => {
  const upper = moved(open, deadZonePct, 1n, 0n)
  const lower = moved(open, deadZonePct, -1n, 0n)
  const at = (x: Scaled) => x.units * 10n ** BigInt(40 - x.scale)
  if (at(close) > at(upper)) return "bullish"
  return at(close) < at(lower) ? "bearish" : "neutral"
}

const many = { arbitrary: { runs: 10_000 } }

describe("directionalResult", () => {
  it.each([
    ["100", "100.3", "0.3", "neutral"],
    ["100", "99.7", "0.3", "neutral"],
    ["100", "100.3000000001", "0.3", "bullish"],
    ["100", "99.6999999999", "0.3", "bearish"],
    ["0.3", "0.33", "10", "neutral"],
    ["0.3", "0.27", "10", "neutral"],
    ["0.3", "0.330000001", "10", "bullish"],
    ["0.3", "0.269999999", "10", "bearish"]
  ])("The result of open %s, close %s and dead zone %s %% is %s", (open, close, deadZonePct, direction) => {
    assert.strictEqual(directionalResult(decimal(open), decimal(close), decimal(deadZonePct)), direction)
  })

  it.prop(
    "A move of exactly +X % or -X % is neutral",
    [price, percent],
    ([price, percent]) => {
      const [open, zone] = [scaled(price), scaled(percent)]
      assert.strictEqual(result(open, moved(open, zone, 1n, 0n), zone), "neutral")
      assert.strictEqual(result(open, moved(open, zone, -1n, 0n), zone), "neutral")
    },
    many
  )

  it.prop(
    "One unit of the last digit beyond X % is bullish or bearish, and one inside is not",
    [price, percent],
    ([price, percent]) => {
      const [open, zone] = [scaled(price), scaled(percent)]
      assert.strictEqual(result(open, moved(open, zone, 1n, 1n), zone), "bullish")
      assert.strictEqual(result(open, moved(open, zone, -1n, -1n), zone), "bearish")
      assert.notStrictEqual(result(open, moved(open, zone, 1n, -1n), zone), "bullish")
      assert.notStrictEqual(result(open, moved(open, zone, -1n, 1n), zone), "bearish")
    },
    many
  )

  it.prop(
    "Any close agrees with whole-number arithmetic",
    [price, percent, int(-60_000, 60_000), int(0, 6)],
    ([price, percent, move, digits]) => {
      const [open, zone] = [scaled(price), scaled(percent)]
      const close: Scaled = {
        units: open.units * (100_000n + BigInt(move)) * 10n ** BigInt(digits),
        scale: open.scale + 5 + digits
      }
      assert.strictEqual(result(open, close, zone), expected(open, close, zone))
    },
    many
  )

  it("A dead zone of 0 leaves only an unchanged price neutral", () => {
    const at = (close: string) => directionalResult(decimal("2.50"), decimal(close), decimal("0"))
    assert.strictEqual(at("2.5"), "neutral")
    assert.strictEqual(at("2.500001"), "bullish")
    assert.strictEqual(at("2.499999"), "bearish")
  })

  it("A close below zero is bearish", () => {
    assert.strictEqual(directionalResult(decimal("18.27"), decimal("-37.63"), decimal("0.6")), "bearish")
  })

  it("An open price that is not above 0 and a negative dead zone are rejected", () => {
    assert.throws(() => directionalResult(decimal("0"), decimal("1"), decimal("0.3")), RangeError)
    assert.throws(() => directionalResult(decimal("-1"), decimal("1"), decimal("0.3")), RangeError)
    assert.throws(() => directionalResult(decimal("1"), decimal("1"), decimal("-0.3")), RangeError)
  })
})

describe("isCorrect", () => {
  it("A prediction that names the result is correct, neutral included", () => {
    const directions: ReadonlyArray<Direction> = ["bullish", "bearish", "neutral"]
    for (const direction of directions) {
      for (const result of directions) {
        assert.strictEqual(isCorrect(direction, result), direction === result)
      }
    }
  })
})

describe("directionalScore", () => {
  it.each([
    ["0", "50", "50"],
    ["0.2", "60", "40"],
    ["0.73", "86.5", "13.5"],
    ["1", "100", "0"]
  ])("Confidence %s scores %s when right and %s when wrong", (confidence, right, wrong) => {
    assert.strictEqual(BigDecimal.format(directionalScore(true, decimal(confidence))), right)
    assert.strictEqual(BigDecimal.format(directionalScore(false, decimal(confidence))), wrong)
  })

  it.prop(
    "The score is linear in the confidence, and right and wrong add up to 100",
    [int(0, 10 ** 12)],
    ([units]) => {
      const confidence = decimal(text({ units: BigInt(units), scale: 12 }))
      const right = directionalScore(true, confidence)
      const wrong = directionalScore(false, confidence)
      assert.strictEqual(BigDecimal.scale(right, 12).value, 50n * 10n ** 12n + 50n * BigInt(units))
      assert.isTrue(BigDecimal.between(right, { minimum: decimal("50"), maximum: decimal("100") }))
      assert.isTrue(BigDecimal.equals(BigDecimal.sum(right, wrong), decimal("100")))
    },
    { arbitrary: { runs: 1000 } }
  )

  it("A confidence outside 0 to 1 is rejected", () => {
    assert.throws(() => directionalScore(true, decimal("1.000000001")), RangeError)
    assert.throws(() => directionalScore(false, decimal("-0.1")), RangeError)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Schema } from "effect"
import { nearestQuotient } from "../../src/scoring/nearestQuotient.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))
const Units = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: -(10n ** 40n), maximum: 10n ** 40n }))
const Denominator = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 10n ** 40n }))
const Scale = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))

describe("nearestQuotient", () => {
  it.prop(
    "nearestQuotient() is the quotient to a hundred digits, rounded once",
    [Units, Scale, Count],
    ([units, scale, count]) => {
      const numerator = BigDecimal.make(units, scale)
      const exact = BigDecimal.divideUnsafe(numerator, BigDecimal.fromBigInt(BigInt(count)))
      assert.strictEqual(nearestQuotient(numerator, BigInt(count)), BigDecimal.toNumberUnsafe(exact))
    }
  )

  it.prop(
    "nearestQuotient() is as exact by a denominator of many digits",
    [Units, Scale, Denominator],
    ([units, scale, denominator]) => {
      const numerator = BigDecimal.make(units, scale)
      const exact = BigDecimal.divideUnsafe(numerator, BigDecimal.fromBigInt(denominator))
      assert.strictEqual(nearestQuotient(numerator, denominator), BigDecimal.toNumberUnsafe(exact))
    }
  )

  it.prop("nearestQuotient() of doubles is their division", [Count, Count], ([over, under]) => {
    assert.strictEqual(nearestQuotient(BigDecimal.fromBigInt(BigInt(over)), BigInt(under)), over / under)
  })

  it("nearestQuotient() decides a quotient that lies next to half way between two doubles", () => {
    // Between 2^53 and 2^53 + 2 lies 2^53 + 1: a little more than it rounds up, a little less down, itself to even.
    const half = 2n ** 53n + 1n
    const many = 10n ** 60n
    const of = (value: bigint) => nearestQuotient(BigDecimal.fromBigInt(value), many)
    assert.strictEqual(of(half * many + 1n), 2 ** 53 + 2)
    assert.strictEqual(of(half * many - 1n), 2 ** 53)
    assert.strictEqual(of(half * many), 2 ** 53)
    assert.strictEqual(of(-(half * many + 1n)), -(2 ** 53 + 2))
  })

  it("nearestQuotient() of nothing is 0", () => {
    assert.strictEqual(nearestQuotient(BigDecimal.make(0n, 5), 7n), 0)
  })
})

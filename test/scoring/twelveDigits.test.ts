import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { twelveDigits } from "../../src/scoring/twelveDigits.ts"

const byText = (figure: number) => Number(figure.toPrecision(12))

const figure = Schema.Finite.check(Schema.isBetween({ minimum: -1, maximum: 1000 }))
/** In the middle of two numbers of twelve digits, as near as a double comes to it, and a little beside. */
const middle = Schema.Tuple([
  Schema.Int.check(Schema.isBetween({ minimum: 1e11, maximum: 1e12 - 1 })),
  Schema.Literals([1e10, 1e11, 1e12]),
  Schema.Int.check(Schema.isBetween({ minimum: -3, maximum: 3 }))
])

const runs = { arbitrary: { runs: 5000 } }

describe("twelveDigits", () => {
  it("takes the noise of a root away", () => {
    assert.strictEqual(twelveDigits(19.999999999999996), 20)
    assert.strictEqual(twelveDigits(9.9999999999999), 10)
    assert.strictEqual(twelveDigits(99.99999999999999), 100)
    assert.strictEqual(twelveDigits(0), 0)
    assert.strictEqual(twelveDigits(100), 100)
  })

  it.prop(
    "is what a text of twelve digits says",
    [figure],
    ([x]) => assert.strictEqual(twelveDigits(x), byText(x)),
    runs
  )

  it.prop(
    "is so in the middle of two, too",
    [middle],
    ([[whole, units, steps]]) => {
      const half = (whole + 0.5) / units
      const x = half + steps * half * Number.EPSILON
      assert.strictEqual(twelveDigits(x), byText(x))
    },
    runs
  )
})

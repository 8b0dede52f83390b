/** Amounts: whole micro-credits inside, JSON numbers of credits outside, and nothing lost between the two. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Credit, CreditAmount, NewGrant } from "../../src/services/Credits.ts"

const decode = Schema.decodeUnknownResult(CreditAmount)
const encode = Schema.encodeSync(Credit)

/** The amount as a decimal with all six places. */
const written = (micro: bigint) => `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, "0")}`

const between = (minimum: bigint, maximum: bigint) =>
  Schema.BigInt.check(Schema.isBetweenBigInt({ minimum, maximum }))

describe("An amount of credit", () => {
  it.prop(
    "An amount of credit is read as exactly the decimal that was sent",
    [between(1n, 10n ** 13n)],
    ([micro]) => {
      const sent: unknown = JSON.parse(written(micro))
      assert.deepStrictEqual(decode(sent), Result.succeed(micro))
    }
  )

  it.prop(
    "An amount of credit is answered as its decimal",
    [between(-(10n ** 15n), 10n ** 15n)],
    ([micro]) => {
      const size = micro < 0n ? -micro : micro
      assert.strictEqual(Math.abs(encode(micro)), Number(written(size)))
      assert.strictEqual(BigInt(Math.round(encode(micro) * 1_000_000)), micro)
    }
  )

  it.prop(
    "An amount has six decimals, not seven",
    [between(1n, 10n ** 14n), Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))],
    ([micro, seventh]) => {
      assert.isTrue(Result.isFailure(decode(Number(`${written(micro)}${seventh}`))))
    }
  )

  it("An amount is a number above 0, in whole micro-credits, within the countable", () => {
    for (const amount of [
      -1,
      0,
      -0,
      -0.000001,
      1e-7,
      5e-324,
      49.9999999,
      10_000_000.000001,
      1_000_000_001,
      2 ** 53,
      1e308,
      -1e308,
      Infinity,
      Number.NaN,
      "50",
      "",
      null,
      true,
      [50],
      { credits: 50 }
    ]) {
      assert.isTrue(Result.isFailure(decode(amount)), String(amount))
    }
    for (const [amount, micro] of [
      [0.000001, 1n],
      [49.999999, 49_999_999n],
      [10_000_000, 10n ** 13n]
    ] as const) {
      assert.deepStrictEqual(decode(amount), Result.succeed(micro))
    }
  })
})

describe("A grant's fields", () => {
  const isGrant = (fields: object) => {
    const sent: unknown = { amount: 1, reason: "why", idempotency_key: "a.b_c:d-1", ...fields }
    return Result.isSuccess(Schema.decodeUnknownResult(NewGrant)(sent))
  }

  it("A grant has a key of 1 to 128 plain characters, and a reason of 1 to 1000", () => {
    assert.isTrue(isGrant({ idempotency_key: "x".repeat(128), reason: "x".repeat(1000) }))
    for (const idempotency_key of ["", "two words", "x".repeat(129), "é", 7, null, "a/b"]) {
      assert.isFalse(isGrant({ idempotency_key }), String(idempotency_key))
    }
    for (const reason of ["", "x".repeat(1001), "\u0000", 7, null]) {
      assert.isFalse(isGrant({ reason }), String(reason))
    }
  })
})

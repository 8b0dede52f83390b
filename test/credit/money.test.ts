/** Amounts: whole micro-credits inside, JSON numbers of credits outside, and nothing lost between the two. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Credit, CreditAmount } from "../../src/services/Credits.ts"

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
})

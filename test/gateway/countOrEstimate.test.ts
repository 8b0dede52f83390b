/** Tokens of a call of a provider that reports no usage, where they cannot be counted either. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { countOrEstimate, countText, roughCount } from "../../src/layers/gateway/tokens.ts"

const text = "What the model said, in twelve tokens or so: naïve, 日本語."

describe("The tokens of a call", () => {
  it.effect("are counted where they can be", () =>
    Effect.gen(function* () {
      const count = yield* countOrEstimate(
        () => countText(text),
        () => roughCount(text)
      )
      assert.strictEqual(count, yield* Effect.promise(() => countText(text)))
    })
  )

  it.effect("are taken for four bytes each where they cannot, so that the call is settled all the same", () =>
    Effect.gen(function* () {
      for (const broken of [
        () => Promise.reject(new Error("no encoding")),
        () => {
          throw new Error("at once")
        }
      ]) {
        const count = yield* countOrEstimate(broken, () => roughCount(text))
        assert.strictEqual(count, Math.ceil(Buffer.byteLength(text) / 4))
      }
    })
  )
})

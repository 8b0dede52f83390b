/** Tokens that the gateway counts if a provider reports none. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { admit } from "../../src/layers/gateway/callBody.ts"
import { countOrEstimate, countPrompt, countText, roughCount } from "../../src/layers/gateway/tokens.ts"
import type { Style } from "../../src/services/Gateway.ts"
import { isFull } from "../support/breadth.ts"
import { endpointOf } from "../support/providerStreams.ts"

const counted = (text: string) => Effect.promise(() => countText(text))

const prompt = (style: Style, body: object) =>
  Effect.promise(() =>
    countPrompt(
      Result.getOrThrow(admit(endpointOf[style], Buffer.from(JSON.stringify({ model: "m", ...body }))))
    )
  )

/** A count and the microseconds of processor time that counting takes, in all threads. */
const measured = (run: Effect.Effect<number>) =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    const count = yield* run
    const { system, user } = process.cpuUsage(before)
    return { count, cost: system + user }
  })

describe("Counting tokens", () => {
  it.effect("The count of a text is the tokenizer's", () =>
    Effect.gen(function* () {
      for (const text of ["", "The quick brown fox.", "日本語のテキスト", "<|endoftext|> is a text"]) {
        assert.strictEqual(yield* counted(text), countTokens(text, { disallowedSpecial: new Set() }), text)
      }
    })
  )

  it.effect("The count of a long text is within 2 % of the tokenizer's", () =>
    Effect.gen(function* () {
      const text = "The quick brown fox jumps over the lazy dog near the river bank. ".repeat(3000)
      const expected = countTokens(text)
      assert.isBelow(Math.abs((yield* counted(text)) / expected - 1), 0.02)
      assert.isBelow(Math.abs((yield* counted(text.repeat(20))) / (expected * 20) - 1), 0.02)
    })
  )

  it.effect.runIf(isFull)("The count of hostile texts costs no more than that of others", () =>
    Effect.gen(function* () {
      yield* counted("warm")
      // Without cutting, each of these texts takes minutes.
      for (const piece of ["a", " ", "日", "\u{1f98a}", "=-"]) {
        const { cost, count } = yield* measured(counted(piece.repeat(2_000_000)))
        assert.isAbove(count, 1000)
        assert.isBelow(cost, 1_000_000, piece)
      }
    })
  )

  it.effect("The count of embeddings counts texts, and takes tokens as they are", () =>
    Effect.gen(function* () {
      const count = (input: unknown) =>
        Effect.promise(() =>
          countPrompt(
            Result.getOrThrow(admit("embeddings", Buffer.from(JSON.stringify({ model: "m", input }))))
          )
        )
      assert.strictEqual(yield* count(["hello", "hello"]), 2)
      assert.strictEqual(yield* count([[100_000, 2], [3]]), 3)
    })
  )

  it.effect("The count of a prompt includes messages, system text and tools, and no image", () =>
    Effect.gen(function* () {
      const messages = [{ role: "user", content: "hi" }]
      const plain = yield* prompt("openai", { messages })
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(9999)}` } }
      const seen = [{ role: "user", content: [{ type: "text", text: "hi" }, image] }]
      assert.isBelow((yield* prompt("openai", { messages: seen })) - plain, 10)
      const tools = [{ name: "look", input_schema: { type: "object" } }]
      const rest = { messages, max_tokens: 1, system: [{ type: "text", text: "Be brief." }] }
      const withSystem = yield* prompt("anthropic", rest)
      assert.isAbove(withSystem, plain)
      assert.isAbove(yield* prompt("anthropic", { ...rest, tools }), withSystem)
    })
  )
})

const text = "What the model said, in twelve tokens or so: naïve, 日本語."

describe("The tokens of a call of a provider that reports no usage", () => {
  it.effect("The tokens of a call without reported usage are counted if possible", () =>
    Effect.gen(function* () {
      const count = yield* countOrEstimate(
        () => countText(text),
        () => roughCount(text)
      )
      assert.strictEqual(count, yield* Effect.promise(() => countText(text)))
    })
  )

  it.effect("The tokens of a call that cannot be counted are taken for four bytes each", () =>
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

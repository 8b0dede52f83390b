/** Programs with frameworks over the official clients, in which only the base address and the key were changed. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import { HumanMessage } from "@langchain/core/messages"
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai"
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai"
import { Effect } from "effect"
import { gatewayServer, spender } from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { member, TestServer } from "../support/server.ts"
import { answerText, vector } from "../support/upstream.ts"

const on = (provider: "north" | "south", model: string) => [{ provider, model }]

/** The maximum that @ai-sdk/anthropic requests by default of a model that it does not know. */
const maxOutputTokens = 4096

/** Each model exists at a provider of chat completions (`chat-`) and at one of messages (`messages-`). */
const models: ReadonlyArray<TestModel> = [
  { name: "chat-plain", routes: on("north", "plain"), maxOutputTokens },
  { name: "messages-plain", routes: on("south", "plain"), maxOutputTokens },
  { name: "chat-tools", routes: on("north", "tools"), maxOutputTokens },
  { name: "messages-tools", routes: on("south", "tools"), maxOutputTokens },
  { name: "strict", routes: on("north", "status=422"), maxOutputTokens },
  { name: "vectors", embeds: true, routes: on("north", "vectors") }
]

const prompt = "Where is the fox?"
const places = jsonSchema<{ readonly at?: string }>({
  type: "object",
  properties: { at: { type: "string" } }
})
const tools = {
  look: tool({ description: "Looks.", inputSchema: places, execute: ({ at }) => `a ${at}` }),
  wait: tool({ inputSchema: places, execute: () => "waited" })
}

const clients = Effect.gen(function* () {
  const { url } = yield* TestServer
  const { key } = yield* spender(100)
  const openai = createOpenAI({ baseURL: `${url}/api/v1/llm/v1`, apiKey: key })
  const anthropic = createAnthropic({ baseURL: `${url}/api/v1/llm/v1`, apiKey: key })
  return {
    ways: { "chat completions": openai.chat, responses: openai.responses, messages: anthropic },
    chain: (model: string) =>
      new ChatOpenAI({ model, apiKey: key, configuration: { baseURL: `${url}/api/v1/llm/v1` } }),
    embeddings: new OpenAIEmbeddings({
      model: "vectors",
      apiKey: key,
      configuration: { baseURL: `${url}/api/v1/llm/v1` }
    })
  }
})

layer(gatewayServer(models, {}, "usual"))("A program with ai", (it) => {
  for (const way of ["chat completions", "responses", "messages"] as const) {
    for (const kind of ["chat", "messages"] as const) {
      it.effect(`The ai package generates and streams a text by ${way} (provider: ${kind})`, () =>
        Effect.gen(function* () {
          const { ways } = yield* clients
          const model = ways[way](`${kind}-plain`)
          const whole = yield* Effect.promise(() => generateText({ model, prompt, system: "Be brief." }))
          assert.strictEqual(whole.text, answerText)
          assert.strictEqual(whole.finishReason, "stop")
          assert.deepStrictEqual([whole.usage.inputTokens, whole.usage.outputTokens], [25, 9])
          const streamed = streamText({ model, prompt })
          assert.strictEqual(yield* Effect.promise(() => streamed.text), answerText)
          assert.strictEqual((yield* Effect.promise(() => streamed.usage)).outputTokens, 9)
        })
      )

      it.effect(`The ai package calls tools and sends their results by ${way} (provider: ${kind})`, () =>
        Effect.gen(function* () {
          const { ways } = yield* clients
          const streamed = streamText({
            model: ways[way](`${kind}-tools`),
            prompt,
            tools,
            // By default the package sends references to items that it believes stored.
            providerOptions: { openai: { store: false } },
            stopWhen: stepCountIs(2)
          })
          const steps = yield* Effect.promise(() => streamed.steps)
          assert.lengthOf(steps, 2)
          for (const { reasoningText, text, toolCalls } of steps) {
            assert.strictEqual(text, "Looking.")
            assert.deepStrictEqual(
              toolCalls.map(({ input, toolName }) => [toolName, input]),
              [
                ["look", { at: "fox" }],
                ["wait", {}]
              ]
            )
            // The package reads no reasoning of chat completions.
            assert.strictEqual(reasoningText, way === "chat completions" ? undefined : "Let me see.")
          }
        })
      )
    }

    it.effect(`The ai package learns of its mistake in an error of its own kind by ${way}`, () =>
      Effect.gen(function* () {
        const { ways } = yield* clients
        const ask = (model: string) =>
          Effect.promise(() =>
            generateText({ model: ways[way](model), prompt, maxRetries: 0 }).then(
              () => assert.fail("it did not fail"),
              (error: unknown) => error
            )
          )
        const unknown = yield* ask("nothing")
        if (!APICallError.isInstance(unknown)) return assert.fail(String(unknown))
        assert.strictEqual(unknown.statusCode, 400)
        assert.include(unknown.message, 'There is no model "nothing"')
        const strict = yield* ask("strict")
        if (!APICallError.isInstance(strict)) return assert.fail(String(strict))
        assert.strictEqual(strict.statusCode, 422)
      })
    )
  }
})

layer(gatewayServer(models, {}, "usual"))("A program with @langchain/openai", (it) => {
  for (const kind of ["chat", "messages"] as const) {
    it.effect(`The package @langchain/openai invokes, streams and binds tools (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { chain } = yield* clients
        const plain = chain(`${kind}-plain`)
        const whole = yield* Effect.promise(() => plain.invoke([new HumanMessage(prompt)]))
        assert.strictEqual(whole.text, answerText)
        assert.strictEqual(member(whole.usage_metadata, "total_tokens"), 34)
        const streamed = yield* Effect.promise(async () => {
          let text = ""
          for await (const chunk of await plain.stream(prompt)) text += chunk.text
          return text
        })
        assert.strictEqual(streamed, answerText)
        const bound = chain(`${kind}-tools`).bindTools([
          { type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } },
          { type: "function", function: { name: "wait", parameters: { type: "object", properties: {} } } }
        ])
        const { tool_calls } = yield* Effect.promise(() => bound.invoke(prompt))
        assert.deepStrictEqual(
          tool_calls?.map(({ args, name }) => [name, args]),
          [
            ["look", { at: "fox" }],
            ["wait", {}]
          ]
        )
      })
    )
  }

  it.effect("The package @langchain/openai embeds documents", () =>
    Effect.gen(function* () {
      const { embeddings } = yield* clients
      assert.deepStrictEqual(yield* Effect.promise(() => embeddings.embedDocuments(["a", "b"])), [
        vector,
        vector
      ])
    })
  )
})

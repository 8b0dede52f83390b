/** Programs with the official clients, in which only the base address and the key were changed. */
import Anthropic, * as AnthropicErrors from "@anthropic-ai/sdk"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, * as OpenAIErrors from "openai"
import { gatewayServer, inTime, Providers, spender, settledCall } from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { stateOf } from "../support/credit.ts"
import { member, TestServer } from "../support/server.ts"
import { answerText, vector } from "../support/upstream.ts"

const on = (provider: "north" | "south", model: string) => [{ provider, model }]

/** Each behaviour exists at a provider of chat completions (`chat-`) and at one of messages (`messages-`). */
const models: ReadonlyArray<TestModel> = [
  { name: "chat-plain", routes: on("north", "plain") },
  { name: "messages-plain", routes: on("south", "plain") },
  { name: "chat-tools", routes: on("north", "tools") },
  { name: "messages-tools", routes: on("south", "tools") },
  { name: "chat-slow", routes: on("north", "gap=150") },
  { name: "messages-slow", routes: on("south", "gap=150") },
  { name: "chat-broken", routes: on("north", "cut=4") },
  { name: "messages-broken", routes: on("south", "cut=6") },
  { name: "busy", routes: on("north", "status=429;retry_after=7") },
  { name: "down", routes: on("north", "status=500") },
  { name: "strict", routes: on("north", "status=422") },
  { name: "vectors", embeds: true, routes: on("north", "vectors") },
  {
    name: "acme/large-2",
    routes: on("north", "large"),
    more: "context_length: 200000\n    capabilities: [tools, image_input]"
  }
]
const kinds = ["chat", "messages"] as const

const clients = Effect.fnUntraced(function* (credit = 100) {
  const { url } = yield* TestServer
  const who = yield* spender(credit)
  return {
    ...who,
    openai: new OpenAI({ baseURL: `${url}/api/v1/llm/v1`, apiKey: who.key }),
    anthropic: new Anthropic({ baseURL: `${url}/api/v1/llm`, apiKey: who.key })
  }
})

const user = { role: "user", content: "Where is the fox?" } as const
const parameters = { type: "object" as const, properties: { at: { type: "string" } } }
const chatTools = [
  { type: "function" as const, function: { name: "look", description: "Looks.", parameters } },
  { type: "function" as const, function: { name: "wait" } }
]
const messagesTools = [
  { name: "look", description: "Looks.", input_schema: parameters },
  { name: "wait", input_schema: { type: "object" as const } }
]

/** The error of a call that must fail. */
const failed = (call: () => Promise<unknown>) =>
  Effect.promise(() =>
    call().then(
      () => assert.fail("it did not fail"),
      (error: unknown) => error
    )
  )

layer(gatewayServer(models, {}, "usual"))("A program with the openai client", (it) => {
  for (const kind of kinds) {
    it.effect(`The openai client is answered (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, openai } = yield* clients()
        const model = `${kind}-plain`
        const call = openai.chat.completions.create({ model, messages: [user], temperature: 0.5 })
        const { data, request_id, response } = yield* Effect.promise(() => call.withResponse())
        assert.strictEqual(data.choices[0]?.message.content, answerText)
        assert.strictEqual(data.model, model)
        assert.strictEqual(data.object, "chat.completion")
        assert.strictEqual(data.usage?.total_tokens, 34)
        assert.strictEqual(request_id, response.headers.get("x-request-id"))
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n - 12_200n)
      })
    )

    it.effect(`The openai client streams with tools and thinking, and answers (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { openai } = yield* clients()
        const { north, south } = yield* Providers
        const model = `${kind}-tools`
        const request = { model, tools: chatTools, tool_choice: "auto" as const }
        const stream = openai.chat.completions.stream({
          ...request,
          messages: [user],
          stream_options: { include_usage: true }
        })
        let reasoning = ""
        stream.on("chunk", ({ choices: [choice] }) => {
          const text = member(choice, "delta", "reasoning_content")
          if (typeof text === "string") reasoning += text
        })
        const { choices, usage } = yield* Effect.promise(() => stream.finalChatCompletion())
        const [choice] = choices
        if (choice === undefined) return assert.fail("no choice")
        assert.strictEqual(choice.finish_reason, "tool_calls")
        assert.strictEqual(choice?.message.content, "Looking.")
        assert.strictEqual(reasoning, "Let me see.")
        const called = (choice.message.tool_calls ?? []).map((each) =>
          each.type === "function" ? [each.function.name, each.function.arguments] : []
        )
        assert.deepStrictEqual(called, [
          ["look", '{"at":"fox"}'],
          ["wait", "{}"]
        ])
        assert.strictEqual(usage?.completion_tokens, 50)

        const results = (choice.message.tool_calls ?? []).map(({ id }) => ({
          role: "tool" as const,
          tool_call_id: id,
          content: "a fox"
        }))
        const again = openai.chat.completions.create({
          ...request,
          messages: [user, choice.message, ...results]
        })
        assert.strictEqual((yield* Effect.promise(() => again)).choices[0]?.message.content, "Looking.")
        const sent = JSON.parse((kind === "chat" ? north : south).received.at(-1)?.text ?? "")
        const roles = sent.messages.map(({ role }: { role: string }) => role)
        assert.deepStrictEqual(
          roles,
          kind === "chat" ? ["user", "assistant", "tool", "tool"] : ["user", "assistant", "user"]
        )
        if (kind === "messages") {
          assert.deepStrictEqual(
            sent.messages[2].content.map(({ tool_use_id }: { tool_use_id: string }) => tool_use_id),
            ["toolu_a", "toolu_b"]
          )
          assert.deepStrictEqual(sent.messages[1].content[0], {
            type: "thinking",
            thinking: "Let me see.",
            signature: "c2ln"
          })
        }
      })
    )

    it.effect(`The openai client gets a response (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, key, openai } = yield* clients()
        const model = `${kind}-plain`
        const call = openai.responses.create({
          model,
          instructions: "Be brief.",
          input: "Where is the fox?",
          max_output_tokens: 50,
          store: false
        })
        const { data, request_id } = yield* Effect.promise(() => call.withResponse())
        assert.strictEqual(data.output_text, answerText)
        assert.deepStrictEqual(
          [data.object, data.status, data.model, data.instructions, data.max_output_tokens],
          ["response", "completed", model, "Be brief.", 50]
        )
        assert.deepStrictEqual([data.usage?.input_tokens, data.usage?.output_tokens], [25, 9])
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n - 12_200n)
        const item = yield* settledCall(key)
        assert.strictEqual(member(item, "style"), "openai")
        assert.strictEqual(member(item, "request_id"), request_id)
      })
    )

    it.effect(`The openai client streams a response with tools and reasoning (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, openai } = yield* clients()
        const { north, south } = yield* Providers
        const request = {
          model: `${kind}-tools`,
          store: false,
          include: ["reasoning.encrypted_content" as const],
          tools: [
            { type: "function" as const, name: "look", description: "Looks.", parameters, strict: false },
            { type: "function" as const, name: "wait", parameters: null, strict: null }
          ]
        }
        const stream = openai.responses.stream({ ...request, input: [user] })
        const numbers: Array<number> = []
        stream.on("event", ({ sequence_number }) => numbers.push(sequence_number))
        const { output, status, usage } = yield* Effect.promise(() => stream.finalResponse())
        assert.deepStrictEqual(
          numbers,
          numbers.map((_, index) => index)
        )
        assert.strictEqual(status, "completed")
        assert.strictEqual(usage?.output_tokens, 50)
        const told = output.map((item) => {
          if (item.type === "reasoning") return item.summary.map(({ text }) => text)
          if (item.type === "message")
            return item.content.map((part) => (part.type === "output_text" ? part.text : ""))
          return item.type === "function_call" ? [item.name, item.arguments] : []
        })
        assert.deepStrictEqual(told, [
          ["Let me see."],
          ["Looking."],
          ["look", '{"at":"fox"}'],
          ["wait", "{}"]
        ])
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).held, 0n)

        const results = output.flatMap((item) =>
          item.type === "function_call"
            ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "a fox" }]
            : []
        )
        // The client's types include items that arrive and cannot be sent.
        const given = output.flatMap((item) =>
          item.type === "reasoning" || item.type === "message" || item.type === "function_call" ? [item] : []
        )
        const again = openai.responses.create({ ...request, input: [user, ...given, ...results] })
        assert.strictEqual((yield* Effect.promise(() => again)).output_text, "Looking.")
        const sent = JSON.parse((kind === "chat" ? north : south).received.at(-1)?.text ?? "")
        const roles = sent.messages.map(({ role }: { role: string }) => role)
        if (kind === "chat") {
          assert.deepStrictEqual(roles, ["user", "assistant", "tool", "tool"])
          assert.strictEqual(sent.messages[1].reasoning_content, "Let me see.")
        } else {
          assert.deepStrictEqual(roles, ["user", "assistant", "user"])
          assert.deepStrictEqual(sent.messages[1].content[0], {
            type: "thinking",
            thinking: "Let me see.",
            signature: "c2ln"
          })
        }
      })
    )

    it.effect(`The openai client sees a broken stream of a response as an error (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, openai } = yield* clients()
        let text = ""
        const error = yield* failed(async () => {
          const stream = await openai.responses.create({
            model: `${kind}-broken`,
            input: [user],
            stream: true
          })
          for await (const event of stream)
            if (event.type === "response.output_text.delta") text += event.delta
        })
        assert.instanceOf(error, OpenAIErrors.APIError)
        assert.strictEqual(member(error, "code"), "stream_failed")
        assert.isAbove(text.length, 0)
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n)
      })
    )

    it.effect(`The openai client may leave in the middle, and pays for its part (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, key, openai } = yield* clients()
        yield* Effect.promise(async () => {
          const stream = await openai.chat.completions.create({
            model: `${kind}-slow`,
            messages: [user],
            stream: true
          })
          let text = ""
          for await (const chunk of stream) {
            text += chunk.choices[0]?.delta.content ?? ""
            if (text.length > 4) break
          }
          stream.controller.abort()
        })
        const item = yield* settledCall(key)
        assert.strictEqual(member(item, "error"), "client_left")
        assert.strictEqual(member(item, "estimated"), true)
        assert.isAbove(Number(member(item, "cost")), 0)
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).held, 0n)
      })
    )

    it.effect(`The openai client sees a broken stream as an error (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, openai } = yield* clients()
        let text = ""
        const error = yield* failed(async () => {
          const stream = await openai.chat.completions.create({
            model: `${kind}-broken`,
            messages: [user],
            stream: true
          })
          for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ""
        })
        assert.instanceOf(error, OpenAIErrors.APIError)
        assert.strictEqual(member(error, "code"), "stream_failed")
        assert.isAbove(text.length, 0)
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n)
      })
    )
  }

  it.effect("The openai client gets its own kinds of errors, and does not repeat exhausted calls", () =>
    Effect.gen(function* () {
      const { openai } = yield* clients()
      const { url } = yield* TestServer
      const { north } = yield* Providers
      const ask = (model: string, more: object = {}) =>
        failed(() => openai.chat.completions.create({ model, messages: [user], ...more }))
      const unknown = yield* ask("nothing")
      assert.instanceOf(unknown, OpenAIErrors.BadRequestError)
      assert.strictEqual(unknown.code, "unknown_model")
      assert.strictEqual(unknown.param, "model")
      assert.include(unknown.message, 'There is no model "nothing": GET /api/v1/llm/v1/models lists them.')
      const huge = yield* ask("chat-plain", { max_tokens: 1_000_000 })
      assert.instanceOf(huge, OpenAIErrors.BadRequestError)
      assert.strictEqual(huge.param, "max_tokens")
      const negative = yield* ask("chat-plain", { max_tokens: -1 })
      assert.instanceOf(negative, OpenAIErrors.BadRequestError)
      assert.instanceOf(yield* ask("strict"), OpenAIErrors.UnprocessableEntityError)
      const other = new OpenAI({ baseURL: `${url}/api/v1/llm/v1`, apiKey: "aus_gw_wrong" })
      const stranger = yield* failed(() => other.models.list())
      assert.instanceOf(stranger, OpenAIErrors.AuthenticationError)
      const calls = north.received.length
      // A client that retries waits for the given time.
      const once = openai.withOptions({ maxRetries: 0 })
      const busy = yield* failed(() => once.chat.completions.create({ model: "busy", messages: [user] }))
      assert.instanceOf(busy, OpenAIErrors.RateLimitError)
      assert.strictEqual(busy.headers.get("retry-after"), "7")
      const down = yield* inTime(ask("down"), 25)
      assert.instanceOf(down, OpenAIErrors.InternalServerError)
      assert.strictEqual(down.status, 502)
      assert.isString(down.requestID)
      assert.strictEqual(north.received.length, calls + 4)
      const poor = yield* clients(0)
      const unpaid = yield* failed(() =>
        poor.openai.chat.completions.create({ model: "chat-plain", messages: [user] })
      )
      assert.instanceOf(unpaid, OpenAIErrors.APIError)
      assert.strictEqual(unpaid.status, 402)
      assert.strictEqual(unpaid.code, "insufficient_credit")
    })
  )

  it.effect("The openai client learns what would be right if a response cannot be made as requested", () =>
    Effect.gen(function* () {
      const { openai } = yield* clients()
      const ask = (more: object) =>
        Effect.map(
          failed(() => openai.responses.create({ model: "chat-plain", input: "Hello", ...more })),
          (error) => (error instanceof OpenAIErrors.APIError ? [error.status, error.code, error.param] : [])
        )
      assert.deepStrictEqual(yield* ask({ store: true }), [400, "invalid_request", "store"])
      assert.deepStrictEqual(yield* ask({ max_output_tokens: 5000 }), [
        400,
        "invalid_request",
        "max_output_tokens"
      ])
      assert.deepStrictEqual(yield* ask({ model: "vectors" }), [400, "invalid_request", "model"])
      const poor = yield* clients(1)
      const unpaid = yield* failed(() =>
        poor.openai.responses.create({ model: "chat-plain", input: "x".repeat(4700) })
      )
      if (!(unpaid instanceof OpenAIErrors.APIError)) return assert.fail(String(unpaid))
      assert.strictEqual(unpaid.status, 402)
      assert.match(unpaid.message, /lower max_output_tokens to \d+/)
    })
  )

  it.effect("The openai client gets embeddings, as the bytes that it requests by default or as numbers", () =>
    Effect.gen(function* () {
      const { agentId, openai } = yield* clients()
      const ask = (more: object) =>
        Effect.promise(() => openai.embeddings.create({ model: "vectors", input: ["a", "b"], ...more }))
      for (const more of [{}, { encoding_format: "float", dimensions: 3 }]) {
        const { data, model, usage } = yield* ask(more)
        assert.deepStrictEqual(
          data.map(({ embedding }) => embedding),
          [vector, vector]
        )
        assert.strictEqual(model, "vectors")
        assert.strictEqual(usage.prompt_tokens, 25)
      }
      // Two calls cost 25 x 0.0002 credits each.
      assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n - 10_000n)
      const generating = yield* failed(() => openai.embeddings.create({ model: "chat-plain", input: "a" }))
      if (!(generating instanceof OpenAIErrors.BadRequestError)) return assert.fail(String(generating))
      assert.strictEqual(generating.param, "model")
      assert.include(generating.message, "has no embeddings")
      const embedding = yield* failed(() =>
        openai.chat.completions.create({ model: "vectors", messages: [user] })
      )
      if (!(embedding instanceof OpenAIErrors.BadRequestError)) return assert.fail(String(embedding))
      assert.include(embedding.message, "generates nothing")
      const shown = yield* Effect.promise(() => openai.models.retrieve("vectors"))
      assert.strictEqual(member(shown, "capabilities", "embeddings", "supported"), true)
      assert.strictEqual(member(shown, "max_output_tokens"), null)
    })
  )

  it.effect("The openai client gets an error of its own kind for an unknown path", () =>
    Effect.gen(function* () {
      const { openai } = yield* clients()
      const error = yield* failed(() => openai.moderations.create({ input: "Hello" }))
      if (!(error instanceof OpenAIErrors.NotFoundError)) return assert.fail(String(error))
      assert.strictEqual(error.code, "not_found")
      assert.isString(error.requestID)
      assert.include(error.message, "chat/completions")
    })
  )

  it.effect("The openai client lists the models and finds one, also with a slash in its name", () =>
    Effect.gen(function* () {
      const { openai } = yield* clients()
      const listed = yield* Effect.promise(async () => {
        const ids: Array<string> = []
        for await (const { id } of openai.models.list()) ids.push(id)
        return ids
      })
      assert.deepStrictEqual(
        listed,
        models.map(({ name }) => name)
      )
      const found = yield* Effect.promise(() => openai.models.retrieve("acme/large-2"))
      assert.strictEqual(found.id, "acme/large-2")
      assert.strictEqual(member(found, "context_length"), 200_000)
      assert.instanceOf(yield* failed(() => openai.models.retrieve("nothing")), OpenAIErrors.NotFoundError)
    })
  )
})

layer(gatewayServer(models, {}, "usual"))("A program with the @anthropic-ai/sdk client", (it) => {
  for (const kind of kinds) {
    it.effect(`The Anthropic client is answered (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, anthropic } = yield* clients()
        const model = `${kind}-plain`
        const call = anthropic.messages.create({
          model,
          max_tokens: 50,
          messages: [user],
          system: "Be brief."
        })
        const { data, request_id, response } = yield* Effect.promise(() => call.withResponse())
        const [block] = data.content
        assert.strictEqual(block?.type === "text" ? block.text : "", answerText)
        assert.strictEqual(data.model, model)
        assert.strictEqual(data.stop_reason, "end_turn")
        assert.strictEqual(data.usage.output_tokens, 9)
        assert.strictEqual(request_id, response.headers.get("request-id"))
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n - 12_200n)
      })
    )

    it.effect(`The Anthropic client streams with tools and thinking, and answers (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { anthropic } = yield* clients()
        const request = {
          model: `${kind}-tools`,
          max_tokens: 50,
          tools: messagesTools,
          tool_choice: { type: "auto" as const }
        }
        const stream = anthropic.messages.stream({
          ...request,
          thinking: { type: "enabled", budget_tokens: 1024 },
          messages: [user]
        })
        const { content, model, stop_reason, usage } = yield* Effect.promise(() => stream.finalMessage())
        const native = kind === "messages"
        assert.strictEqual(model, request.model)
        assert.strictEqual(stop_reason, "tool_use")
        assert.strictEqual(usage.output_tokens, 50)
        assert.deepStrictEqual(JSON.parse(JSON.stringify(content)), [
          { type: "thinking", thinking: "Let me see.", signature: native ? "c2ln" : "" },
          { type: "text", text: "Looking." },
          { type: "tool_use", id: native ? "toolu_a" : "call_a", name: "look", input: { at: "fox" } },
          { type: "tool_use", id: native ? "toolu_b" : "call_b", name: "wait", input: {} }
        ])
        const results = content.flatMap((block) =>
          block.type === "tool_use"
            ? [{ type: "tool_result" as const, tool_use_id: block.id, content: "a fox" }]
            : []
        )
        const again = anthropic.messages.create({
          ...request,
          messages: [user, { role: "assistant", content }, { role: "user", content: results }]
        })
        assert.strictEqual((yield* Effect.promise(() => again)).stop_reason, "tool_use")
      })
    )

    it.effect(`The Anthropic client sees a broken stream as an error (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, anthropic } = yield* clients()
        const error = yield* failed(() =>
          anthropic.messages
            .stream({ model: `${kind}-broken`, max_tokens: 50, messages: [user] })
            .finalMessage()
        )
        assert.instanceOf(error, AnthropicErrors.APIError)
        assert.strictEqual(member(error, "type"), "api_error")
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n)
      })
    )

    it.effect(`The Anthropic client may leave in the middle, and pays for its part (provider: ${kind})`, () =>
      Effect.gen(function* () {
        const { agentId, anthropic, key } = yield* clients()
        yield* failed(async () => {
          const stream = anthropic.messages.stream({
            model: `${kind}-slow`,
            max_tokens: 50,
            messages: [user]
          })
          stream.on("text", () => stream.abort())
          await stream.finalMessage()
        })
        const item = yield* settledCall(key)
        assert.strictEqual(member(item, "error"), "client_left")
        assert.isAbove(Number(member(item, "cost")), 0)
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).held, 0n)
      })
    )
  }

  it.effect("The Anthropic client gets its own kinds of errors, and does not repeat exhausted calls", () =>
    Effect.gen(function* () {
      const { anthropic } = yield* clients()
      const { url } = yield* TestServer
      const { north } = yield* Providers
      const ask = (model: string, max_tokens = 50) =>
        failed(() => anthropic.messages.create({ model, max_tokens, messages: [user] }))
      const unknown = yield* ask("nothing")
      assert.instanceOf(unknown, AnthropicErrors.BadRequestError)
      assert.strictEqual(unknown.type, "invalid_request_error")
      assert.instanceOf(yield* ask("chat-plain", 5000), AnthropicErrors.BadRequestError)
      const other = new Anthropic({ baseURL: `${url}/api/v1/llm`, apiKey: "aus_gw_wrong" })
      assert.instanceOf(yield* failed(() => other.models.list()), AnthropicErrors.AuthenticationError)
      const calls = north.received.length
      const once = anthropic.withOptions({ maxRetries: 0 })
      const busy = yield* failed(() =>
        once.messages.create({ model: "busy", max_tokens: 50, messages: [user] })
      )
      assert.instanceOf(busy, AnthropicErrors.RateLimitError)
      assert.strictEqual(busy.headers.get("retry-after"), "7")
      const down = yield* inTime(ask("down"), 25)
      assert.instanceOf(down, AnthropicErrors.InternalServerError)
      assert.isString(down.requestID)
      assert.strictEqual(north.received.length, calls + 4)
    })
  )

  it.effect("The Anthropic client gets an error of its own kind for an unknown path", () =>
    Effect.gen(function* () {
      const { anthropic } = yield* clients()
      const error = yield* failed(() => anthropic.messages.batches.list())
      if (!(error instanceof AnthropicErrors.NotFoundError)) return assert.fail(String(error))
      assert.strictEqual(error.type, "not_found_error")
      assert.isString(error.requestID)
      assert.include(error.message, "v1/messages")
    })
  )

  it.effect("The Anthropic client counts the tokens of a prompt", () =>
    Effect.gen(function* () {
      const { anthropic } = yield* clients()
      const count = (content: string) =>
        anthropic.messages.countTokens({ model: "messages-plain", messages: [{ role: "user", content }] })
      const short = yield* Effect.promise(() => count("Where is the fox?"))
      const long = yield* Effect.promise(() => count("Where is the fox? ".repeat(100)))
      assert.isAbove(short.input_tokens, 4)
      assert.isAbove(long.input_tokens, 400)
    })
  )

  it.effect(
    "The Anthropic client pages through the models and finds one, also with a slash in its name",
    () =>
      Effect.gen(function* () {
        const { anthropic } = yield* clients()
        const listed = yield* Effect.promise(async () => {
          const ids: Array<string> = []
          for await (const { id } of anthropic.models.list({ limit: 5 })) ids.push(id)
          return ids
        })
        assert.deepStrictEqual(
          listed,
          models.map(({ name }) => name)
        )
        const found = yield* Effect.promise(() => anthropic.models.retrieve("acme/large-2"))
        assert.strictEqual(found.display_name, "acme/large-2")
        assert.deepStrictEqual([found.max_tokens, found.max_input_tokens], [100, 200_000])
        assert.strictEqual(found.capabilities?.image_input.supported, true)
        assert.strictEqual(found.capabilities?.thinking.supported, false)
        const plain = yield* Effect.promise(() => anthropic.models.retrieve("chat-plain"))
        assert.deepStrictEqual([plain.max_input_tokens, plain.capabilities], [null, null])
        assert.instanceOf(
          yield* failed(() => anthropic.models.retrieve("nothing")),
          AnthropicErrors.NotFoundError
        )
      })
  )
})

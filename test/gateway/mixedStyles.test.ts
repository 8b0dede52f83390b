/** Conversations whose turns came from providers of both styles: the turns that each provider gets. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { admit } from "../../src/layers/gateway/callBody.ts"
import { requestBody } from "../../src/layers/gateway/relay.ts"
import type { Target } from "../../src/layers/gateway/types.ts"
import type { Style } from "../../src/services/Gateway.ts"
import { chat, gatewayServer, message, Providers, spender } from "../support/gateway.ts"
import type { ProviderLines, TestModel } from "../support/gateway.ts"
import { endpointOf, toolCall } from "../support/providerStreams.ts"
import { member } from "../support/server.ts"
import { testTarget } from "../support/upstream.ts"
import type { Scripted } from "../support/upstream.ts"

/** The messages and the thinking that a provider gets. */
const sent = (style: Style, target: Partial<Target>, body: object) => {
  const admitted = Result.getOrThrow(
    admit(endpointOf[style], Buffer.from(JSON.stringify({ model: "m", ...body })))
  )
  const made = Result.getOrThrow(requestBody(admitted, { ...testTarget(style, "m"), ...target }))
  const { messages, thinking } = JSON.parse(typeof made === "string" ? made : Buffer.from(made).toString())
  return { messages, thinking, isSame: made === admitted.bytes }
}

const user = { role: "user", content: "Where is the fox?" }
const signed = { type: "thinking", thinking: "Hm.", signature: "c2ln" }
const redacted = { type: "redacted_thinking", data: "x" }
const unsigned = { type: "thinking", thinking: "Hm.", signature: "" }
const text = { type: "text", text: "Looking." }
const used = (id: string) => ({ type: "tool_use", id, name: "look", input: {} })
const result = (id: string) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: id, content: "a fox" }]
})
const enabled = { type: "enabled", budget_tokens: 1024 }

describe("A provider of messages", () => {
  const translated = (content: ReadonlyArray<object>, more: object = {}, target: Partial<Target> = {}) =>
    sent("anthropic", target, {
      max_tokens: 2000,
      messages: [user, { role: "assistant", content }, result("toolu_a")],
      ...more
    })

  it("A provider of messages gets its own thinking back byte for byte", () => {
    const { isSame } = translated([signed, redacted, text, used("toolu_a")], { thinking: enabled })
    assert.isTrue(isSame)
  })

  it("A provider of messages gets no unsigned thinking, and no turn that had nothing else", () => {
    assert.deepStrictEqual(translated([unsigned, text]).messages[1], { role: "assistant", content: [text] })
    assert.deepStrictEqual(translated([unsigned]).messages, [user, result("toolu_a")])
    assert.deepStrictEqual(translated([signed, unsigned, text]).messages[1].content, [signed, text])
  })

  it("A provider of messages gets no thinking at all once it has refused some of it", () => {
    const { messages } = translated([signed, redacted, text], {}, { isThinkingForeign: true })
    assert.deepStrictEqual(messages[1].content, [text])
  })

  it("A provider of messages is not asked to think in the middle of a turn that began without, since it would refuse", () => {
    const called = [text, used("call_a")]
    assert.isUndefined(translated(called, { thinking: enabled }).thinking)
    assert.isUndefined(translated([unsigned, used("toolu_a")], { thinking: enabled }).thinking)
    const foreign = translated([signed, used("toolu_a")], { thinking: enabled }, { isThinkingForeign: true })
    assert.isUndefined(foreign.thinking)
  })

  it("A provider of messages is asked to think wherever it accepts that: after its own turns, between turns, at will", () => {
    const kept: ReadonlyArray<readonly [ReadonlyArray<object>, object]> = [
      [[text, used("toolu_a")], { thinking: enabled }],
      [[signed, used("call_a")], { thinking: enabled }],
      [[text, used("call_a")], { thinking: { type: "adaptive" } }],
      [
        [text, used("call_a")],
        { thinking: enabled, messages: [user, { role: "assistant", content: [text] }, user] }
      ]
    ]
    for (const [content, more] of kept)
      assert.isTrue(translated(content, more).isSame, JSON.stringify(content))
  })
})

describe("A provider of chat completions", () => {
  const ownTurn = { role: "assistant", content: "Looking.", reasoning_content: "Hm." }
  const ours = { ...ownTurn, thinking_blocks: [signed] }
  const plain = { role: "assistant", content: "Looking." }
  const translated = (turn: object, reasoningContent: Target["reasoningContent"] = undefined) =>
    sent("openai", { reasoningContent }, { messages: [user, turn, user] })

  it("A provider of chat completions gets no thinking from a provider of messages, unless it wants that as a text", () => {
    assert.deepStrictEqual(translated(ours).messages[1], plain)
    assert.deepStrictEqual(translated(ours, "drop").messages[1], plain)
    assert.deepStrictEqual(translated(ours, "keep").messages[1], ownTurn)
  })

  it("A provider of chat completions gets reasoning of its style back, unless it refuses that", () => {
    assert.isTrue(translated(ownTurn).isSame)
    assert.isTrue(translated(ownTurn, "keep").isSame)
    assert.deepStrictEqual(translated(ownTurn, "drop").messages[1], plain)
  })

  it("A provider of chat completions gets the thinking from a client of messages if it wants it back", () => {
    const turns = [user, { role: "assistant", content: [unsigned, text] }, user]
    const body = { max_tokens: 10, messages: turns }
    assert.deepStrictEqual(sent("anthropic", { style: "openai" }, body).messages[1], plain)
    assert.deepStrictEqual(
      sent("anthropic", { style: "openai", reasoningContent: "keep" }, body).messages[1],
      ownTurn
    )
  })
})

describe("Identifiers of calls of tools", () => {
  const odd = ["functions.w:0", "functions_w_0", "", "ä", "x".repeat(65)]

  it("Identifiers of tool calls become valid in messages, each a different one, and equal for the call and its result", () => {
    const calls = odd.map((id) => toolCall(id, "look", "{}"))
    const { messages } = sent(
      "openai",
      { style: "anthropic" },
      {
        messages: [
          user,
          { role: "assistant", content: null, tool_calls: calls },
          ...odd.map((tool_call_id) => ({ role: "tool", tool_call_id, content: "a fox" }))
        ]
      }
    )
    const called: ReadonlyArray<string> = messages[1].content.map(({ id }: { id: string }) => id)
    assert.deepStrictEqual(
      messages[2].content.map(({ tool_use_id }: { tool_use_id: string }) => tool_use_id),
      called
    )
    assert.strictEqual(new Set(called).size, odd.length)
    assert.strictEqual(called[1], "functions_w_0")
    for (const id of called) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/)
  })

  it("Identifiers of tool calls become valid in chat completions, with at most 40 characters", () => {
    const long = `toolu_${"x".repeat(60)}`
    const { messages } = sent(
      "anthropic",
      { style: "openai" },
      {
        max_tokens: 10,
        messages: [user, { role: "assistant", content: [used(long), used("toolu_b")] }, result(long)]
      }
    )
    const [first, second] = messages[1].tool_calls
    assert.isAtMost(first.id.length, 40)
    assert.strictEqual(messages[2].tool_call_id, first.id)
    assert.strictEqual(second.id, "toolu_b")
  })
})

const models: ReadonlyArray<TestModel> = [
  {
    name: "mixed",
    routes: [
      { provider: "north", model: "mixed", priority: 1 },
      { provider: "south", model: "mixed", priority: 2 }
    ]
  }
]
const lines: ProviderLines = { north: "reasoning_content: drop" }

const chatTurn: Scripted = {
  body: {
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: null,
          reasoning_content: "Hm.",
          tool_calls: [toolCall("functions.w:0", "look", "{}")]
        },
        finish_reason: "tool_calls"
      }
    ],
    usage: { prompt_tokens: 5, completion_tokens: 5 }
  }
}
const messagesTurn: Scripted = {
  body: {
    type: "message",
    role: "assistant",
    content: [signed, used("toolu_a")],
    stop_reason: "tool_use",
    usage: { input_tokens: 5, output_tokens: 5 }
  }
}
const down: Scripted = { status: 404 }
const badSignature: Scripted = {
  status: 400,
  body: {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "messages.1.content.0: Invalid `signature` in `thinking` block"
    }
  }
}

layer(gatewayServer(models, {}, "usual", lines))("A conversation with a model of two styles", (it) => {
  it.effect("A conversation in messages goes on at a provider of messages when another fails", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north, south } = yield* Providers
      north.scripts.set("mixed", [chatTurn, down])
      south.scripts.set("mixed", [messagesTurn])
      const first = yield* message(key, { model: "mixed", thinking: enabled })
      const content = first.json["content"]
      const id = String(member(content, 1, "id"))
      assert.match(id, /^[A-Za-z0-9_-]+$/)
      const second = yield* message(key, {
        model: "mixed",
        thinking: enabled,
        messages: [user, { role: "assistant", content }, result(id)]
      })
      assert.strictEqual(second.status, 200, second.text)
      const body = JSON.parse(south.received.at(-1)?.text ?? "")
      assert.deepStrictEqual(body.messages[1].content, [used(id)])
      assert.isUndefined(body.thinking)
    })
  )

  it.effect("A conversation in chat completions goes on at a provider that refuses unknown members", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north, south } = yield* Providers
      north.received.length = 0
      south.received.length = 0
      north.scripts.set("mixed", [down, chatTurn])
      south.scripts.set("mixed", [messagesTurn])
      const first = yield* chat(key, { model: "mixed" })
      const turn = member(first.json, "choices", 0, "message")
      assert.strictEqual(member(turn, "reasoning_content"), "Hm.")
      const answered = { role: "tool", tool_call_id: "toolu_a", content: "a fox" }
      const second = yield* chat(key, { model: "mixed", messages: [user, turn, answered] })
      assert.strictEqual(second.status, 200, second.text)
      const body = JSON.parse(north.received.at(-1)?.text ?? "")
      assert.notProperty(body.messages[1], "thinking_blocks")
      assert.notProperty(body.messages[1], "reasoning_content")
    })
  )

  it.effect("A conversation goes on without its thinking if a provider says that another signed it", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north, south } = yield* Providers
      north.scripts.set("mixed", [down])
      south.received.length = 0
      south.scripts.set("mixed", [badSignature, messagesTurn])
      const turns = [user, { role: "assistant", content: [signed, used("toolu_a")] }, result("toolu_a")]
      const answer = yield* message(key, { model: "mixed", thinking: enabled, messages: turns })
      assert.strictEqual(answer.status, 200, answer.text)
      const [first, second] = south.received.map((each) => JSON.parse(each.text))
      assert.deepStrictEqual(first.messages[1].content[0], signed)
      assert.deepStrictEqual(second.messages[1].content, [used("toolu_a")])
      // The provider is not tried a third time.
      south.received.length = 0
      south.scripts.set("mixed", [badSignature])
      assert.strictEqual((yield* message(key, { model: "mixed", messages: turns })).status, 400)
      assert.lengthOf(south.received, 2)
    })
  )
})

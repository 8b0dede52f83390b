/** Answers of a provider of one style for a client of the other: whole answers and streams. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { isObject, textOf } from "../../src/layers/gateway/json.ts"
import { readAnswer } from "../../src/layers/gateway/relay.ts"
import { jsonTool } from "../../src/layers/gateway/translate/messagesRequest.ts"
import { plainUsage } from "../../src/layers/gateway/usage.ts"
import type { Style } from "../../src/services/Gateway.ts"
import {
  blockDelta,
  blockStart,
  blockStop,
  chatText,
  chatTools,
  chatUsage,
  cut,
  dataIn,
  delta,
  frameOf,
  messageDelta,
  messagesText,
  messagesTools,
  messageStart,
  messageStop,
  optionsOf,
  readAll,
  readWhole,
  toolCall
} from "../support/providerStreams.ts"

const answered = (clientStyle: Style, providerStyle: Style, body: object) =>
  readWhole(optionsOf(clientStyle, providerStyle), body)

const completion = (answer: object, finish_reason: string) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "swift-1-0613",
  choices: [{ index: 0, message: { role: "assistant", ...answer }, logprobs: null, finish_reason }],
  usage: chatUsage
})

const answer = (content: ReadonlyArray<object>, stop_reason: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "swift-1-0613",
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 25, output_tokens: 50 }
})

describe("A whole answer", () => {
  it("An answer of the same style keeps its bytes, or all but the model if that differs", () => {
    const text = JSON.stringify(completion({ content: '"model":"swift-1-0613"' }, "stop"), null, 2)
    const { bytes } = Result.getOrThrow(readAnswer(Buffer.from(text), optionsOf("openai", "openai")))
    assert.strictEqual(
      Buffer.from(bytes).toString(),
      JSON.stringify({ ...completion({ content: '"model":"swift-1-0613"' }, "stop"), model: "swift-1" })
    )
    const same = Result.getOrThrow(
      readAnswer(Buffer.from(text), optionsOf("openai", "openai", { model: "swift-1-0613" }))
    )
    assert.strictEqual(Buffer.from(same.bytes).toString(), text)
  })

  it("An answer of messages is a chat completion with its text, thinking, tools and usage", () => {
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "text", text: "Loo" },
      { type: "text", text: "king." },
      { type: "tool_use", id: "toolu_a", name: "look", input: { at: "fox" } }
    ]
    const { body, usage } = answered("openai", "anthropic", answer(content, "tool_use"))
    assert.deepStrictEqual(usage, plainUsage(25, 50))
    assert.deepStrictEqual(body, {
      id: "chatcmpl-msg_1",
      object: "chat.completion",
      created: 1_700_000_001,
      model: "swift-1",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "Looking.",
            refusal: null,
            reasoning_content: "Hm.",
            thinking_blocks: [content[0]],
            tool_calls: [toolCall("toolu_a", "look", '{"at":"fox"}')]
          },
          logprobs: null,
          finish_reason: "tool_calls"
        }
      ],
      usage: {
        ...chatUsage,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 }
      }
    })
  })

  it("An answer of messages in JSON without a schema is the input of the tool that stands for it", () => {
    const json = { type: "tool_use", id: "toolu_a", name: jsonTool.name, input: { at: "fox" } }
    const look = { type: "tool_use", id: "toolu_b", name: "look", input: {} }
    const choiceOf = (content: ReadonlyArray<object>, asksJson: boolean) => {
      const options = optionsOf("openai", "anthropic", { asksJson })
      const [{ finish_reason, message }] = readWhole(options, answer(content, "tool_use")).body.choices
      return { finish_reason, content: message.content, calls: message.tool_calls?.length }
    }
    const text = '{"at":"fox"}'
    assert.deepStrictEqual(choiceOf([json], true), { finish_reason: "stop", content: text, calls: undefined })
    assert.deepStrictEqual(choiceOf([look], true), { finish_reason: "tool_calls", content: null, calls: 1 })
    assert.deepStrictEqual(choiceOf([json], false), { finish_reason: "tool_calls", content: null, calls: 1 })
  })

  it("An answer of chat completions is a message with its text, reasoning, tools and usage", () => {
    const message = {
      content: "Looking.",
      reasoning_content: "Hm.",
      tool_calls: [toolCall("call_a", "look", '{"at":"fox"}')]
    }
    const { body, usage } = answered("anthropic", "openai", completion(message, "tool_calls"))
    assert.deepStrictEqual(usage, plainUsage(25, 50))
    assert.deepStrictEqual(body, {
      ...answer(
        [
          { type: "thinking", thinking: "Hm.", signature: "" },
          { type: "text", text: "Looking." },
          { type: "tool_use", id: "call_a", name: "look", input: { at: "fox" } }
        ],
        "tool_use"
      ),
      id: "msg_chatcmpl-1",
      model: "swift-1",
      usage: {
        input_tokens: 25,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 50
      }
    })
  })

  const reasons: ReadonlyArray<readonly [chat: string, messages: string]> = [
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["tool_calls", "tool_use"],
    ["content_filter", "refusal"]
  ]
  for (const [finish, stop] of reasons) {
    it(`An answer that ended by ${stop} in messages ended by ${finish} in chat completions`, () => {
      assert.strictEqual(
        answered("openai", "anthropic", answer([], stop)).body.choices[0].finish_reason,
        finish
      )
      assert.strictEqual(
        answered("anthropic", "openai", completion({ content: "a" }, finish)).body.stop_reason,
        stop
      )
    })
  }

  it("An answer without usage comes with all its text for counting", () => {
    const { usage: _, ...rest } = completion({ content: "abc", reasoning_content: "r" }, "stop")
    const { generated, usage } = answered("openai", "openai", rest)
    assert.isUndefined(usage)
    assert.strictEqual(generated, "abcr")
  })

  it("An answer is told from a body that is none", () => {
    for (const body of ["", "<html>", "[]", "{}", '{"error":{"message":"x"}}', '{"choices":[]}']) {
      assert.isTrue(Result.isFailure(readAnswer(Buffer.from(body), optionsOf("openai", "openai"))), body)
    }
  })
})

const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 }))).check(
  Schema.isBetweenLength(1, 8)
)

const chatChunk = (rest: object) => ({
  id: "chatcmpl-msg_1",
  object: "chat.completion.chunk",
  created: 1_700_000_001,
  model: "swift-1",
  ...rest
})
const chatDelta = (change: object, finish_reason: string | null = null) =>
  chatChunk({ choices: [{ index: 0, delta: change, logprobs: null, finish_reason }] })
const calledIn = (index: number, rest: object) => chatDelta({ tool_calls: [{ index, ...rest }] })
const first = { role: "assistant", content: "", refusal: null }

describe("A stream of messages for a client of chat completions", () => {
  it("A translated stream of messages has its text and usage", () => {
    const { text } = readAll(optionsOf("openai", "anthropic"), messagesText)
    assert.deepStrictEqual(dataIn(text), [
      chatDelta(first),
      chatDelta({ content: "Grüße " }),
      chatDelta({ content: '\u{1f98a} "model":"x"' }),
      chatDelta({}, "stop"),
      chatChunk({
        choices: [],
        usage: {
          ...chatUsage,
          prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
          completion_tokens_details: { reasoning_tokens: 0 }
        }
      }),
      "[DONE]"
    ])
  })

  it("A translated stream of messages has no usage if none was requested", () => {
    const { reader, text } = readAll(optionsOf("openai", "anthropic", { asksUsage: false }), messagesText)
    assert.notInclude(text, "usage")
    assert.deepStrictEqual(reader.usage(), { ...plainUsage(25, 50), cached: 3, written: 2 })
  })

  it("A translated stream of messages has its thinking, with the signature, and its tools, also without arguments", () => {
    const { text } = readAll(optionsOf("openai", "anthropic", { asksUsage: false }), messagesTools)
    const block = { index: 0, type: "thinking", thinking: "Let me see.", signature: "c2ln" }
    assert.deepStrictEqual(dataIn(text), [
      chatDelta(first),
      chatDelta({ reasoning_content: "Let me " }),
      chatDelta({ reasoning_content: "see." }),
      chatDelta({ thinking_blocks: [block] }),
      chatDelta({ content: "Looking." }),
      calledIn(0, { id: "toolu_a", type: "function", function: { name: "look", arguments: "" } }),
      calledIn(0, { function: { arguments: '{"at":' } }),
      calledIn(0, { function: { arguments: '"fox"}' } }),
      calledIn(1, { id: "toolu_b", type: "function", function: { name: "wait", arguments: "" } }),
      calledIn(1, { function: { arguments: "{}" } }),
      chatDelta({}, "tool_calls"),
      "[DONE]"
    ])
  })

  it("A translated stream of messages in JSON without a schema is the input of the tool that stands for it", () => {
    const start = blockStart(0, { type: "tool_use", id: "toolu_a", name: jsonTool.name, input: {} })
    const options = optionsOf("openai", "anthropic", { asksJson: true, asksUsage: false })
    const parts = ['{"at":', '"fox"}'].map((partial_json) =>
      blockDelta(0, { type: "input_json_delta", partial_json })
    )
    const end = [blockStop(0), messageDelta("tool_use"), messageStop]
    assert.deepStrictEqual(dataIn(readAll(options, [messageStart, start, ...parts, ...end]).text), [
      chatDelta(first),
      chatDelta({ content: '{"at":' }),
      chatDelta({ content: '"fox"}' }),
      chatDelta({}, "stop"),
      "[DONE]"
    ])
    assert.deepStrictEqual(
      dataIn(readAll(options, [messageStart, start, ...end]).text)[1],
      chatDelta({ content: "{}" })
    )
  })

  it("A translated stream of messages ends its role chunk before content", () => {
    const piece = readAll(optionsOf("openai", "anthropic"), [
      messageStart,
      blockStart(0, { type: "text", text: "" })
    ])
    assert.deepStrictEqual(dataIn(piece.text), [chatDelta(first)])
    assert.isFalse(piece.last.content)
  })

  it.prop("A translated stream of messages is the same however its bytes are cut", [Sizes], ([sizes]) => {
    for (const frames of [messagesText, messagesTools]) {
      const options = optionsOf("openai", "anthropic")
      assert.strictEqual(readAll(options, cut(frames.join(""), sizes)).text, readAll(options, frames).text)
    }
  })
})

describe("A stream of chat completions for a client of messages", () => {
  const zero = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0
  }
  const begin = {
    type: "message_start",
    message: {
      id: "msg_chatcmpl-1",
      type: "message",
      role: "assistant",
      model: "swift-1",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: zero
    }
  }
  const started = (index: number, content_block: object) => ({
    type: "content_block_start",
    index,
    content_block
  })
  const changed = (index: number, change: object) => ({ type: "content_block_delta", index, delta: change })
  const stopped = (index: number) => ({ type: "content_block_stop", index })
  const ended = (stop_reason: string, usage: object) => [
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { ...zero, ...usage } },
    { type: "message_stop" }
  ]

  it("A translated stream of chat completions has its text, and its usage at the end", () => {
    const { text } = readAll(optionsOf("anthropic", "openai"), chatText)
    assert.deepStrictEqual(dataIn(text), [
      begin,
      started(0, { type: "text", text: "" }),
      changed(0, { type: "text_delta", text: "Grüße " }),
      changed(0, { type: "text_delta", text: '\u{1f98a} "model":"x"' }),
      stopped(0),
      ...ended("end_turn", { input_tokens: 25, output_tokens: 50 })
    ])
  })

  it("A translated stream of chat completions has every event by its name", () => {
    const { text } = readAll(optionsOf("anthropic", "openai"), chatText)
    for (const frame of text.trim().split("\n\n")) {
      const [event = "", data = ""] = frame.split("\n")
      assert.strictEqual(event.slice(7), JSON.parse(data.slice(6)).type)
    }
  })

  it("A translated stream of chat completions has its reasoning and its tools, block after block", () => {
    const { text } = readAll(optionsOf("anthropic", "openai"), chatTools)
    assert.deepStrictEqual(dataIn(text), [
      begin,
      started(0, { type: "thinking", thinking: "", signature: "" }),
      changed(0, { type: "thinking_delta", thinking: "Let me " }),
      changed(0, { type: "thinking_delta", thinking: "see." }),
      stopped(0),
      started(1, { type: "text", text: "" }),
      changed(1, { type: "text_delta", text: "Looking." }),
      stopped(1),
      started(2, { type: "tool_use", id: "call_a", name: "look", input: {} }),
      changed(2, { type: "input_json_delta", partial_json: '{"at":' }),
      changed(2, { type: "input_json_delta", partial_json: '"fox"}' }),
      stopped(2),
      started(3, { type: "tool_use", id: "call_b", name: "wait", input: {} }),
      changed(3, { type: "input_json_delta", partial_json: "{}" }),
      stopped(3),
      ...ended("tool_use", { input_tokens: 20, cache_read_input_tokens: 5, output_tokens: 50 })
    ])
  })

  it("A translated stream of chat completions keeps the mixed arguments of tools apart", () => {
    const part = (index: number, args: string, head: object = {}) =>
      delta({
        tool_calls: [
          { index, ...head, function: { ...(args === "" ? { name: `f${index}` } : {}), arguments: args } }
        ]
      })
    const mixed = [
      part(0, "", { id: "a" }),
      part(1, "", { id: "b" }),
      part(0, '{"x":'),
      part(1, '{"y":'),
      delta({ content: "meanwhile" }),
      part(0, "1}"),
      part(1, "2}"),
      delta({}, "tool_calls"),
      frameOf("[DONE]")
    ]
    const { text } = readAll(optionsOf("anthropic", "openai"), mixed)
    const inputs = ["", "", ""]
    const order: Array<unknown> = []
    for (const each of dataIn(text).filter(isObject)) {
      const change = isObject(each.delta) ? textOf(each.delta.partial_json) : ""
      if (typeof each.index === "number") inputs[each.index] += change
      if (each.type === "content_block_start" || each.type === "content_block_stop") order.push(each.index)
    }
    assert.deepStrictEqual(order, [0, 0, 1, 1, 2, 2])
    assert.deepStrictEqual(inputs, ['{"x":1}', '{"y":2}', ""])
  })

  it("A translated stream of chat completions ends well when the provider leaves out [DONE]", () => {
    const { last, text } = readAll(optionsOf("anthropic", "openai"), [
      delta({ content: "a" }),
      delta({}, "length")
    ])
    assert.isTrue(last.finished)
    assert.deepStrictEqual(dataIn(text).slice(-2), ended("max_tokens", {}))
  })

  it.prop(
    "A translated stream of chat completions is the same however its bytes are cut",
    [Sizes],
    ([sizes]) => {
      for (const frames of [chatText, chatTools]) {
        const options = optionsOf("anthropic", "openai")
        assert.strictEqual(readAll(options, cut(frames.join(""), sizes)).text, readAll(options, frames).text)
      }
    }
  )

  it.prop(
    "A stream translated there and back has the same text",
    [Schema.Array(Schema.String.check(Schema.isNonEmpty())).check(Schema.isBetweenLength(1, 6)), Sizes],
    ([texts, sizes]) => {
      const frames = [
        messageStart,
        blockStart(0, { type: "text", text: "" }),
        ...texts.map((text) => blockDelta(0, { type: "text_delta", text })),
        ...messagesText.slice(-3)
      ]
      const there = readAll(optionsOf("openai", "anthropic"), cut(frames.join(""), sizes)).text
      const back = readAll(optionsOf("anthropic", "openai"), cut(there, sizes))
      assert.strictEqual(back.reader.generated(), texts.join(""))
      assert.deepStrictEqual(back.reader.usage(), { ...plainUsage(25, 50), cached: 3, written: 2 })
      const again = readAll(optionsOf("anthropic", "anthropic"), [back.text])
      assert.strictEqual(again.reader.generated(), texts.join(""))
      assert.isTrue(again.last.finished)
    }
  )
})

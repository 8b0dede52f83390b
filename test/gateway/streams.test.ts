/** Streams of providers: cut anywhere, parsed, and forwarded to clients of the same style. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { streamReader } from "../../src/layers/gateway/relay.ts"
import { plainUsage } from "../../src/layers/gateway/usage.ts"
import type { Style } from "../../src/services/Gateway.ts"
import {
  blockDelta,
  blockStart,
  chatText,
  chatTools,
  chatUsage,
  chunk,
  cut,
  delta,
  frameOf,
  messageDelta,
  messagesText,
  messagesTools,
  messageStart,
  messageStop,
  optionsOf,
  ping,
  readAll
} from "../support/providerStreams.ts"

const streams = {
  openai: [chatText, chatTools],
  anthropic: [messagesText, messagesTools]
} as const

const styles: ReadonlyArray<Style> = ["openai", "anthropic"]

const withReturns = (text: string): string => text.replaceAll("\n", "\r\n")
const withBareReturns = (text: string): string => text.replaceAll("\n", "\r")
const renamed = (text: string): string => text.replaceAll("swift-1-0613", "swift-1")

const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))).check(
  Schema.isBetweenLength(1, 8)
)

describe("A stream for a client of its own style", () => {
  for (const style of styles) {
    for (const [which, frames] of streams[style].entries()) {
      it(`A stream comes as it was sent, but for the model (${style}, ${which})`, () => {
        const { last, text } = readAll(optionsOf(style, style), frames)
        assert.strictEqual(text, renamed(frames.join("")))
        assert.isTrue(last.finished)
        assert.isTrue(last.content)
        assert.isUndefined(last.fault)
      })

      it(`A stream comes byte for byte if the model has the same name (${style}, ${which})`, () => {
        const { text } = readAll(optionsOf(style, style, { model: "swift-1-0613" }), frames)
        assert.strictEqual(text, frames.join(""))
      })

      for (const [lines, written] of Object.entries({ LF: String, CRLF: withReturns, CR: withBareReturns })) {
        it.prop(
          `A stream is the same however its bytes are cut (${style}, ${which}, ${lines})`,
          [Sizes],
          ([sizes]) => {
            const options = optionsOf(style, style, { model: "swift-1-0613" })
            const whole = written(frames.join(""))
            const { last, reader, text } = readAll(options, cut(whole, sizes))
            assert.strictEqual(text.trim(), whole.trim())
            assert.deepInclude(reader.usage(), { prompt: 25, completion: 50 })
            assert.isTrue(last.finished)
          }
        )
      }
    }
  }

  it("A stream has the client's model in every chunk, wherever the provider writes it", () => {
    const odd = [
      '{"choices":[{"index":0,"delta":{"content":"a","model":"inner"},"finish_reason":"stop"}],"model": "north-9"}',
      '{"model" : "north-9","choices":[]}',
      '{"id":"{","model":"north-9","choices":[]}',
      String.raw`{"\u006dodel":"north-9","choices":[]}`
    ]
    const { text } = readAll(optionsOf("openai", "openai"), [
      ...odd.map((data) => frameOf(data)),
      frameOf("[DONE]")
    ])
    assert.notInclude(text, "north-9")
    assert.strictEqual(text.match(/"swift-1"/g)?.length, 4)
    assert.include(text, '"model":"inner"')
  })

  it("A stream hides the usage that only the gateway requested", () => {
    const { reader, text } = readAll(optionsOf("openai", "openai", { asksUsage: false }), chatText)
    assert.notInclude(text, '"usage":{')
    assert.include(text, "[DONE]")
    assert.deepStrictEqual(reader.usage(), plainUsage(25, 50))
  })

  it("A stream keeps comments and data of several lines", () => {
    const sent = `: keep-alive\n\ndata: {"model":"swift-1-0613",\ndata: "choices":[{"delta":{"content":"a"}}]}\n\n`
    const same = readAll(optionsOf("openai", "openai", { model: "swift-1-0613" }), [sent])
    assert.strictEqual(same.text, sent)
    const { text } = readAll(optionsOf("openai", "openai"), [sent])
    assert.strictEqual(
      text,
      ': keep-alive\n\ndata: {"model":"swift-1","choices":[{"delta":{"content":"a"}}]}\n\n'
    )
  })

  it("A stream ends well without the last blank line", () => {
    const { last } = readAll(optionsOf("openai", "openai"), [delta({ content: "a" }), "data: [DONE]\n"])
    assert.isTrue(last.finished)
  })
})

describe("The beginning of content", () => {
  const begins: Readonly<
    Record<Style, ReadonlyArray<readonly [name: string, frame: string, content: boolean]>>
  > = {
    openai: [
      ["does not begin with a role", delta({ role: "assistant", content: "" }), false],
      ["does not begin with a comment", ": waiting\n\n", false],
      ["does not begin with a chunk without choices", chunk({ choices: [] }), false],
      ["begins with text", delta({ content: "a" }), true],
      ["begins with reasoning", delta({ reasoning_content: "a" }), true],
      ["begins with reasoning by its other name", delta({ reasoning: "a" }), true],
      ["begins with a refusal", delta({ refusal: "no" }), true],
      ["begins with a tool", delta({ tool_calls: [{ index: 0, function: { name: "f" } }] }), true]
    ],
    anthropic: [
      ["does not begin with message_start", messageStart, false],
      ["does not begin with a ping", ping, false],
      ["does not begin with an empty block", blockStart(0, { type: "text", text: "" }), false],
      ["does not begin with an empty delta", blockDelta(0, { type: "text_delta", text: "" }), false],
      ["begins with text of messages", blockDelta(0, { type: "text_delta", text: "a" }), true],
      ["begins with thinking", blockDelta(0, { type: "thinking_delta", thinking: "a" }), true],
      ["begins with input of a tool", blockDelta(0, { type: "input_json_delta", partial_json: "{" }), true],
      [
        "begins with a block of a tool",
        blockStart(0, { type: "tool_use", id: "t", name: "f", input: {} }),
        true
      ]
    ]
  }
  for (const style of styles) {
    it.for(begins[style])("Content %s", ([, frame, content]) => {
      for (const clientStyle of styles) {
        const reader = streamReader(optionsOf(clientStyle, style))
        assert.strictEqual(reader.push(Buffer.from(frame)).content, content)
      }
    })
  }
})

describe("A failure of a stream", () => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
  const fails: Readonly<
    Record<Style, ReadonlyArray<readonly [name: string, frame: string, kind: string, busy: boolean]>>
  > = {
    openai: [
      [
        "by an error in the stream of chat completions",
        frameOf({ error: { message: "x", code: "mock" } }),
        "error_event",
        false
      ],
      [
        "by a limit that it reports",
        frameOf({ error: { type: "rate_limit_exceeded" } }),
        "error_event",
        true
      ],
      ["by an error that is a text", frameOf({ error: "boom" }), "error_event", false],
      ["by an error with a status", frameOf({ error: { code: 503, message: "x" } }), "error_event", true],
      ["by data that are no JSON", "data: <html>\n\n", "malformed", false],
      ["by data that are no object", "data: 7\n\n", "malformed", false],
      ["by a page instead of events", "<html>\n<body>\n\n", "malformed", false]
    ],
    anthropic: [
      ["by an error event of messages", frameOf(overloaded, "error"), "error_event", true],
      ["by an error event without its type", frameOf({ message: "x" }, "error"), "error_event", false]
    ]
  }
  for (const style of styles) {
    it.for(fails[style])("A stream fails %s, and nothing of it is shown", ([, frame, kind, busy]) => {
      const { bytes, fault } = streamReader(optionsOf(style, style)).push(Buffer.from(frame + frame))
      assert.strictEqual(fault?.kind, kind)
      assert.strictEqual(fault?.busy, busy)
      assert.strictEqual(bytes.length, 0)
    })
  }

  it("A stream that fails after content shows the content", () => {
    const piece = streamReader(optionsOf("openai", "openai")).push(
      Buffer.from(delta({ content: "a" }) + frameOf({ error: { message: "x" } }))
    )
    assert.isTrue(piece.content)
    assert.isDefined(piece.fault)
    assert.include(Buffer.from(piece.bytes).toString(), '"content":"a"')
  })

  it("A stream fails when a frame does not end within 10 MiB", () => {
    const reader = streamReader(optionsOf("openai", "openai"))
    const part = Buffer.alloc(1024 * 1024, "x")
    const pieces = [Buffer.from("data: "), ...Array.from({ length: 10 }, () => part)].map(reader.push)
    assert.strictEqual(pieces.at(-1)?.fault?.kind, "malformed")
    assert.isUndefined(pieces.at(-2)?.fault)
  })

  it("A frame of 9 MB, in chunks of any size, does not fail a stream", () => {
    const text = "x".repeat(9_000_000)
    const { last, reader } = readAll(
      optionsOf("openai", "openai"),
      cut(delta({ content: text }, "stop"), [65_536])
    )
    assert.isUndefined(last.fault)
    assert.strictEqual(reader.generated().length, text.length)
  })

  it("An error after the end does not fail a stream", () => {
    const { last } = readAll(optionsOf("openai", "openai"), [...chatText, frameOf({ error: "late" })])
    assert.isUndefined(last.fault)
    assert.isTrue(last.finished)
  })

  const halves: ReadonlyArray<readonly [name: string, style: Style, frames: ReadonlyArray<string>]> = [
    ["half a stream of chat completions", "openai", chatText.slice(0, 3)],
    ["half a frame", "openai", [delta({ content: "a" }), 'data: {"choices":[{"finish_reason":"st']],
    ["messages without message_stop", "anthropic", messagesText.slice(0, -1)],
    ["empty", "openai", []]
  ]
  for (const [name, style, frames] of halves) {
    it(`A stream that is ${name} has no end`, () => {
      for (const clientStyle of styles) {
        const { last, text } = readAll(optionsOf(clientStyle, style), frames)
        assert.isFalse(last.finished)
        assert.notInclude(text, "[DONE]")
        assert.notInclude(text, "message_stop")
      }
    })
  }

  it("A stream with a finish_reason and no [DONE] does not fail", () => {
    const { last } = readAll(optionsOf("openai", "openai"), [delta({ content: "a" }), delta({}, "stop")])
    assert.isTrue(last.finished)
  })
})

describe("Usage of a stream", () => {
  const usageOf = (style: Style, frames: ReadonlyArray<string>) =>
    readAll(optionsOf(style, style), frames).reader.usage()

  it("Usage that is reported more than once is the larger of each member", () => {
    const twice = [
      chunk({ choices: [], usage: chatUsage }),
      chunk({ choices: [], usage: { ...chatUsage, completion_tokens: 60 } })
    ]
    assert.deepStrictEqual(usageOf("openai", [...chatText.slice(0, 4), ...twice]), plainUsage(25, 60))
    const deltas = [
      messageDelta("end_turn", { output_tokens: 10 }),
      messageDelta("end_turn", { output_tokens: 60 })
    ]
    assert.deepStrictEqual(usageOf("anthropic", [messageStart, ...deltas, messageStop]), {
      ...plainUsage(25, 60),
      cached: 3,
      written: 2
    })
  })

  it("Usage is unknown if it was not reported, or in a form that makes no sense", () => {
    for (const usage of [
      undefined,
      null,
      {},
      { prompt_tokens: 25 },
      { prompt_tokens: -1, completion_tokens: 5 },
      { prompt_tokens: 1.5, completion_tokens: 5 }
    ]) {
      assert.isUndefined(
        usageOf("openai", [delta({ content: "a" }), chunk({ choices: [], usage }), frameOf("[DONE]")])
      )
    }
    assert.isUndefined(usageOf("anthropic", [messageStart, messageDelta("end_turn", {}), messageStop]))
  })

  it("Usage has the prompt's tokens of messages at once, for a client that leaves", () => {
    const { reader } = readAll(optionsOf("anthropic", "anthropic"), messagesText.slice(0, 4))
    assert.isUndefined(reader.usage())
    assert.strictEqual(reader.prompt()?.prompt, 25)
    assert.strictEqual(reader.generated(), "Grüße ")
  })

  it("Usage counts tokens written to or read from a cache among the prompt's", () => {
    assert.deepStrictEqual(usageOf("anthropic", messagesText), {
      ...plainUsage(25, 50),
      cached: 3,
      written: 2
    })
  })

  it("Usage counts reasoning that a provider shows only in the total", () => {
    const usage = {
      prompt_tokens: 25,
      completion_tokens: 10,
      total_tokens: 75,
      completion_tokens_details: { reasoning_tokens: 40 }
    }
    assert.deepStrictEqual(usageOf("openai", [chunk({ choices: [], usage })]), {
      ...plainUsage(25, 50),
      reasoning: 40
    })
  })

  it("A stream keeps all generated text, for counting", () => {
    assert.strictEqual(
      readAll(optionsOf("openai", "openai"), chatTools).reader.generated(),
      'Let me see.Looking.look{"at":"fox"}wait{}'
    )
    assert.strictEqual(
      readAll(optionsOf("anthropic", "anthropic"), messagesTools).reader.generated(),
      'Let me see.Looking.look{"at":"fox"}wait'
    )
  })
})

describe("A stream of several answers", () => {
  const finish = (index: number) => chunk({ choices: [{ index, delta: {}, finish_reason: "stop" }] })
  const word = (index: number) =>
    chunk({ choices: [{ index, delta: { content: "a" }, finish_reason: null }] })
  const two = optionsOf("openai", "openai", { choices: 2 })

  it("A stream of several answers is complete when each of them is, or when it says so", () => {
    assert.isFalse(readAll(two, [word(0), word(1), finish(0)]).last.finished)
    assert.isFalse(readAll(two, [word(0), finish(0), finish(0)]).last.finished)
    assert.isTrue(readAll(two, [word(0), finish(0), word(1), finish(1)]).last.finished)
    assert.isTrue(readAll(two, [word(0), finish(0), "data: [DONE]\n\n"]).last.finished)
  })

  it("A stream of several answers fails by an error between them", () => {
    const error = 'data: {"error":{"message":"overloaded"}}\n\n'
    assert.strictEqual(readAll(two, [word(0), finish(0), error]).last.fault?.kind, "error_event")
  })
})

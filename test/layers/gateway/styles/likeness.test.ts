/** Frames that are recognised by their bytes say and show what they would if they were parsed. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { frameSplitter } from "../../../../src/layers/gateway/styles/frames.ts"
import { likenessOf } from "../../../../src/layers/gateway/styles/likeness.ts"
import type { Alike } from "../../../../src/layers/gateway/styles/likeness.ts"
import { nativeChat, nativeMessages } from "../../../../src/layers/gateway/styles/nativeStream.ts"
import type { Style } from "../../../../src/layers/gateway/styles/types.ts"
import {
  chatUnderstanding,
  messagesUnderstanding
} from "../../../../src/layers/gateway/styles/understanding.ts"
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
} from "../../../support/providerStreams.ts"

/** What is recognised of the second frame by the first, which generated this text. */
const recognised = (
  style: Style,
  first: string,
  text: string,
  second: string | Uint8Array
): Alike | undefined => {
  const options = optionsOf(style, style)
  const [frame] = frameSplitter().push(Buffer.from(first))
  assert.isDefined(frame)
  const likeness = likenessOf(
    frame,
    text,
    () => (style === "openai" ? chatUnderstanding(1) : messagesUnderstanding()),
    style === "openai" ? nativeChat(options) : nativeMessages(options)
  )
  return likeness?.(Buffer.from(second), 0)
}

const said = (content: string) => delta({ content })
const written = (literal: string) => said("a").replace('"content":"a"', `"content":${literal}`)

describe("A frame is recognised by the one before it", () => {
  it("when only its text is another, and gets its model back", () => {
    const alike = recognised("openai", said("a"), "a", said("fox [{ model"))
    assert.strictEqual(alike?.text, "fox [{ model")
    assert.strictEqual(alike?.bytes.toString(), said("fox [{ model").replace("swift-1-0613", "swift-1"))
    assert.strictEqual(alike?.end, said("fox [{ model").length)
  })

  it("in the style of messages", () => {
    const [one, other] = ["a", "fox"].map((text) => blockDelta(0, { type: "text_delta", text }))
    const alike = recognised("anthropic", one ?? "", "a", other ?? "")
    assert.strictEqual(alike?.text, "fox")
    assert.strictEqual(alike?.bytes.toString(), other)
  })

  it("also where the text stands elsewhere before, or is escaped", () => {
    assert.strictEqual(recognised("openai", said("model"), "model", said("b"))?.text, "b")
    const alike = recognised("openai", said("a"), "a", written(String.raw`"\"\n\u00fc\\"`))
    assert.strictEqual(alike?.text, '"\nü\\')
  })

  it("and the next one behind it", () => {
    const alike = recognised("openai", said("a"), "a", said("b") + said("c"))
    assert.strictEqual(alike?.text, "b")
    assert.strictEqual(alike?.end, said("b").length)
  })

  const strangers: ReadonlyArray<readonly [why: string, frame: string | Uint8Array]> = [
    ["it is not all there", said("b").slice(0, -1)],
    ["it generates nothing", said("")],
    ["it finishes", delta({ content: "b" }, "stop")],
    ["it reports usage", chunk({ choices: [{ index: 0, delta: { content: "b" } }], usage: chatUsage })],
    ["it is of another choice", chunk({ choices: [{ index: 1, delta: { content: "b" } }] })],
    ["it is an error", frameOf({ error: { message: "b" } })],
    ["it says more", delta({ content: "b", reasoning_content: "c" })],
    ["it says it twice", written('"b","content":"c"')],
    ["its text has a control character", written('"\u0007"')],
    ["its text has an escape that is none", written(String.raw`"\x"`)],
    ["its text does not end", `${said("b").split('"b"')[0]}"b`],
    ["its text is no UTF-8", Buffer.from(said("\u00fc")).map((byte) => (byte === 0xbc ? 0xff : byte))],
    ["its lines end otherwise", said("b").replaceAll("\n", "\r\n")],
    ["it is a comment", ": b\n\n"],
    ["it is the end", "data: [DONE]\n\n"]
  ]
  for (const [why, frame] of strangers) {
    it(`not when ${why}`, () => assert.isUndefined(recognised("openai", said("a"), "a", frame)))
  }

  const teachers: ReadonlyArray<readonly [why: string, frame: string, text: string]> = [
    ["finishes", delta({ content: "a" }, "stop"), "a"],
    ["reports usage", chunk({ choices: [{ index: 0, delta: { content: "a" } }], usage: chatUsage }), "a"],
    ["generates several texts", delta({ content: "a", reasoning: "b" }), "ab"],
    ["is long", said("a".repeat(20_000)), "a".repeat(20_000)],
    ["ends in a carriage return", said("a").replaceAll("\n", "\r"), "a"]
  ]
  for (const [why, frame, text] of teachers) {
    it(`not when that ${why}`, () => assert.isUndefined(recognised("openai", frame, text, frame)))
  }
})

const Text = Schema.String.check(Schema.isMaxLength(12))
const Turn = Schema.Struct({
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })),
  /** Of frames of one kind that come after each other. */
  texts: Schema.Array(Text).check(Schema.isBetweenLength(1, 4)),
  lines: Schema.Literals(["\n", "\n", "\n", "\r\n", "\r"])
})
const Turns = Schema.Array(Turn).check(Schema.isMaxLength(10))
const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 600 }))).check(
  Schema.isBetweenLength(1, 6)
)

/** Most frames are alike, and all else that there is comes between them. */
const odd: Record<Style, (text: string) => ReadonlyArray<string>> = {
  openai: (text) => [
    ...chatText,
    ...chatTools,
    written(`"${text.replaceAll(/["\\]/g, "")}"`),
    written(String.raw`"\ud83d"`),
    written(`"a","content":${JSON.stringify(text)}`),
    delta({ content: text, reasoning: text }),
    delta({ reasoning_content: text }),
    delta({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
    delta({ content: text }, "stop"),
    delta({ content: text, audio: { data: "x" } }),
    chunk({ choices: [{ index: 1, delta: { content: text } }] }),
    chunk({ choices: [{ index: 0, delta: { content: text } }], usage: { ...chatUsage, prompt_tokens: 7 } }),
    chunk({ choices: [{ index: 0, delta: { content: text } }], error: null, model: text }),
    frameOf({ choices: [{ index: 0, delta: { content: text } }], model: "north-9" }),
    frameOf(`{"model" : "north-9","choices":[{"delta":{"content":${JSON.stringify(text)}}}]}`),
    `: ${text.replaceAll(/[\r\n]/g, "")}\n\n`,
    `event: error\n${said(text)}`,
    `data: {"model":"swift-1-0613",\ndata: "choices":[{"delta":{"content":"a"}}]}\n\n`,
    frameOf({ error: { message: text } }),
    frameOf(`{"choices":${text}`),
    "data: [DONE]\n\n"
  ],
  anthropic: (text) => [
    ...messagesText,
    ...messagesTools,
    messageStart,
    ping,
    messageStop,
    blockStart(0, { type: "text", text }),
    blockDelta(1, { type: "text_delta", text }),
    blockDelta(0, { type: "text_delta", text, signature: "c2ln" }),
    blockDelta(0, { type: "thinking_delta", thinking: text }),
    blockDelta(0, { type: "input_json_delta", partial_json: text }),
    messageDelta("end_turn", { output_tokens: text.length }),
    frameOf({ type: "error", error: { message: text } }, "error")
  ]
}

const usual: Record<Style, (text: string) => string> = {
  openai: said,
  anthropic: (text) => blockDelta(0, { type: "text_delta", text })
}

const framesFor = (style: Style, { lines, texts, which }: typeof Turn.Type): ReadonlyArray<string> =>
  texts.map((text) => {
    const others = odd[style](text)
    const frame = which % 3 === 0 ? usual[style](text) : (others[which % others.length] ?? "")
    return frame.replaceAll("\n", lines)
  })

/** No chunk holds a frame, so that each is parsed. */
const halves = (frame: string): ReadonlyArray<string> => {
  const middle = frame.length >> 1
  const end = frame[middle] === "\n" ? middle + 1 : middle
  return [frame.slice(0, end), frame.slice(end)]
}

describe("A stream of which frames are recognised", () => {
  for (const style of ["openai", "anthropic"] as const) {
    for (const [name, others] of Object.entries({
      "one choice": { choices: 1 },
      "two choices": { choices: 2 },
      "the provider's name of the model": { model: "swift-1-0613" },
      "usage that is not asked for": { asksUsage: false }
    })) {
      it.prop(
        `is the one whose frames were all parsed (${style}, ${name})`,
        [Turns, Sizes],
        ([turns, sizes]) => {
          const options = optionsOf(style, style, others)
          const frames = turns.flatMap((turn) => framesFor(style, turn))
          const whole = frames.join("")
          const parsed = readAll(options, frames.flatMap(halves))
          // a line feed that comes without its carriage return is taken for the next frame's, recognised or not
          const cuts = whole.includes("\r") ? [] : [cut(whole, sizes)]
          for (const chunks of [frames, [whole], ...cuts]) {
            const read = readAll(options, chunks)
            assert.strictEqual(read.text, parsed.text)
            assert.strictEqual(read.reader.generated(), parsed.reader.generated())
            assert.deepStrictEqual(read.reader.usage(), parsed.reader.usage())
            assert.strictEqual(read.reader.promptTokens(), parsed.reader.promptTokens())
            const { content, fault, finished } = parsed.last
            assert.deepStrictEqual(
              { content: read.last.content, fault: read.last.fault, finished: read.last.finished },
              { content, fault, finished }
            )
          }
        },
        { arbitrary: { runs: 500 } }
      )
    }
  }
})

/** Admission of bodies, and the parts that differ for the provider. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { admit, admitCount } from "../../src/layers/gateway/callBody.ts"
import { requestBody } from "../../src/layers/gateway/relay.ts"
import type { Admitted, Rejected } from "../../src/layers/gateway/types.ts"
import type { Style } from "../../src/services/Gateway.ts"
import { endpointOf } from "../support/providerStreams.ts"
import { testTarget } from "../support/upstream.ts"

const messages = [{ role: "user", content: "hi" }]

const bytesOf = (body: unknown): Buffer => Buffer.from(typeof body === "string" ? body : JSON.stringify(body))

const parsed = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

const admitted = (style: Style, body: unknown): Admitted =>
  Result.getOrThrow(admit(endpointOf[style], bytesOf(body)))

const rejection = (style: Style, body: unknown): Rejected =>
  Result.match(admit(endpointOf[style], bytesOf(body)), {
    onSuccess: () => assert.fail("it was admitted"),
    onFailure: (rejected) => rejected
  })

const chat = (members: object): object => ({ model: "swift-1", messages, ...members })
const message = (members: object): object => chat({ max_tokens: 100, ...members })

/** The text that a provider of the same style gets. */
const sent = (style: Style, body: string, model = "swift-1-0613"): string => {
  const bytes = Result.getOrThrow(requestBody(admitted(style, body), testTarget(style, model)))
  return Buffer.from(bytes).toString()
}

describe("A body of chat completions", () => {
  it("A chat body names its model, whether it streams, its maximum and its number of answers", () => {
    const { asksUsage, choices, maxTokens, model, stream } = admitted(
      "openai",
      chat({ stream: true, max_tokens: 7, n: 3, stream_options: { include_usage: true } })
    )
    assert.deepStrictEqual(
      { asksUsage, choices, maxTokens, model, stream },
      { asksUsage: true, choices: 3, maxTokens: 7, model: "swift-1", stream: true }
    )
  })

  it("A chat body without a maximum allows as much as the model can generate, in one answer", () => {
    const body = admitted("openai", chat({ max_tokens: null, n: null, stream: null }))
    assert.strictEqual(body.maxTokens, undefined)
    assert.strictEqual(body.choices, 1)
    assert.isFalse(body.stream)
    assert.isFalse(body.asksUsage)
  })

  it("The larger of two maxima bounds a chat body", () => {
    assert.strictEqual(admitted("openai", chat({ max_tokens: 7, max_completion_tokens: 9 })).maxTokens, 9)
  })

  const wrong: ReadonlyArray<readonly [name: string, body: unknown, param: string | null]> = [
    ["no body", "", null],
    ["no JSON", "{", null],
    ["a list", [], null],
    ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), null],
    ["no model", { messages }, "model"],
    ["no messages", { model: "swift-1" }, "messages"],
    ["a message that is a text", chat({ messages: [messages[0], "hi"] }), "messages.1"],
    ["a message without a role", chat({ messages: [{ content: "hi" }] }), "messages.0"],
    ["N, which some providers read as n", chat({ N: 100 }), "N"],
    [
      "Max_Tokens, which some providers read as max_tokens",
      chat({ max_tokens: 1, Max_Tokens: 9999 }),
      "Max_Tokens"
    ],
    ["Model, which some providers read as model", chat({ Model: "dear-1" }), "Model"],
    ["two models", '{"model":"a","model":"b","messages":[{"role":"user","content":"x"}]}', "model"],
    [
      "two models, one of them written with an escape",
      String.raw`{"model":"a","\u006dodel":"b","messages":[{"role":"user","content":"x"}]}`,
      "model"
    ],
    [
      "a member twice deep within",
      '{"model":"a","messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]}',
      "messages.0.content.0.text"
    ],
    [
      "more than 64 levels",
      `{"model":"a","messages":[{"role":"user","content":${"[".repeat(62)}${"]".repeat(62)}}]}`,
      null
    ]
  ]
  for (const [name, body, param] of wrong) {
    it(`A chat body with ${name} is rejected by the name of the field`, () => {
      const rejected = Buffer.isBuffer(body)
        ? Result.match(admit("chat", body), { onSuccess: () => assert.fail(), onFailure: (each) => each })
        : rejection("openai", body)
      assert.strictEqual(rejected.param, param, rejected.message)
      assert.isAbove(rejected.message.length, 10)
      if (param !== null) assert.include(rejected.message, param)
    })
  }

  const Count = Schema.NullOr(Schema.Int.check(Schema.isGreaterThan(0)))
  const allowed: Readonly<Record<string, Schema.ConstraintDecoder<unknown>>> = {
    model: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256)),
    messages: Schema.NonEmptyArray(Schema.Struct({ role: Schema.String })),
    max_tokens: Count,
    max_completion_tokens: Count,
    n: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 128 }))),
    stream: Schema.NullOr(Schema.Boolean),
    stream_options: Schema.NullOr(Schema.Record(Schema.String, Schema.Json))
  }
  const edges = [-1, 0, 1.5, 128, 129, 1e300, "7", "true", "m".repeat(256), "m".repeat(257)]
  it.prop(
    "A member of a chat body is rejected by its name exactly if its type or range is wrong",
    [
      Schema.Literals(Object.keys(allowed)),
      Schema.Union([...Object.values(allowed), Schema.Literals(edges), Schema.Json])
    ],
    ([name, value]) => {
      const admission = admit("chat", bytesOf(chat({ [name]: value })))
      const param = Result.isFailure(admission) ? String(admission.failure.param).split(".")[0] : undefined
      assert.strictEqual(param, Schema.is(allowed[name] ?? Schema.Never)(value) ? undefined : name)
    },
    { arbitrary: { runs: 1000 } }
  )

  it("A rejection lists all problems at once", () => {
    const { message: told, param } = rejection("openai", { model: "", messages: [], n: 0 })
    assert.strictEqual(param, "model")
    for (const field of ["model:", "messages:", "n:"]) assert.include(told, field)
  })

  it("A rejection lists at most a hundred problems", () => {
    const spelled = (number: number) =>
      [..."max_completion_tokens"]
        .map((letter, place) => ((number >> place) & 1 ? letter.toUpperCase() : letter))
        .join("")
    const names = new Set(Array.from({ length: 1000 }, (_, number) => spelled(number + 1)))
    const { message: told } = rejection(
      "openai",
      chat(Object.fromEntries([...names].map((name) => [name, 1])))
    )
    assert.lengthOf(told.split("; "), 100)
  })

  it("A chat body may hold what only text of agents holds: escapes of surrogates, NUL, bidi controls", () => {
    const body = String.raw`{"model":"a","messages":[{"role":"user","content":"\ud800 \u0000 ` + '\u202e"}]}'
    assert.strictEqual(admitted("openai", body).model, "a")
  })

  it("A body may be nested 64 levels deep", () => {
    const deep = `{"model":"a","messages":[{"role":"user","content":${"[".repeat(61)}${"]".repeat(61)}}]}`
    assert.strictEqual(admitted("openai", deep).model, "a")
  })
})

describe("A body of messages", () => {
  it("A messages body needs max_tokens, because the style has no default", () => {
    assert.strictEqual(rejection("anthropic", chat({})).param, "max_tokens")
    assert.strictEqual(rejection("anthropic", chat({ max_tokens: null })).param, "max_tokens")
    assert.strictEqual(admitted("anthropic", message({})).maxTokens, 100)
  })

  it("A messages body always shows usage and has one answer", () => {
    const { asksUsage, choices } = admitted("anthropic", message({ n: 1 }))
    assert.isTrue(Result.isFailure(admit("messages", bytesOf(message({ n: 3 })))))
    assert.isTrue(asksUsage)
    assert.strictEqual(choices, 1)
  })

  it("A body of count_tokens generates nothing and needs no maximum", () => {
    assert.isTrue(Result.isSuccess(admitCount(bytesOf(chat({})))))
    assert.isTrue(Result.isFailure(admitCount(bytesOf({ model: "swift-1" }))))
  })
})

describe("A body of embeddings", () => {
  const embeddings = (input: unknown, more: object = {}) =>
    admit("embeddings", bytesOf({ model: "vectors", input, ...more }))

  it.each([
    ["a text", "äöü", 6 + 16],
    ["texts", ["a", "bc"], 3 + 32],
    ["tokens", [100_000, 2, 3], 3 + 16],
    ["lists of tokens", [[1, 2], [3]], 3 + 32]
  ])("A body of embeddings may be %s: bytes or tokens, and 16 an input, bound it", (_, input, bound) => {
    const { choices, maxTokens, textTokensBound } = Result.getOrThrow(embeddings(input))
    assert.deepStrictEqual([textTokensBound, choices, maxTokens], [bound, 0, undefined])
  })

  it("The bound of a body of embeddings counts unknown fields", () => {
    const { textTokensBound } = Result.getOrThrow(embeddings("a", { dimensions: 3, instruction: "Look:" }))
    assert.strictEqual(textTokensBound, 1 + 16 + JSON.stringify("Look:").length)
  })

  it.each([
    ["nothing", undefined],
    ["an empty text", ""],
    ["an empty list", []],
    ["a list with an empty text", ["a", ""]],
    ["a list of texts and tokens", ["a", [1]]],
    ["an object", { text: "a" }],
    ["parts of a token", [1.5]],
    ["too many texts", Array.from({ length: 2049 }, () => "a")]
  ])("A body of embeddings is rejected if its input is %s", (_, input) => {
    const read = embeddings(input)
    assert.strictEqual(Result.isFailure(read) ? read.failure.param : "", "input")
  })

  it("A body of embeddings is rejected if it asks for a stream, or has another input in other letter case", () => {
    const paramOf = (more: object) =>
      Result.match(embeddings("a", more), { onSuccess: () => "", onFailure: ({ param }) => param })
    assert.strictEqual(paramOf({ stream: true }), "stream")
    assert.strictEqual(paramOf({ Input: "a longer one" }), "Input")
  })
})

describe("The bound of a prompt", () => {
  const bound = (style: Style, body: object) => {
    const { images, textTokensBound } = admitted(style, body)
    return [textTokensBound, images]
  }
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(100_000)}` } }
  const source = { type: "base64", media_type: "image/png", data: "A".repeat(100_000) }
  const tools = [{ type: "function", function: { name: "look", parameters: {} } }]

  it("The bound of a prompt is the bytes of its text and 16 for each message", () => {
    const both = [
      { role: "system", content: "äöü" },
      { role: "user", content: [{ type: "text", text: "hello" }] }
    ]
    assert.deepStrictEqual(bound("openai", chat({ messages: both })), [6 + 5 + 32, 0])
  })

  it("The bound counts an image as one, not as its bytes, also in the result of a tool", () => {
    const content = [{ type: "text", text: "see" }, image, image]
    assert.deepStrictEqual(bound("openai", chat({ messages: [{ role: "user", content }] })), [3 + 16, 2])
    const result = { type: "tool_result", tool_use_id: "t", content: [{ type: "image", source }] }
    const [text = 0, images] = bound(
      "anthropic",
      message({ messages: [{ role: "user", content: [result] }] })
    )
    assert.strictEqual(images, 1)
    assert.isBelow(text, 100)
  })

  it("The bound counts an image elsewhere as one, and a document by the bytes that are sent", () => {
    const url = "https://elsewhere.example/x"
    const remote = (type: string) => ({ type, source: { type: "url", url } })
    const boundOf = (type: string) =>
      bound("anthropic", message({ messages: [{ role: "user", content: [remote(type)] }] }))
    assert.deepStrictEqual(boundOf("image"), [16, 1])
    assert.deepStrictEqual(boundOf("document"), [16 + JSON.stringify(remote("document")).length, 0])
  })

  it("The bound counts text that hides in an image's part", () => {
    const content = [{ ...image, text: "x".repeat(1000) }]
    const [text = 0] = bound("openai", chat({ messages: [{ role: "user", content }] }))
    assert.isAtLeast(text, 1000)
  })

  it("The bound counts tools, system text, arguments of tools and unknown fields", () => {
    const [withTools = 0] = bound("openai", chat({ tools }))
    assert.strictEqual(withTools, 2 + 16 + JSON.stringify(tools).length + 600)
    assert.deepStrictEqual(bound("anthropic", message({ system: "sys" })), [3 + 2 + 16, 0])
    assert.deepStrictEqual(bound("anthropic", message({ system: [{ type: "text", text: "sys" }] })), [21, 0])
    const called = { role: "assistant", tool_calls: [{ function: { arguments: "x".repeat(500) } }] }
    assert.isAtLeast(bound("openai", chat({ messages: [called] }))[0] ?? 0, 516)
    assert.isAtLeast(bound("openai", chat({ context: "x".repeat(500) }))[0] ?? 0, 518)
  })

  it.prop(
    "The bound is at least the bytes of every text of the messages",
    [
      Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.String })).check(
        Schema.isMinLength(1)
      )
    ],
    ([list]) => {
      const expected = list.reduce((sum, { content }) => sum + Buffer.byteLength(content) + 16, 0)
      assert.deepStrictEqual(bound("openai", chat({ messages: list })), [expected, 0])
    }
  )
})

describe("A request to a provider of the same style", () => {
  const table: ReadonlyArray<readonly [name: string, body: string, expected: string]> = [
    [
      "another model and every other byte unchanged",
      '{ "model" : "swift-1" ,\n "messages":[{"role":"user","content":"hi"}],"top_k":5}',
      '{ "model" : "swift-1-0613" ,\n "messages":[{"role":"user","content":"hi"}],"top_k":5}'
    ],
    [
      "another model only in the outermost object",
      '{"messages":[{"role":"user","content":"{\\"model\\":\\"swift-1\\"}","model":"swift-1"}],"model":"swift-1"}',
      '{"messages":[{"role":"user","content":"{\\"model\\":\\"swift-1\\"}","model":"swift-1"}],"model":"swift-1-0613"}'
    ],
    [
      "another model also under a key written with escapes",
      String.raw`{"\u006dodel":"swift-1","messages":[{"role":"user","content":"\\"}]}`,
      String.raw`{"\u006dodel":"swift-1-0613","messages":[{"role":"user","content":"\\"}]}`
    ],
    [
      "text of any language unchanged",
      '{"messages":[{"role":"user","content":"日本 \u{1f600} \\ud83d\\ude00"}],"model":"swift-1"}',
      '{"messages":[{"role":"user","content":"日本 \u{1f600} \\ud83d\\ude00"}],"model":"swift-1-0613"}'
    ],
    [
      "a request for the usage of a stream without options",
      '{"model":"swift-1","stream":true,"messages":[{"role":"user","content":"hi"}]}',
      '{"stream_options":{"include_usage":true},"model":"swift-1-0613","stream":true,"messages":[{"role":"user","content":"hi"}]}'
    ],
    [
      "a request for the usage of a stream that declined it",
      '{"stream_options":{"a":[1],"include_usage":false},"model":"swift-1","stream":true,"messages":[{"role":"user","content":"hi"}]}',
      '{"stream_options":{"a":[1],"include_usage":true},"model":"swift-1-0613","stream":true,"messages":[{"role":"user","content":"hi"}]}'
    ],
    [
      "a request for the usage of a stream beside other options",
      '{"model":"swift-1","stream":true,"stream_options":{"a":1},"messages":[{"role":"user","content":"hi"}]}',
      '{"model":"swift-1-0613","stream":true,"stream_options":{"include_usage":true,"a":1},"messages":[{"role":"user","content":"hi"}]}'
    ],
    [
      "a request for the usage of a stream in empty options",
      '{"model":"swift-1","stream":true,"stream_options":{ },"messages":[{"role":"user","content":"hi"}]}',
      '{"model":"swift-1-0613","stream":true,"stream_options":{"include_usage":true },"messages":[{"role":"user","content":"hi"}]}'
    ],
    [
      "a request for the usage of a stream instead of null options",
      '{"model":"swift-1","stream":true,"stream_options":null,"messages":[{"role":"user","content":"hi"}]}',
      '{"model":"swift-1-0613","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}'
    ]
  ]
  for (const [name, body, expected] of table) {
    it(`A provider of the same style gets ${name}`, () =>
      assert.deepStrictEqual(parsed(sent("openai", body)), parsed(expected)))
  }

  it("A provider of the same style gets the very body of the client if nothing must change", () => {
    const body = admitted("anthropic", message({ stream: true }))
    const bytes = Result.getOrThrow(requestBody(body, testTarget("anthropic", "swift-1")))
    assert.strictEqual(bytes, body.bytes)
  })

  it.prop(
    "A provider of the same style gets a body that differs only in the model, whatever else it contains",
    [Schema.Record(Schema.String, Schema.Json), Schema.String.check(Schema.isNonEmpty()), Schema.Boolean],
    ([others, name, atEnd]) => {
      const unknown = Object.fromEntries(Object.entries(others).map(([key, value]) => [`x${key}`, value]))
      const bodyOf = (model: string) =>
        atEnd ? { ...unknown, messages, model } : { model, messages, ...unknown }
      const body = JSON.stringify(bodyOf("swift-1"), null, atEnd ? 1 : 0)
      assert.deepStrictEqual(parsed(sent("openai", body, name)), parsed(JSON.stringify(bodyOf(name))))
    }
  )
})

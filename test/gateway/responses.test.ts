/** Responses by chat completions: translations of requests and answers, by the types of the official client. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type {
  Response,
  ResponseCreateParamsBase,
  ResponseInputItem,
  ResponseStreamEvent
} from "openai/resources/responses/responses"
import { admit } from "../../src/layers/gateway/callBody.ts"
import { closedReasoning } from "../../src/layers/gateway/translate/responsesRequest.ts"
import type { ReaderOptions } from "../../src/layers/gateway/types.ts"
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
  messageDelta,
  messagesTools,
  messageStart,
  messageStop,
  optionsOf,
  readAll,
  readWhole,
  toolCall,
  wholeChatTools,
  wholeMessagesTools
} from "../support/providerStreams.ts"

const admitted = (members: object) =>
  admit("responses", Buffer.from(JSON.stringify({ model: "swift-1", input: "hi", ...members })))

/** The chat completion that a request becomes. */
const chatOf = (members: object): object => Result.getOrThrow(admitted(members)).body

const paramOf = (members: object): string | null =>
  Result.match(admitted(members), { onSuccess: () => "admitted", onFailure: ({ param }) => param })

const user = { role: "user", content: "hi" } as const
const parameters = { type: "object", properties: {} }
const schema = { type: "object", properties: {}, additionalProperties: false }

type Member = keyof ResponseCreateParamsBase
type Given<Name extends Member> = NonNullable<ResponseCreateParamsBase[Name]>

/** A value, and the members of the chat completion that it becomes: none if it is only a hint or repeated in the answer. */
type Translated = { readonly [Name in Member]?: readonly [given: Given<Name>, chat: object] }
/** A value that is rejected, with the name of the member or a path in it. */
type Refused = { readonly [Name in Member]?: readonly [given: Given<Name>, param: string] }

const translated = {
  model: ["swift-2", { model: "swift-2" }],
  input: ["Hello", { messages: [{ role: "user", content: "Hello" }] }],
  instructions: ["Be brief.", { messages: [{ role: "system", content: "Be brief." }, user] }],
  max_output_tokens: [7, { max_completion_tokens: 7 }],
  temperature: [0.5, { temperature: 0.5 }],
  top_p: [0.9, { top_p: 0.9 }],
  user: ["u-1", { user: "u-1" }],
  safety_identifier: ["s-1", { safety_identifier: "s-1" }],
  prompt_cache_key: ["k", { prompt_cache_key: "k" }],
  prompt_cache_retention: ["in_memory", { prompt_cache_retention: "in_memory" }],
  service_tier: ["auto", { service_tier: "auto" }],
  stream: [true, { stream: true, stream_options: { include_usage: true } }],
  reasoning: [{ effort: "high", summary: "auto" }, { reasoning_effort: "high" }],
  text: [
    { format: { type: "json_schema", name: "a", schema, strict: true }, verbosity: "low" },
    {
      response_format: { type: "json_schema", json_schema: { name: "a", schema, strict: true } },
      verbosity: "low"
    }
  ],
  tools: [
    [{ type: "function", name: "look", description: "Looks.", parameters, strict: true }],
    {
      tools: [
        { type: "function", function: { name: "look", description: "Looks.", parameters, strict: true } }
      ]
    }
  ],
  tool_choice: ["auto", {}],
  parallel_tool_calls: [false, {}],
  max_tool_calls: [3, {}],
  metadata: [{ a: "b" }, {}],
  stream_options: [{ include_obfuscation: false }, {}],
  include: [["reasoning.encrypted_content"], {}],
  store: [false, {}],
  background: [false, {}],
  truncation: ["disabled", {}],
  top_logprobs: [0, {}]
} satisfies Translated

const refused = {
  previous_response_id: ["resp_1", "previous_response_id"],
  conversation: ["conv_1", "conversation"],
  prompt: [{ id: "pmpt_1" }, "prompt"],
  store: [true, "store"],
  background: [true, "background"],
  truncation: ["auto", "truncation"],
  include: [["message.output_text.logprobs"], "include"],
  top_logprobs: [3, "top_logprobs"],
  moderation: [{ model: "omni" }, "moderation"],
  context_management: [[{ type: "compaction" }], "context_management"],
  access_programs: [{}, "access_programs"],
  image: [{}, "image"],
  prompt_cache_options: [{}, "prompt_cache_options"],
  max_output_tokens: [0, "max_output_tokens"],
  input: [[], "input"],
  tools: [[{ type: "web_search" }], "tools.0.type"],
  tool_choice: [{ type: "allowed_tools", mode: "auto", tools: [] }, "tool_choice"]
} satisfies Refused

/** A new member of the official client breaks this line until its treatment is decided. */
const undecided: Exclude<Member, keyof typeof translated | keyof typeof refused> extends never
  ? true
  : false = true

describe("A request for a response", () => {
  const plain = { model: "swift-1", messages: [user] }

  it.each(Object.entries(translated))(
    "A request for a response is translated with its %s",
    (name, [given, chat]) => {
      assert.isTrue(undecided)
      assert.deepStrictEqual(chatOf({ [name]: given }), { ...plain, ...chat })
    }
  )

  it.each(Object.entries(refused))(
    "A request for a response is rejected by its %s",
    (name, [given, param]) => {
      assert.strictEqual(paramOf({ [name]: given }), param)
    }
  )

  it("A request for a response is rejected by an unknown member, and told what would be right if something must be stored", () => {
    for (const name of ["vendor_field", "constructor", "messages", "Input"]) {
      assert.strictEqual(paramOf({ [name]: [1] }), name)
    }
    const { message } = Result.getOrThrow(Result.flip(admitted({ previous_response_id: "resp_1" })))
    assert.include(
      message,
      "previous_response_id: Expected it left out: nothing is stored here. Send the whole"
    )
  })

  it("A request for a response has choices of tools, and formats, in the shape of chat completions", () => {
    const tools = [{ type: "function", name: "look", parameters }]
    assert.deepInclude(
      chatOf({ tools, tool_choice: { type: "function", name: "look" }, parallel_tool_calls: false }),
      {
        tool_choice: { type: "function", function: { name: "look" } },
        parallel_tool_calls: false
      }
    )
    assert.deepInclude(chatOf({ tools, tool_choice: "required" }), { tool_choice: "required" })
    assert.deepInclude(chatOf({ text: { format: { type: "json_object" } } }), {
      response_format: { type: "json_object" }
    })
    assert.deepStrictEqual(chatOf({ text: { format: { type: "text" } } }), plain)
    assert.strictEqual(paramOf({ text: { format: { type: "grammar" } } }), "text.format.type")
  })

  const png = "data:image/png;base64,aWNvbg=="
  const pdf = "data:application/pdf;base64,cGRm"
  const closed = closedReasoning({ thought: "Hm.", thinking: [] })
  const thinking = [
    { type: "thinking", thinking: "Hm.", signature: "c2ln" },
    { type: "redacted_thinking", data: "eA==" }
  ]
  const called = { type: "function_call", call_id: "a", name: "look", arguments: "{}" } as const
  const output = (call_id: string, given: string) =>
    ({ type: "function_call_output", call_id, output: given }) as const

  const conversations: ReadonlyArray<
    readonly [name: string, input: ReadonlyArray<ResponseInputItem>, messages: ReadonlyArray<object>]
  > = [
    [
      "instructions of developers as a system's message",
      [{ role: "developer", content: "a" }, user],
      [{ role: "system", content: "a" }, user]
    ],
    [
      "images and files as parts",
      [
        {
          role: "user",
          content: [
            { type: "input_text", text: "See:" },
            { type: "input_image", image_url: png, detail: "low" },
            { type: "input_file", filename: "a.pdf", file_data: pdf }
          ]
        }
      ],
      [
        {
          role: "user",
          content: [
            { type: "text", text: "See:" },
            { type: "image_url", image_url: { url: png, detail: "low" } },
            { type: "file", file: { filename: "a.pdf", file_data: pdf } }
          ]
        }
      ]
    ],
    [
      "thoughts, text and calls as one message, with the results of tools after it",
      [
        user,
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: closed },
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Looking.", annotations: [] }]
        },
        called,
        { ...called, call_id: "b" },
        output("a", "a fox"),
        output("b", "done"),
        { role: "user", content: "So?" }
      ],
      [
        user,
        {
          role: "assistant",
          content: "Looking.",
          reasoning_content: "Hm.",
          tool_calls: [toolCall("a", "look", "{}"), toolCall("b", "look", "{}")]
        },
        { role: "tool", tool_call_id: "a", content: "a fox" },
        { role: "tool", tool_call_id: "b", content: "done" },
        { role: "user", content: "So?" }
      ]
    ],
    [
      "images from tools after all results of tools",
      [
        called,
        { ...called, call_id: "b" },
        {
          type: "function_call_output",
          call_id: "a",
          output: [
            { type: "input_text", text: "seen" },
            { type: "input_image", image_url: png }
          ]
        },
        output("b", "done")
      ],
      [
        {
          role: "assistant",
          content: null,
          tool_calls: [toolCall("a", "look", "{}"), toolCall("b", "look", "{}")]
        },
        { role: "tool", tool_call_id: "a", content: "seen" },
        { role: "tool", tool_call_id: "b", content: "done" },
        { role: "user", content: [{ type: "image_url", image_url: { url: png } }] }
      ]
    ],
    [
      "signed thinking unchanged",
      [
        {
          type: "reasoning",
          id: "rs_1",
          summary: [],
          encrypted_content: closedReasoning({ thought: "", thinking })
        },
        { role: "assistant", content: "Looking." }
      ],
      [{ role: "assistant", content: "Looking.", reasoning_content: "Hm.", thinking_blocks: thinking }]
    ],
    [
      "no reasoning that another service enclosed",
      [
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "Hm." }],
          encrypted_content: "gAAA"
        },
        { role: "assistant", content: "Looking." }
      ],
      [{ role: "assistant", content: "Looking." }]
    ]
  ]

  it.each(conversations)("A request for a response has %s", (_, input, messages) => {
    assert.deepStrictEqual(chatOf({ input }), { model: "swift-1", messages })
  })

  it.each([
    ["an item that is stored elsewhere", { type: "item_reference", id: "msg_1" }, "input.0"],
    [
      "an item of a tool that is not served",
      { type: "web_search_call", id: "ws_1", status: "completed" },
      "input.0.type"
    ],
    ["an unknown role", { role: "oracle", content: "a" }, "input.0.role"],
    ["a message without content", { role: "user" }, "input.0.content"],
    ["a call without its id", { type: "function_call", name: "look", arguments: "{}" }, "input.0.call_id"],
    [
      "an image that is stored elsewhere",
      { role: "user", content: [{ type: "input_image", file_id: "file-1" }] },
      "input.0.content.0.image_url"
    ],
    [
      "a file that is stored elsewhere",
      { role: "user", content: [{ type: "input_file", file_url: "https://example.com/a.pdf" }] },
      "input.0.content.0.file_data"
    ]
  ])("A request for a response is rejected by the place of %s", (_, item, param) => {
    assert.strictEqual(paramOf({ input: [item] }), param)
  })

  it("A request for a response opens no reasoning that would take long to read", () => {
    const bomb = `auspex1.${Buffer.from(`{"thinking":[${"{},".repeat(100_000)}{}]}`).toString("base64url")}`
    const input = [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: bomb }, user]
    assert.deepStrictEqual(chatOf({ input }), plain)
  })

  it("A request for a response is bounded as a chat completion, and at most by its own maximum", () => {
    const { maxTokens, textTokensBound } = Result.getOrThrow(
      admitted({ instructions: "abc", max_output_tokens: 7 })
    )
    assert.deepStrictEqual([textTokensBound, maxTokens], [5 + 32, 7])
  })
})

/** The members that a response repeats. `output_text` is the client's own. */
type Told = Omit<Response, "output_text" | "access_programs">

const requested = {
  model: "swift-1",
  input: "hi",
  instructions: "Be brief.",
  max_output_tokens: 50,
  include: ["reasoning.encrypted_content"]
}

const optionsFor = (style: "openai" | "anthropic", others: Partial<ReaderOptions> = {}) =>
  optionsOf("openai", style, { endpoint: "responses", requested, ...others })

const answered = (style: "openai" | "anthropic", body: object) => readWhole(optionsFor(style), body).body

const told: Told = {
  id: "resp_chatcmpl-1",
  object: "response",
  created_at: 1_700_000_001,
  model: "swift-1",
  status: "completed",
  background: false,
  error: null,
  incomplete_details: null,
  instructions: "Be brief.",
  max_output_tokens: 50,
  max_tool_calls: null,
  metadata: {},
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: null,
  truncation: "disabled",
  usage: {
    input_tokens: 25,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 75
  }
}

const text = (given: string) => ({ type: "output_text" as const, text: given, annotations: [], logprobs: [] })

describe("A response", () => {
  it("A response has the reasoning, text and calls of a chat completion, and repeats the request", () => {
    const output: Told["output"] = [
      {
        id: "rs_chatcmpl-1_0",
        type: "reasoning",
        summary: [{ type: "summary_text", text: "Let me see." }],
        encrypted_content: closedReasoning({ thought: "Let me see.", thinking: [] })
      },
      {
        id: "msg_chatcmpl-1_1",
        type: "message",
        status: "completed",
        role: "assistant",
        content: [text("Looking.")]
      },
      {
        id: "fc_chatcmpl-1_2",
        type: "function_call",
        status: "completed",
        call_id: "call_a",
        name: "look",
        arguments: '{"at":"fox"}'
      },
      {
        id: "fc_chatcmpl-1_3",
        type: "function_call",
        status: "completed",
        call_id: "call_b",
        name: "wait",
        arguments: "{}"
      }
    ]
    const { store, ...others } = answered("openai", wholeChatTools)
    assert.isFalse(store)
    assert.deepStrictEqual(others, { ...told, output })
  })

  it("A response has the reasoning, text and calls of messages", () => {
    const { output } = answered("anthropic", wholeMessagesTools)
    assert.deepStrictEqual(
      output.map(({ call_id, type }: { call_id?: string; type: string }) => [type, call_id]),
      [
        ["reasoning", undefined],
        ["message", undefined],
        ["function_call", "toolu_a"],
        ["function_call", "toolu_b"]
      ]
    )
  })

  it.each([
    ["length", "incomplete", { reason: "max_output_tokens" }],
    ["content_filter", "incomplete", { reason: "content_filter" }],
    ["stop", "completed", null]
  ])("A response that ended with %s is %s", (finish_reason, status, details) => {
    const message = { role: "assistant", content: "Look" }
    const body = { ...wholeChatTools, choices: [{ index: 0, message, finish_reason }] }
    const response = answered("openai", body)
    assert.deepStrictEqual([response.status, response.incomplete_details], [status, details])
    assert.strictEqual(response.output[0].status, status)
  })

  it("A response has a refusal as a refusal", () => {
    const message = { role: "assistant", content: null, refusal: "No." }
    const response = answered("openai", {
      ...wholeChatTools,
      choices: [{ index: 0, message, finish_reason: "stop" }]
    })
    assert.deepStrictEqual(response.output[0].content, [{ type: "refusal", refusal: "No." }])
  })
})

const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 }))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(8)
)

type Named = { readonly type: string; readonly [name: string]: unknown }
const eventsIn = (written: string): ReadonlyArray<Named> =>
  dataIn(written).filter((each): each is Named => typeof each === "object" && each !== null && "type" in each)

const itemEvents = {
  reasoning: [
    "response.output_item.added",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary_part.done",
    "response.output_item.done"
  ],
  message: [
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done"
  ],
  call: (deltas: number) => [
    "response.output_item.added" as const,
    ...Array.from({ length: deltas }, () => "response.function_call_arguments.delta" as const),
    "response.function_call_arguments.done" as const,
    "response.output_item.done" as const
  ]
} satisfies Record<
  string,
  | ReadonlyArray<ResponseStreamEvent["type"]>
  | ((deltas: number) => ReadonlyArray<ResponseStreamEvent["type"]>)
>

describe("A stream of a response", () => {
  it("A stream of a response has a text in the official order, with numbers", () => {
    const item_id = "msg_chatcmpl-1_0"
    const words = 'Grüße \u{1f98a} "model":"x"'
    const at = { output_index: 0 }
    const where = { ...at, item_id, content_index: 0 }
    const item = { id: item_id, type: "message", role: "assistant" } as const
    const { store: _, ...response } = JSON.parse(JSON.stringify({ ...told, store: false }))
    const done = { ...item, status: "completed" as const, content: [text(words)] }
    const expected: ReadonlyArray<Exclude<ResponseStreamEvent, { readonly response: unknown }>> = [
      {
        type: "response.output_item.added",
        ...at,
        item: { ...item, status: "in_progress", content: [] },
        sequence_number: 2
      },
      { type: "response.content_part.added", ...where, part: text(""), sequence_number: 3 },
      { type: "response.output_text.delta", ...where, delta: "Grüße ", logprobs: [], sequence_number: 4 },
      {
        type: "response.output_text.delta",
        ...where,
        delta: '\u{1f98a} "model":"x"',
        logprobs: [],
        sequence_number: 5
      },
      { type: "response.output_text.done", ...where, text: words, logprobs: [], sequence_number: 6 },
      { type: "response.content_part.done", ...where, part: text(words), sequence_number: 7 },
      { type: "response.output_item.done", ...at, item: done, sequence_number: 8 }
    ]
    const events = eventsIn(readAll(optionsFor("openai"), chatText).text)
    assert.deepStrictEqual<unknown>(events.slice(2, -1), expected)
    const begun = { ...response, status: "in_progress", usage: null, store: false }
    assert.deepStrictEqual(events.slice(0, 2), [
      { type: "response.created", response: begun, sequence_number: 0 },
      { type: "response.in_progress", response: begun, sequence_number: 1 }
    ])
    assert.deepStrictEqual(events.at(-1), {
      type: "response.completed",
      response: { ...response, output: [done], store: false },
      sequence_number: 9
    })
  })

  it.each([
    ["chat completions", "openai", chatTools, [2, 1]],
    ["messages", "anthropic", messagesTools, [2, 1]]
  ] as const)(
    "A stream of a response has reasoning, text and tools in turn (at a provider of %s)",
    (_, style, frames, deltas) => {
      const events = eventsIn(readAll(optionsFor(style), frames).text)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        [
          "response.created",
          "response.in_progress",
          ...itemEvents.reasoning,
          ...itemEvents.message,
          ...deltas.flatMap(itemEvents.call),
          "response.completed"
        ]
      )
      assert.deepStrictEqual(
        events.map(({ sequence_number }) => sequence_number),
        events.map((_, index) => index)
      )
    }
  )

  it("A stream of a response has the mixed arguments of two tools one after the other", () => {
    const called = (index: number, rest: object) => delta({ tool_calls: [{ index, ...rest }] })
    const frames = [
      called(0, { id: "call_a", function: { name: "look", arguments: '{"at":' } }),
      called(1, { id: "call_b", function: { name: "wait", arguments: "{}" } }),
      called(0, { function: { arguments: '"fox"}' } }),
      delta({}, "tool_calls"),
      "data: [DONE]\n\n"
    ]
    const indices = eventsIn(readAll(optionsFor("openai"), frames).text).flatMap(({ output_index }) =>
      typeof output_index === "number" ? [output_index] : []
    )
    assert.deepStrictEqual(indices, indices.toSorted())
  })

  it("A stream of a response in JSON without a schema is a text, also at a provider of messages", () => {
    const frames = [
      messageStart,
      blockStart(0, { type: "tool_use", id: "toolu_a", name: "answer_in_json", input: {} }),
      blockDelta(0, { type: "input_json_delta", partial_json: '{"at":"fox"}' }),
      blockStop(0),
      messageDelta("tool_use"),
      messageStop
    ]
    const last = eventsIn(readAll(optionsFor("anthropic", { asksJson: true }), frames).text).at(-1)
    assert.include(JSON.stringify(last), JSON.stringify(text('{"at":"fox"}')))
  })

  it("A broken stream of a response ends with the official error event, with the next number", () => {
    const { reader, text: written } = readAll(optionsFor("openai"), chatText.slice(0, 2))
    const error = {
      status: 502,
      message: "It broke.",
      code: "stream_failed",
      param: null,
      requestId: "req-1"
    }
    const expected: ResponseStreamEvent = {
      type: "error",
      code: "stream_failed",
      message: "It broke.",
      param: null,
      sequence_number: eventsIn(written).length
    }
    const event = Buffer.from(reader.error(error)).toString()
    assert.isTrue(event.startsWith("event: error\n"))
    assert.deepStrictEqual<unknown>(eventsIn(event), [expected])
  })

  it("A stream of a response reports the usage that is charged", () => {
    const { reader, text: written } = readAll(optionsFor("openai"), chatTools)
    const usage = reader.usage()
    assert.deepStrictEqual(
      [usage?.prompt, usage?.completion],
      [chatUsage.prompt_tokens, chatUsage.completion_tokens]
    )
    assert.include(written, '"input_tokens":25,"input_tokens_details":{"cached_tokens":5,')
    assert.include(written, '"output_tokens":50,"output_tokens_details":{"reasoning_tokens":9}')
  })

  it.prop("A stream of a response is the same however its bytes are cut", [Sizes], ([sizes]) => {
    for (const [style, frames] of [
      ["openai", chatTools],
      ["anthropic", messagesTools]
    ] as const) {
      const options = optionsFor(style)
      assert.strictEqual(readAll(options, cut(frames.join(""), sizes)).text, readAll(options, frames).text)
    }
  })
})

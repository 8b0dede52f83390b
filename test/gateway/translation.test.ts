/** Calls of one style at a provider of the other: what the provider gets, and what the client gets back. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { admit } from "../../src/layers/gateway/admitCall.ts"
import { isObject, textOf } from "../../src/layers/gateway/json.ts"
import { readAnswer, requestBody } from "../../src/layers/gateway/relay.ts"
import type { Rejected } from "../../src/layers/gateway/types.ts"
import type { Style } from "../../src/services/Gateway.ts"
import {
  chatText,
  chatTools,
  cut,
  dataIn,
  delta,
  frameOf,
  messagesText,
  messagesTools,
  messageStart,
  blockDelta,
  blockStart,
  optionsOf,
  readAll
} from "../support/providerStreams.ts"

const other = { openai: "anthropic", anthropic: "openai" } as const

const translate = (style: Style, body: object): Result.Result<unknown, Rejected> => {
  const admitted = Result.getOrThrow(admit(style, Buffer.from(JSON.stringify(body))))
  const target = { style: other[style], model: "swift-1-0613", maxOutputTokens: 8192 }
  return Result.map(requestBody(admitted, target), (sent) =>
    JSON.parse(typeof sent === "string" ? sent : Buffer.from(sent).toString())
  )
}

const translated = (style: Style, body: object): unknown => Result.getOrThrow(translate(style, body))

const user = { role: "user", content: "hi" }
const chat = (members: object): object => ({ model: "swift-1", messages: [user], ...members })
const message = (members: object): object => ({
  model: "swift-1",
  max_tokens: 100,
  messages: [user],
  ...members
})

const png = "data:image/png;base64,aWNvbg=="
const parameters = { type: "object", properties: { at: { type: "string" } } }
const chatTool = { type: "function", function: { name: "look", description: "Looks.", parameters } }
const messagesTool = { name: "look", description: "Looks.", input_schema: parameters }
const call = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args }
})

type Row = readonly [name: string, style: Style, sent: object, expected: object]

const both = (name: string, chatMembers: object, messagesMembers: object): ReadonlyArray<Row> => [
  [`${name}, for a provider of messages`, "openai", chat(chatMembers), { ...messagesMembers }],
  [`${name}, for a provider of chat completions`, "anthropic", message(messagesMembers), { ...chatMembers }]
]

/** Members that are the same thing in both styles, so the table is read in both directions. */
const alike: ReadonlyArray<Row> = [
  ...both("temperature and top_p", { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5, top_p: 0.9 }),
  ...both("stop sequences", { stop: ["a", "b"] }, { stop_sequences: ["a", "b"] }),
  ...both(
    "a system text",
    { messages: [{ role: "system", content: "Be brief." }, user] },
    { system: "Be brief.", messages: [user] }
  ),
  ...both("tools", { tools: [chatTool] }, { tools: [messagesTool] }),
  ...both(
    "a tool of choice",
    { tools: [chatTool], tool_choice: { type: "function", function: { name: "look" } } },
    { tools: [messagesTool], tool_choice: { type: "tool", name: "look" } }
  ),
  ...both(
    "any tool",
    { tools: [chatTool], tool_choice: "required" },
    { tools: [messagesTool], tool_choice: { type: "any" } }
  ),
  ...both(
    "no tool",
    { tools: [chatTool], tool_choice: "none" },
    { tools: [messagesTool], tool_choice: { type: "none" } }
  ),
  ...both(
    "one tool at a time",
    { tools: [chatTool], tool_choice: "auto", parallel_tool_calls: false },
    { tools: [messagesTool], tool_choice: { type: "auto", disable_parallel_tool_use: true } }
  ),
  ...both(
    "an image as data",
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See:" },
            { type: "image_url", image_url: { url: png } }
          ]
        }
      ]
    },
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See:" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "aWNvbg==" } }
          ]
        }
      ]
    }
  ),
  ...both(
    "an image by its address",
    {
      messages: [
        { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] }
      ]
    },
    {
      messages: [
        {
          role: "user",
          content: [{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }]
        }
      ]
    }
  ),
  ...both(
    "a document",
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,cGRm" } }
          ]
        }
      ]
    },
    {
      messages: [
        {
          role: "user",
          content: [
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "cGRm" },
              title: "a.pdf"
            }
          ]
        }
      ]
    }
  ),
  ...both(
    "tools called together and what they gave",
    {
      messages: [
        user,
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [call("a", "look", '{"at":"fox"}'), call("b", "wait", "{}")]
        },
        { role: "tool", tool_call_id: "a", content: "a fox" },
        { role: "tool", tool_call_id: "b", content: "done" },
        { role: "user", content: "So?" }
      ]
    },
    {
      messages: [
        user,
        {
          role: "assistant",
          content: [
            { type: "text", text: "Looking." },
            { type: "tool_use", id: "a", name: "look", input: { at: "fox" } },
            { type: "tool_use", id: "b", name: "wait", input: {} }
          ]
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "a fox" },
            { type: "tool_result", tool_use_id: "b", content: "done" },
            { type: "text", text: "So?" }
          ]
        }
      ]
    }
  ),
  ...both("whose user it is", { user: "u-1" }, { metadata: { user_id: "u-1" } }),
  ...both("effort", { reasoning_effort: "high" }, { output_config: { effort: "high" } }),
  ...both(
    "a schema of the answer",
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", schema: parameters, strict: true }
      }
    },
    { output_config: { format: { type: "json_schema", schema: parameters } } }
  ),
  ...both("fields that neither style knows", { vendor_field: { a: [1] } }, { vendor_field: { a: [1] } })
]

const defaults = {
  openai: { model: "swift-1-0613", max_tokens: 8192, messages: [user] },
  anthropic: { model: "swift-1-0613", max_completion_tokens: 100, messages: [user] }
}

describe("A request in the other style", () => {
  for (const [name, style, sent, expected] of alike) {
    it(`has ${name}`, () => {
      assert.deepStrictEqual(translated(style, sent), { ...defaults[style], ...expected })
    })
  }

  const others: ReadonlyArray<Row> = [
    ["the client's maximum", "openai", chat({ max_completion_tokens: 7 }), { max_tokens: 7 }],
    ["no more temperature than 1", "openai", chat({ temperature: 1.7 }), { temperature: 1 }],
    ["one stop sequence as a list", "openai", chat({ stop: "a" }), { stop_sequences: ["a"] }],
    ["a stream", "openai", chat({ stream: true }), { stream: true }],
    [
      "a stream with its usage",
      "anthropic",
      message({ stream: true }),
      { stream: true, stream_options: { include_usage: true } }
    ],
    [
      "instructions of developers, wherever they stand, as system text",
      "openai",
      chat({ messages: [{ role: "system", content: "a" }, user, { role: "developer", content: "b" }] }),
      {
        system: [
          { type: "text", text: "a" },
          { type: "text", text: "b" }
        ]
      }
    ],
    [
      "instructions alone as a user's",
      "openai",
      chat({ messages: [{ role: "system", content: "a" }] }),
      { messages: [{ role: "user", content: "a" }] }
    ],
    [
      "system blocks as one text",
      "anthropic",
      message({
        system: [
          { type: "text", text: "a", cache_control: { type: "ephemeral" } },
          { type: "text", text: "b" }
        ]
      }),
      { messages: [{ role: "system", content: "a\n\nb" }, user] }
    ],
    [
      "marks for the provider's cache",
      "openai",
      chat({
        messages: [
          { role: "user", content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] }
        ]
      }),
      {
        messages: [
          { role: "user", content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] }
        ]
      }
    ],
    [
      "neighbours of one role as one message",
      "openai",
      chat({ messages: [user, user] }),
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "hi" },
              { type: "text", text: "hi" }
            ]
          }
        ]
      }
    ],
    ["no empty texts", "openai", chat({ messages: [user, { role: "assistant", content: "" }] }), {}],
    [
      "thinking, which is a field of messages",
      "openai",
      chat({ thinking: { type: "enabled", budget_tokens: 2000 }, top_k: 5 }),
      { thinking: { type: "enabled", budget_tokens: 2000 }, top_k: 5 }
    ],
    [
      "no thinking where no effort is wanted",
      "openai",
      chat({ reasoning_effort: "none" }),
      { thinking: { type: "disabled" } }
    ],
    [
      "little effort for a minimum",
      "openai",
      chat({ reasoning_effort: "minimal" }),
      { output_config: { effort: "low" } }
    ],
    [
      "thinking that came from the provider, signed",
      "openai",
      chat({
        messages: [
          user,
          {
            role: "assistant",
            content: null,
            thinking_blocks: [
              { index: 0, type: "thinking", thinking: "Let me.", signature: "c2ln" },
              { type: "thinking", thinking: "not signed" },
              { type: "redacted_thinking", data: "eA==" }
            ],
            tool_calls: [call("a", "look", "")]
          }
        ]
      }),
      {
        messages: [
          user,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Let me.", signature: "c2ln" },
              { type: "redacted_thinking", data: "eA==" },
              { type: "tool_use", id: "a", name: "look", input: {} }
            ]
          }
        ]
      }
    ],
    [
      "tools without parameters",
      "openai",
      chat({ tools: [{ type: "function", function: { name: "wait" } }] }),
      { tools: [{ name: "wait", input_schema: { type: "object", properties: {} } }] }
    ],
    [
      "no hints that messages do not know",
      "openai",
      chat({
        seed: 1,
        logit_bias: {},
        presence_penalty: 1,
        frequency_penalty: 1,
        store: true,
        verbosity: "low",
        n: 1,
        logprobs: false,
        parallel_tool_calls: true
      }),
      {}
    ],
    [
      "no hints that chat completions do not know",
      "anthropic",
      message({
        top_k: 5,
        service_tier: "auto",
        cache_control: { type: "ephemeral" },
        thinking: { type: "disabled" }
      }),
      {}
    ],
    [
      "effort for a budget of thinking",
      "anthropic",
      message({ thinking: { type: "enabled", budget_tokens: 4096 } }),
      { reasoning_effort: "medium" }
    ],
    [
      "the most effort there is",
      "anthropic",
      message({ output_config: { effort: "max" } }),
      { reasoning_effort: "xhigh" }
    ],
    [
      "no thinking of earlier turns",
      "anthropic",
      message({
        messages: [
          user,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "a", signature: "b" },
              { type: "text", text: "c" }
            ]
          },
          user
        ]
      }),
      { messages: [user, { role: "assistant", content: "c" }, user] }
    ],
    [
      "an image that a tool gave as the user's",
      "anthropic",
      message({
        messages: [
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "a",
                content: [
                  { type: "text", text: "see" },
                  { type: "image", source: { type: "url", url: "https://example.com/a.png" } }
                ]
              }
            ]
          }
        ]
      }),
      {
        messages: [
          { role: "tool", tool_call_id: "a", content: "see" },
          { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] }
        ]
      }
    ],
    [
      "nothing of members that are null",
      "openai",
      chat({
        tools: null,
        tool_choice: null,
        parallel_tool_calls: null,
        response_format: null,
        reasoning_effort: null,
        modalities: null,
        logprobs: null
      }),
      {}
    ],
    [
      "nothing of members of messages that are null",
      "anthropic",
      message({ system: null, tools: null, tool_choice: null, thinking: null, output_config: null }),
      {}
    ],
    [
      "nothing of a format and an effort that are null",
      "anthropic",
      message({ output_config: { effort: null, format: null } }),
      {}
    ],
    ["no empty list of tools", "openai", chat({ tools: [], tool_choice: "auto" }), {}],
    [
      "no empty list of messages' tools",
      "anthropic",
      message({ tools: [], tool_choice: { type: "auto" } }),
      {}
    ],
    ["no effort of thinking that adapts", "anthropic", message({ thinking: { type: "adaptive" } }), {}],
    [
      "no effort of thinking between tools",
      "anthropic",
      message({ thinking: { type: "between_tools" } }),
      {}
    ],
    [
      "an assistant's calls without a word",
      "openai",
      chat({ messages: [user, { role: "assistant", tool_calls: [call("a", "look", "{}")] }] }),
      {
        messages: [
          user,
          { role: "assistant", content: [{ type: "tool_use", id: "a", name: "look", input: {} }] }
        ]
      }
    ],
    [
      "what a tool gave, also if nothing",
      "anthropic",
      message({ messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] }] }),
      { messages: [{ role: "tool", tool_call_id: "a", content: "" }] }
    ],
    [
      "a user's empty text",
      "anthropic",
      message({ messages: [{ role: "user", content: "" }] }),
      { messages: [{ role: "user", content: "" }] }
    ],
    [
      "instructions between turns",
      "anthropic",
      message({ messages: [user, { role: "system", content: "Now." }, user] }),
      { messages: [user, { role: "system", content: "Now." }, user] }
    ]
  ]
  for (const [name, style, sent, expected] of others) {
    it(`has ${name}`, () => {
      assert.deepStrictEqual(translated(style, sent), { ...defaults[style], ...expected })
    })
  }

  const refused: ReadonlyArray<readonly [name: string, style: Style, sent: object, param: string]> = [
    ["several answers of messages, which would be paid as one", "anthropic", message({ n: 3 }), "n"],
    ["several answers", "openai", chat({ n: 2 }), "n"],
    ["log probabilities", "openai", chat({ logprobs: true }), "logprobs"],
    ["spoken answers", "openai", chat({ modalities: ["text", "audio"] }), "modalities"],
    [
      "JSON without a schema",
      "openai",
      chat({ response_format: { type: "json_object" } }),
      "response_format"
    ],
    ["functions of old", "openai", chat({ functions: [{ name: "f" }] }), "functions"],
    [
      "tools of another kind",
      "openai",
      chat({ tools: [{ type: "custom", custom: { name: "f" } }] }),
      "tools.0"
    ],
    [
      "a choice among some tools",
      "openai",
      chat({ tools: [chatTool], tool_choice: { type: "allowed_tools" } }),
      "tool_choice"
    ],
    [
      "sound",
      "openai",
      chat({ messages: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] }),
      "messages.0.content.0.type"
    ],
    [
      "an image of another scheme",
      "openai",
      chat({
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "file:///etc/passwd" } }] }
        ]
      }),
      "messages.0.content.0.image_url.url"
    ],
    [
      "a file that lies at another provider",
      "openai",
      chat({ messages: [{ role: "user", content: [{ type: "file", file: { file_id: "f" } }] }] }),
      "messages.0.content.0.file.file_data"
    ],
    [
      "arguments that are no JSON",
      "openai",
      chat({ messages: [user, { role: "assistant", tool_calls: [call("a", "look", "{")] }] }),
      "messages.1.tool_calls.0.function.arguments"
    ],
    [
      "a role that nobody knows",
      "openai",
      chat({ messages: [{ role: "oracle", content: "a" }] }),
      "messages.0.role"
    ],
    [
      "tools of the other provider",
      "anthropic",
      message({ tools: [{ type: "web_search_20250305", name: "web_search" }] }),
      "tools.0"
    ],
    ["a container", "anthropic", message({ container: "c" }), "container"],
    [
      "a block that nobody knows",
      "anthropic",
      message({ messages: [{ role: "user", content: [{ type: "oracle" }] }] }),
      "messages.0.content.0.type"
    ],
    [
      "an image that lies at the other provider",
      "anthropic",
      message({
        messages: [{ role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] }]
      }),
      "messages.0.content.0.source"
    ]
  ]
  const said = (style: Style, role: string, content: unknown): object =>
    (style === "openai" ? chat : message)({ messages: [user, { role, content }] })
  const sourced = (type: string, source: object): object => said("anthropic", "user", [{ type, source }])
  const chatTurn = (members: object): object => chat({ messages: [user, { role: "assistant", ...members }] })

  /** They would be lost on the way, and the answer be another than the one that is paid for. */
  const ofAWrongKind: typeof refused = [
    ["an object for system", "anthropic", message({ system: { type: "text", text: "a" } }), "system"],
    ["a number for system", "anthropic", message({ system: 5 }), "system"],
    [
      "a system document",
      "anthropic",
      message({
        system: [
          { type: "text", text: "a" },
          { type: "document", source: {} }
        ]
      }),
      "system.1.type"
    ],
    ["a system number", "anthropic", message({ system: [5] }), "system.0"],
    ["a system block without text", "anthropic", message({ system: [{ type: "text" }] }), "system.0.text"],
    ["a number as a user's content", "anthropic", said("anthropic", "user", 5), "messages.1.content"],
    [
      "a number as an assistant's content",
      "anthropic",
      said("anthropic", "assistant", 5),
      "messages.1.content"
    ],
    ["an object as instructions", "anthropic", said("anthropic", "system", {}), "messages.1.content"],
    [
      "an image as instructions",
      "anthropic",
      said("anthropic", "system", [{ type: "image", source: {} }]),
      "messages.1.content.0.type"
    ],
    ["a user without content", "anthropic", said("anthropic", "user", undefined), "messages.1.content"],
    ["instructions without content", "anthropic", said("anthropic", "system", null), "messages.1.content"],
    [
      "a user's block without text",
      "anthropic",
      said("anthropic", "user", [{ type: "text", text: 5 }]),
      "messages.1.content.0.text"
    ],
    [
      "an assistant's block without text",
      "anthropic",
      said("anthropic", "assistant", [{ type: "text" }]),
      "messages.1.content.0.text"
    ],
    [
      "a number that a tool gave",
      "anthropic",
      said("anthropic", "user", [{ type: "tool_result", tool_use_id: "a", content: 5 }]),
      "messages.1.content.0.content"
    ],
    [
      "a document without text",
      "anthropic",
      sourced("document", { type: "text", data: 5 }),
      "messages.1.content.0.source.data"
    ],
    [
      "an image without data",
      "anthropic",
      sourced("image", { type: "base64", media_type: "image/png" }),
      "messages.1.content.0.source.data"
    ],
    [
      "an image without its URL",
      "anthropic",
      sourced("image", { type: "url" }),
      "messages.1.content.0.source.url"
    ],
    ["a number for tools", "anthropic", message({ tools: 5 }), "tools"],
    [
      "a text for a choice",
      "anthropic",
      message({ tools: [messagesTool], tool_choice: "any" }),
      "tool_choice"
    ],
    ["a number for a choice among no tools", "anthropic", message({ tool_choice: 5 }), "tool_choice"],
    [
      "a number for one tool at a time",
      "anthropic",
      message({ tools: [messagesTool], tool_choice: { type: "auto", disable_parallel_tool_use: 1 } }),
      "tool_choice.disable_parallel_tool_use"
    ],
    ["a number for thinking", "anthropic", message({ thinking: 5 }), "thinking"],
    [
      "thinking of a type that nobody knows",
      "anthropic",
      message({ thinking: { type: "oracle" } }),
      "thinking"
    ],
    [
      "a text for a budget of thinking",
      "anthropic",
      message({ thinking: { type: "enabled", budget_tokens: "4096" } }),
      "thinking.budget_tokens"
    ],
    ["a text for how to answer", "anthropic", message({ output_config: "json" }), "output_config"],
    ["a number for effort", "anthropic", message({ output_config: { effort: 5 } }), "output_config.effort"],
    [
      "a text for a schema of the answer",
      "anthropic",
      message({ output_config: { format: "json" } }),
      "output_config.format"
    ],
    ["a text for tools", "openai", chat({ tools: "x" }), "tools"],
    [
      "a text for a tool's parameters",
      "openai",
      chat({ tools: [{ type: "function", function: { name: "look", parameters: "x" } }] }),
      "tools.0.function.parameters"
    ],
    ["a number for a choice among none", "openai", chat({ tool_choice: 5 }), "tool_choice"],
    [
      "a text for one tool at a time",
      "openai",
      chat({ tools: [chatTool], parallel_tool_calls: "false" }),
      "parallel_tool_calls"
    ],
    ["a number for the form of the answer", "openai", chat({ response_format: 5 }), "response_format"],
    ["a number for effort in words", "openai", chat({ reasoning_effort: 5 }), "reasoning_effort"],
    ["a number for log probabilities", "openai", chat({ logprobs: 1 }), "logprobs"],
    ["a text for modalities", "openai", chat({ modalities: "audio" }), "modalities"],
    ["a text for calls of tools", "openai", chatTurn({ tool_calls: "y" }), "messages.1.tool_calls"],
    [
      "arguments that are no text",
      "openai",
      chatTurn({
        tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: { at: "a" } } }]
      }),
      "messages.1.tool_calls.0.function.arguments"
    ],
    ["a user without a word", "openai", said("openai", "user", null), "messages.1.content"],
    ["a system without a word", "openai", said("openai", "system", undefined), "messages.1.content"],
    ["a developer without a word", "openai", said("openai", "developer", null), "messages.1.content"],
    ["a number as content", "openai", said("openai", "user", 5), "messages.1.content"],
    [
      "a part without text",
      "openai",
      said("openai", "user", [{ type: "text", text: 5 }]),
      "messages.1.content.0.text"
    ],
    [
      "a system part without text",
      "openai",
      said("openai", "system", [{ type: "text" }]),
      "messages.1.content.0.text"
    ]
  ]
  for (const [name, style, sent, param] of [...refused, ...ofAWrongKind]) {
    it(`is refused with ${name}, by the name of the field`, () => {
      const outcome = translate(style, sent)
      if (Result.isSuccess(outcome)) return assert.fail("it was translated")
      assert.strictEqual(outcome.failure.param, param)
      assert.isTrue(outcome.failure.message.startsWith(`${param}: `), outcome.failure.message)
    })
  }

  const Words = Schema.String.check(Schema.isBetweenLength(1, 20))

  it.prop(
    "and back again is the same conversation",
    [
      Schema.Array(Schema.Struct({ said: Words, at: Words, gave: Words })).check(Schema.isBetweenLength(1, 5))
    ],
    ([turns]) => {
      const messages = turns.flatMap(({ at, gave, said }, index) => [
        { role: "user", content: said },
        { role: "assistant", content: said, tool_calls: [call(`c${index}`, "look", JSON.stringify({ at }))] },
        { role: "tool", tool_call_id: `c${index}`, content: gave },
        { role: "assistant", content: gave }
      ])
      const there = translated("openai", chat({ messages, tools: [chatTool], max_tokens: 5 }))
      if (!isObject(there)) return assert.fail()
      const back = translated("anthropic", { ...there, model: "swift-1" })
      assert.deepStrictEqual(back, {
        model: "swift-1-0613",
        messages,
        tools: [chatTool],
        max_completion_tokens: 5
      })
    }
  )
})

const answered = (clientStyle: Style, providerStyle: Style, body: object) => {
  const answer = Result.getOrThrow(
    readAnswer(Buffer.from(JSON.stringify(body)), optionsOf(clientStyle, providerStyle))
  )
  return { ...answer, body: JSON.parse(Buffer.from(answer.bytes).toString()) }
}

const completion = (answer: object, finish_reason: string) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "swift-1-0613",
  choices: [{ index: 0, message: { role: "assistant", ...answer }, logprobs: null, finish_reason }],
  usage: { prompt_tokens: 25, completion_tokens: 50, total_tokens: 75 }
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
  it("of the same style keeps its bytes, or all but the model where that is another", () => {
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

  it("of messages is a chat completion with its text, thinking, tools and usage", () => {
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "text", text: "Loo" },
      { type: "text", text: "king." },
      { type: "tool_use", id: "toolu_a", name: "look", input: { at: "fox" } }
    ]
    const { body, usage } = answered("openai", "anthropic", answer(content, "tool_use"))
    assert.deepStrictEqual(usage, { prompt: 25, completion: 50 })
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
            tool_calls: [call("toolu_a", "look", '{"at":"fox"}')]
          },
          logprobs: null,
          finish_reason: "tool_calls"
        }
      ],
      usage: { prompt_tokens: 25, completion_tokens: 50, total_tokens: 75 }
    })
  })

  it("of chat completions is a message with its text, reasoning, tools and usage", () => {
    const said = {
      content: "Looking.",
      reasoning_content: "Hm.",
      tool_calls: [call("call_a", "look", '{"at":"fox"}')]
    }
    const { body, usage } = answered("anthropic", "openai", completion(said, "tool_calls"))
    assert.deepStrictEqual(usage, { prompt: 25, completion: 50 })
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
    it(`that ended by ${stop} ended by ${finish}`, () => {
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

  it("without usage comes with all its text for counting", () => {
    const { usage: _, ...rest } = completion({ content: "abc", reasoning_content: "r" }, "stop")
    const { generated, usage } = answered("openai", "openai", rest)
    assert.isUndefined(usage)
    assert.strictEqual(generated, "abcr")
  })

  it("that is none is told from one", () => {
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
  it("has its text and usage", () => {
    const { text } = readAll(optionsOf("openai", "anthropic"), messagesText)
    assert.deepStrictEqual(dataIn(text), [
      chatDelta(first),
      chatDelta({ content: "Grüße " }),
      chatDelta({ content: '\u{1f98a} "model":"x"' }),
      chatDelta({}, "stop"),
      chatChunk({
        choices: [],
        usage: {
          prompt_tokens: 25,
          completion_tokens: 50,
          total_tokens: 75,
          prompt_tokens_details: { cached_tokens: 3 }
        }
      }),
      "[DONE]"
    ])
  })

  it("has no usage where none was asked for", () => {
    const { reader, text } = readAll(optionsOf("openai", "anthropic", { asksUsage: false }), messagesText)
    assert.notInclude(text, "usage")
    assert.deepStrictEqual(reader.usage(), { prompt: 25, completion: 50 })
  })

  it("has its thinking, with the signature, and its tools, with arguments also where there are none", () => {
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

  it("ends its role chunk before there is content", () => {
    const piece = readAll(optionsOf("openai", "anthropic"), [
      messageStart,
      blockStart(0, { type: "text", text: "" })
    ])
    assert.deepStrictEqual(dataIn(piece.text), [chatDelta(first)])
    assert.isFalse(piece.last.content)
  })

  it.prop("is the same however its bytes are cut", [Sizes], ([sizes]) => {
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

  it("has its text, and its usage at the end", () => {
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

  it("has every event by its name", () => {
    const { text } = readAll(optionsOf("anthropic", "openai"), chatText)
    for (const frame of text.trim().split("\n\n")) {
      const [event = "", data = ""] = frame.split("\n")
      assert.strictEqual(event.slice(7), JSON.parse(data.slice(6)).type)
    }
  })

  it("has its reasoning and its tools, block after block", () => {
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

  it("keeps the arguments of tools apart that come mixed", () => {
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

  it("ends well when the provider leaves out [DONE]", () => {
    const { last, text } = readAll(optionsOf("anthropic", "openai"), [
      delta({ content: "a" }),
      delta({}, "length")
    ])
    assert.isTrue(last.finished)
    assert.deepStrictEqual(dataIn(text).slice(-2), ended("max_tokens", {}))
  })

  it.prop("is the same however its bytes are cut", [Sizes], ([sizes]) => {
    for (const frames of [chatText, chatTools]) {
      const options = optionsOf("anthropic", "openai")
      assert.strictEqual(readAll(options, cut(frames.join(""), sizes)).text, readAll(options, frames).text)
    }
  })

  it.prop(
    "and back again has the same text",
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
      assert.deepStrictEqual(back.reader.usage(), { prompt: 25, completion: 50 })
      const again = readAll(optionsOf("anthropic", "anthropic"), [back.text])
      assert.strictEqual(again.reader.generated(), texts.join(""))
      assert.isTrue(again.last.finished)
    }
  )
})

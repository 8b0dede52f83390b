/** Requests of one style as a provider of the other style gets them. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { isObject } from "../../src/layers/gateway/json.ts"
import { jsonTool } from "../../src/layers/gateway/translate/messagesRequest.ts"
import type { Style } from "../../src/services/Gateway.ts"
import { endpointOf, toolCall } from "../support/providerStreams.ts"
import { translateRequest, user } from "../support/translation.ts"

const styles = ["openai", "anthropic"] as const

/** A body with these members, as a provider of the other style gets it. */
const translate = (style: Style, members: object) => translateRequest(endpointOf[style], members)

const translated = (style: Style, body: object): unknown => Result.getOrThrow(translate(style, body))

const text = (words: string) => ({ type: "text", text: words })

/** One message of a user with these parts or blocks. */
const ofUser = (...content: ReadonlyArray<object>) => ({ messages: [{ role: "user", content }] })

const png = "data:image/png;base64,aWNvbg=="
const parameters = { type: "object", properties: { at: { type: "string" } } }
const chatTool = { type: "function", function: { name: "look", description: "Looks.", parameters } }
const messagesTool = { name: "look", description: "Looks.", input_schema: parameters }
type Row = readonly [name: string, style: Style, sent: object, expected: object]

const both = (name: string, chatMembers: object, messagesMembers: object): ReadonlyArray<Row> => [
  [`${name}, for a provider of messages`, "openai", chatMembers, { ...messagesMembers }],
  [`${name}, for a provider of chat completions`, "anthropic", messagesMembers, { ...chatMembers }]
]

/** Members with the same meaning in both styles, so the table is read in both directions. */
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
    ofUser(text("See:"), { type: "image_url", image_url: { url: png } }),
    ofUser(text("See:"), {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "aWNvbg==" }
    })
  ),
  ...both(
    "an image by its address",
    ofUser({ type: "image_url", image_url: { url: "https://example.com/a.png" } }),
    ofUser({ type: "image", source: { type: "url", url: "https://example.com/a.png" } })
  ),
  ...both(
    "a document",
    ofUser({ type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,cGRm" } }),
    ofUser({
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "cGRm" },
      title: "a.pdf"
    })
  ),
  ...both(
    "tools called together and their results",
    {
      messages: [
        user,
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [toolCall("a", "look", '{"at":"fox"}'), toolCall("b", "wait", "{}")]
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
            text("Looking."),
            { type: "tool_use", id: "a", name: "look", input: { at: "fox" } },
            { type: "tool_use", id: "b", name: "wait", input: {} }
          ]
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "a fox" },
            { type: "tool_result", tool_use_id: "b", content: "done" },
            text("So?")
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
    it(`A request has ${name} in the other style as well`, () => {
      assert.deepStrictEqual(translated(style, sent), { ...defaults[style], ...expected })
    })
  }

  const others: Readonly<
    Record<Style, ReadonlyArray<readonly [name: string, sent: object, expected: object]>>
  > = {
    openai: [
      ["the client's maximum", { max_completion_tokens: 7 }, { max_tokens: 7 }],
      ["no more temperature than 1", { temperature: 1.7 }, { temperature: 1 }],
      ["one stop sequence as a list", { stop: "a" }, { stop_sequences: ["a"] }],
      ["a stream", { stream: true }, { stream: true }],
      [
        "a tool that must be called for JSON without a schema",
        { response_format: { type: "json_object" } },
        { tools: [jsonTool], tool_choice: { type: "tool", name: jsonTool.name } }
      ],
      [
        "such a tool where the caller's tools may not be called",
        { response_format: { type: "json_object" }, tools: [chatTool], tool_choice: "none" },
        { tools: [messagesTool, jsonTool], tool_choice: { type: "tool", name: jsonTool.name } }
      ],
      [
        "a choice between such a tool and the caller's tools",
        { response_format: { type: "json_object" }, tools: [chatTool], parallel_tool_calls: false },
        {
          tools: [messagesTool, jsonTool],
          tool_choice: { type: "any", disable_parallel_tool_use: true }
        }
      ],
      [
        "only the caller's tools where one must be called",
        { response_format: { type: "json_object" }, tools: [chatTool], tool_choice: "required" },
        { tools: [messagesTool], tool_choice: { type: "any" } }
      ],
      [
        "instructions of developers, wherever they stand, as system text",
        { messages: [{ role: "system", content: "a" }, user, { role: "developer", content: "b" }] },
        {
          system: [text("a"), text("b")]
        }
      ],
      [
        "instructions alone as a user's message",
        { messages: [{ role: "system", content: "a" }] },
        { messages: [{ role: "user", content: "a" }] }
      ],
      [
        "marks for the provider's cache",
        ofUser({ type: "text", text: "a", cache_control: { type: "ephemeral" } }),
        ofUser({ type: "text", text: "a", cache_control: { type: "ephemeral" } })
      ],
      ["neighbours of one role as one message", { messages: [user, user] }, ofUser(text("hi"), text("hi"))],
      ["no empty texts", { messages: [user, { role: "assistant", content: "" }] }, {}],
      [
        "thinking, which is a field of messages",
        { thinking: { type: "enabled", budget_tokens: 2000 }, top_k: 5 },
        { thinking: { type: "enabled", budget_tokens: 2000 }, top_k: 5 }
      ],
      [
        "no thinking where no effort is wanted",
        { reasoning_effort: "none" },
        { thinking: { type: "disabled" } }
      ],
      ["little effort for a minimum", { reasoning_effort: "minimal" }, { output_config: { effort: "low" } }],
      [
        "thinking that came from the provider, signed",
        {
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
              tool_calls: [toolCall("a", "look", "")]
            }
          ]
        },
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
        { tools: [{ type: "function", function: { name: "wait" } }] },
        { tools: [{ name: "wait", input_schema: { type: "object", properties: {} } }] }
      ],
      [
        "no hints that messages do not know",
        {
          seed: 1,
          logit_bias: {},
          presence_penalty: 1,
          frequency_penalty: 1,
          store: true,
          verbosity: "low",
          n: 1,
          logprobs: false,
          parallel_tool_calls: true
        },
        {}
      ],
      [
        "no members that are null",
        {
          tools: null,
          tool_choice: null,
          parallel_tool_calls: null,
          response_format: null,
          reasoning_effort: null,
          modalities: null,
          logprobs: null
        },
        {}
      ],
      ["no empty list of tools", { tools: [], tool_choice: "auto" }, {}],
      [
        "an assistant's calls without text",
        { messages: [user, { role: "assistant", tool_calls: [toolCall("a", "look", "{}")] }] },
        {
          messages: [
            user,
            { role: "assistant", content: [{ type: "tool_use", id: "a", name: "look", input: {} }] }
          ]
        }
      ]
    ],
    anthropic: [
      [
        "a stream with its usage",
        { stream: true },
        { stream: true, stream_options: { include_usage: true } }
      ],
      [
        "system blocks as one text",
        {
          system: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }, text("b")]
        },
        { messages: [{ role: "system", content: "a\n\nb" }, user] }
      ],
      [
        "no hints that chat completions do not know",
        {
          top_k: 5,
          service_tier: "auto",
          cache_control: { type: "ephemeral" },
          thinking: { type: "disabled" }
        },
        {}
      ],
      [
        "effort for a budget of thinking",
        { thinking: { type: "enabled", budget_tokens: 4096 } },
        { reasoning_effort: "medium" }
      ],
      ["the most effort there is", { output_config: { effort: "max" } }, { reasoning_effort: "xhigh" }],
      [
        "no thinking of earlier turns",
        {
          messages: [
            user,
            {
              role: "assistant",
              content: [{ type: "thinking", thinking: "a", signature: "b" }, text("c")]
            },
            user
          ]
        },
        { messages: [user, { role: "assistant", content: "c" }, user] }
      ],
      [
        "an image from a tool as the user's",
        ofUser({
          type: "tool_result",
          tool_use_id: "a",
          content: [text("see"), { type: "image", source: { type: "url", url: "https://example.com/a.png" } }]
        }),
        {
          messages: [
            { role: "tool", tool_call_id: "a", content: "see" },
            {
              role: "user",
              content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }]
            }
          ]
        }
      ],
      [
        "no members of messages that are null",
        { system: null, tools: null, tool_choice: null, thinking: null, output_config: null },
        {}
      ],
      ["no format and effort that are null", { output_config: { effort: null, format: null } }, {}],
      ["no empty list of messages' tools", { tools: [], tool_choice: { type: "auto" } }, {}],
      ["no effort of thinking that adapts", { thinking: { type: "adaptive" } }, {}],
      ["no effort of thinking between tools", { thinking: { type: "between_tools" } }, {}],
      [
        "a tool's result, also an empty one",
        ofUser({ type: "tool_result", tool_use_id: "a" }),
        { messages: [{ role: "tool", tool_call_id: "a", content: "" }] }
      ],
      [
        "a user's empty text",
        { messages: [{ role: "user", content: "" }] },
        { messages: [{ role: "user", content: "" }] }
      ],
      [
        "instructions between turns",
        { messages: [user, { role: "system", content: "Now." }, user] },
        { messages: [user, { role: "system", content: "Now." }, user] }
      ]
    ]
  }
  for (const style of styles) {
    for (const [name, sent, expected] of others[style]) {
      it(`A request in the other style has ${name}`, () => {
        assert.deepStrictEqual(translated(style, sent), { ...defaults[style], ...expected })
      })
    }
  }

  type Rejections = Readonly<
    Record<Style, ReadonlyArray<readonly [name: string, sent: object, param: string]>>
  >

  const turn = (role: string, content: unknown) => ({ messages: [user, { role, content }] })
  const sourced = (type: string, source: object) => turn("user", [{ type, source }])
  const chatTurn = (members: object) => ({ messages: [user, { role: "assistant", ...members }] })

  const unknown: Rejections = {
    openai: [
      ["several answers", { n: 2 }, "n"],
      ["log probabilities", { logprobs: true }, "logprobs"],
      [
        "JSON without a schema where thinking keeps tools from being demanded",
        { response_format: { type: "json_object" }, thinking: { type: "adaptive" } },
        "response_format"
      ],
      ["deprecated functions", { functions: [{ name: "f" }] }, "functions"],
      ["tools of another kind", { tools: [{ type: "custom", custom: { name: "f" } }] }, "tools.0"],
      [
        "a choice among some tools",
        { tools: [chatTool], tool_choice: { type: "allowed_tools" } },
        "tool_choice"
      ],
      ["sound", ofUser({ type: "input_audio", input_audio: {} }), "messages.0.content.0.type"],
      [
        "an image of another scheme",
        ofUser({ type: "image_url", image_url: { url: "file:///etc/passwd" } }),
        "messages.0.content.0.image_url.url"
      ],
      [
        "a file that is stored at another provider",
        ofUser({ type: "file", file: { file_id: "f" } }),
        "messages.0.content.0.file.file_data"
      ],
      [
        "arguments that are no JSON",
        { messages: [user, { role: "assistant", tool_calls: [toolCall("a", "look", "{")] }] },
        "messages.1.tool_calls.0.function.arguments"
      ],
      ["an unknown role", { messages: [{ role: "oracle", content: "a" }] }, "messages.0.role"]
    ],
    anthropic: [
      ["several answers of messages, which would be paid as one", { n: 3 }, "n"],
      [
        "tools of the other provider",
        { tools: [{ type: "web_search_20250305", name: "web_search" }] },
        "tools.0"
      ],
      ["a block that nobody knows", ofUser({ type: "oracle" }), "messages.0.content.0.type"],
      [
        "an image that is stored at the other provider",
        ofUser({ type: "image", source: { type: "file", file_id: "f" } }),
        "messages.0.content.0.source"
      ]
    ]
  }

  /** The members would be lost, and the answer would differ from the paid one. */
  const ofAWrongKind: Rejections = {
    openai: [
      ["a text for tools", { tools: "x" }, "tools"],
      [
        "a text for a tool's parameters",
        { tools: [{ type: "function", function: { name: "look", parameters: "x" } }] },
        "tools.0.function.parameters"
      ],
      ["a number for a choice among none", { tool_choice: 5 }, "tool_choice"],
      [
        "a text for one tool at a time",
        { tools: [chatTool], parallel_tool_calls: "false" },
        "parallel_tool_calls"
      ],
      ["a number for the form of the answer", { response_format: 5 }, "response_format"],
      ["a number for effort in words", { reasoning_effort: 5 }, "reasoning_effort"],
      ["a number for log probabilities", { logprobs: 1 }, "logprobs"],
      ["a text for calls of tools", chatTurn({ tool_calls: "y" }), "messages.1.tool_calls"],
      [
        "arguments that are no text",
        chatTurn({
          tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: { at: "a" } } }]
        }),
        "messages.1.tool_calls.0.function.arguments"
      ],
      ["a user without a word", turn("user", null), "messages.1.content"],
      ["a system without a word", turn("system", undefined), "messages.1.content"],
      ["a developer without a word", turn("developer", null), "messages.1.content"],
      ["a number as content", turn("user", 5), "messages.1.content"],
      ["a part without text", turn("user", [{ type: "text", text: 5 }]), "messages.1.content.0.text"],
      ["a system part without text", turn("system", [{ type: "text" }]), "messages.1.content.0.text"]
    ],
    anthropic: [
      ["an object for system", { system: text("a") }, "system"],
      ["a number for system", { system: 5 }, "system"],
      [
        "a system document",
        {
          system: [text("a"), { type: "document", source: {} }]
        },
        "system.1.type"
      ],
      ["a system number", { system: [5] }, "system.0"],
      ["a system block without text", { system: [{ type: "text" }] }, "system.0.text"],
      ["a number as a user's content", turn("user", 5), "messages.1.content"],
      ["a number as an assistant's content", turn("assistant", 5), "messages.1.content"],
      ["an object as instructions", turn("system", {}), "messages.1.content"],
      [
        "an image as instructions",
        turn("system", [{ type: "image", source: {} }]),
        "messages.1.content.0.type"
      ],
      ["a user without content", turn("user", undefined), "messages.1.content"],
      ["instructions without content", turn("system", null), "messages.1.content"],
      ["a user's block without text", turn("user", [{ type: "text", text: 5 }]), "messages.1.content.0.text"],
      [
        "an assistant's block without text",
        turn("assistant", [{ type: "text" }]),
        "messages.1.content.0.text"
      ],
      [
        "a number as a tool's result",
        turn("user", [{ type: "tool_result", tool_use_id: "a", content: 5 }]),
        "messages.1.content.0.content"
      ],
      [
        "a document without text",
        sourced("document", { type: "text", data: 5 }),
        "messages.1.content.0.source.data"
      ],
      [
        "an image without data",
        sourced("image", { type: "base64", media_type: "image/png" }),
        "messages.1.content.0.source.data"
      ],
      ["an image without its URL", sourced("image", { type: "url" }), "messages.1.content.0.source.url"],
      ["a number for tools", { tools: 5 }, "tools"],
      ["a text for a choice", { tools: [messagesTool], tool_choice: "any" }, "tool_choice"],
      ["a number for a choice among no tools", { tool_choice: 5 }, "tool_choice"],
      [
        "a number for one tool at a time",
        { tools: [messagesTool], tool_choice: { type: "auto", disable_parallel_tool_use: 1 } },
        "tool_choice.disable_parallel_tool_use"
      ],
      ["a number for thinking", { thinking: 5 }, "thinking"],
      ["thinking of an unknown type", { thinking: { type: "oracle" } }, "thinking"],
      [
        "a text for a budget of thinking",
        { thinking: { type: "enabled", budget_tokens: "4096" } },
        "thinking.budget_tokens"
      ],
      ["a text for the output configuration", { output_config: "json" }, "output_config"],
      ["a number for effort", { output_config: { effort: 5 } }, "output_config.effort"],
      ["a text for a schema of the answer", { output_config: { format: "json" } }, "output_config.format"]
    ]
  }

  for (const style of styles) {
    for (const [name, sent, param] of [...unknown[style], ...ofAWrongKind[style]]) {
      it(`A request with ${name} is rejected by the name of the field`, () => {
        const outcome = translate(style, sent)
        if (Result.isSuccess(outcome)) return assert.fail("it was translated")
        assert.strictEqual(outcome.failure.param, param)
        assert.isTrue(outcome.failure.message.startsWith(`${param}: `), outcome.failure.message)
      })
    }
  }

  const Words = Schema.String.check(Schema.isBetweenLength(1, 20))

  it.prop(
    "A conversation translated there and back is the same",
    [
      Schema.Array(Schema.Struct({ question: Words, at: Words, gave: Words })).check(
        Schema.isBetweenLength(1, 5)
      )
    ],
    ([turns]) => {
      const messages = turns.flatMap(({ at, gave, question }, index) => [
        { role: "user", content: question },
        {
          role: "assistant",
          content: question,
          tool_calls: [toolCall(`c${index}`, "look", JSON.stringify({ at }))]
        },
        { role: "tool", tool_call_id: `c${index}`, content: gave },
        { role: "assistant", content: gave }
      ])
      const there = translated("openai", { messages, tools: [chatTool], max_tokens: 5 })
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

/**
 * Every field that the official clients can send has a fate at a provider of the other style. The clients' types type the tables: a new
 * field does not compile until its fate is decided.
 */
import type Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type OpenAI from "openai"
import { pricedFeaturesIn } from "../../src/layers/gateway/pricedFeatures.ts"
import { isObject } from "../../src/layers/gateway/json.ts"
import { finishReason } from "../../src/layers/gateway/translate/chatAnswer.ts"
import { stopReason } from "../../src/layers/gateway/translate/messagesAnswer.ts"
import { translateRequest, user } from "../support/translation.ts"

/**
 * The fate of a field: members that the provider gets, none of it, a rejection with its name, or a rejection unless the operator prices
 * it.
 */
type Fate = object | "left out" | "refused" | "priced"

type Fields<Params> = { readonly [Name in keyof Params]-?: readonly [value: NonNullable<Params[Name]>, Fate] }

type ChatParams = OpenAI.ChatCompletionCreateParamsStreaming
type MessagesParams = Anthropic.MessageCreateParamsStreaming
type ResponsesParams = OpenAI.Responses.ResponseCreateParamsStreaming

const schema = { type: "object" as const, properties: {} }
const called = { type: "function" as const, function: { name: "look", parameters: schema } }
const chatTools = { tools: [called] }
const messagesTools = { tools: [{ name: "look", input_schema: schema }] }

const chat: Fields<ChatParams> = {
  messages: [[user], { messages: [user] }],
  model: ["swift-1", { model: "swift-1-0613" }],
  stream: [true, { stream: true }],
  stream_options: [{ include_usage: true }, "left out"],
  max_tokens: [7, { max_tokens: 7 }],
  max_completion_tokens: [7, { max_tokens: 7 }],
  n: [2, "refused"],
  stop: ["x", { stop_sequences: ["x"] }],
  temperature: [0.5, { temperature: 0.5 }],
  top_p: [0.5, { top_p: 0.5 }],
  tools: [[called], messagesTools],
  tool_choice: ["required", { tool_choice: { type: "any" } }],
  parallel_tool_calls: [false, { tool_choice: { type: "auto", disable_parallel_tool_use: true } }],
  functions: [[{ name: "look" }], "refused"],
  function_call: ["auto", "left out"],
  response_format: [
    { type: "json_schema", json_schema: { name: "answer", schema } },
    { output_config: { format: { type: "json_schema", schema } } }
  ],
  reasoning_effort: ["low", { output_config: { effort: "low" } }],
  user: ["u", { metadata: { user_id: "u" } }],
  safety_identifier: ["u", { metadata: { user_id: "u" } }],
  service_tier: ["flex", "priced"],
  audio: [{ format: "mp3", voice: "ash" }, "priced"],
  modalities: [["audio"], "priced"],
  prediction: [{ type: "content", content: "x" }, "priced"],
  web_search_options: [{}, "priced"],
  prompt_cache_retention: ["24h", "priced"],
  logprobs: [true, "refused"],
  top_logprobs: [2, "left out"],
  frequency_penalty: [1, "left out"],
  presence_penalty: [1, "left out"],
  logit_bias: [{ 5: 1 }, "left out"],
  metadata: [{ a: "b" }, "left out"],
  moderation: [{ model: "omni-moderation-latest" }, "left out"],
  prompt_cache_key: ["k", "left out"],
  prompt_cache_options: [{}, "left out"],
  seed: [1, "left out"],
  store: [true, "left out"],
  verbosity: ["low", "left out"]
}

const messages: Fields<MessagesParams> = {
  messages: [[user], { messages: [user] }],
  model: ["swift-1", { model: "swift-1-0613" }],
  stream: [true, { stream: true, stream_options: { include_usage: true } }],
  max_tokens: [7, { max_completion_tokens: 7 }],
  system: ["Be brief.", { messages: [{ role: "system", content: "Be brief." }, user] }],
  stop_sequences: [["x"], { stop: ["x"] }],
  tools: [[{ name: "look", input_schema: schema }], chatTools],
  tool_choice: [{ type: "any" }, { tool_choice: "required" }],
  output_config: [{ effort: "low" }, { reasoning_effort: "low" }],
  thinking: [{ type: "enabled", budget_tokens: 2048 }, { reasoning_effort: "medium" }],
  metadata: [{ user_id: "u" }, { user: "u" }],
  container: ["c", "priced"],
  inference_geo: ["us", "priced"],
  speed: ["fast", "priced"],
  service_tier: ["standard_only", "left out"],
  cache_control: [{ type: "ephemeral" }, "left out"],
  diagnostics: [{}, "left out"],
  user_profile_id: ["u", "left out"],
  workspace_id: ["w", "left out"]
}

const responses: Fields<ResponsesParams> = {
  input: ["hi", { messages: [user] }],
  model: ["swift-1", { model: "swift-1-0613" }],
  stream: [true, { stream: true, stream_options: { include_usage: true } }],
  stream_options: [{ include_obfuscation: false }, "left out"],
  instructions: ["Be brief.", { messages: [{ role: "system", content: "Be brief." }, user] }],
  max_output_tokens: [7, { max_completion_tokens: 7 }],
  temperature: [0.5, { temperature: 0.5 }],
  top_p: [0.5, { top_p: 0.5 }],
  tools: [[{ type: "function", name: "look", parameters: schema, strict: false }], chatTools],
  tool_choice: ["required", { tool_choice: "required" }],
  parallel_tool_calls: [false, { parallel_tool_calls: false }],
  reasoning: [{ effort: "low" }, { reasoning_effort: "low" }],
  text: [{ format: { type: "json_object" } }, { response_format: { type: "json_object" } }],
  user: ["u", { user: "u" }],
  safety_identifier: ["u", { safety_identifier: "u" }],
  prompt_cache_key: ["k", { prompt_cache_key: "k" }],
  prompt_cache_retention: ["24h", "priced"],
  service_tier: ["flex", "priced"],
  metadata: [{ a: "b" }, "left out"],
  max_tool_calls: [3, "left out"],
  include: [["reasoning.encrypted_content"], "left out"],
  access_programs: [{}, "refused"],
  background: [true, "refused"],
  context_management: [[{ type: "compaction" }], "refused"],
  conversation: ["c", "refused"],
  image: [{}, "refused"],
  moderation: [{ model: "omni-moderation-latest" }, "refused"],
  previous_response_id: ["r", "refused"],
  prompt: [{ id: "p" }, "refused"],
  prompt_cache_options: [{}, "refused"],
  store: [true, "refused"],
  top_logprobs: [2, "refused"],
  truncation: ["auto", "refused"]
}

/** Members that a field needs to have a meaning. */
const beside: Readonly<Record<string, object>> = {
  "chat.stream_options": { stream: true },
  "chat.tool_choice": chatTools,
  "chat.parallel_tool_calls": chatTools,
  "messages.tool_choice": messagesTools,
  "responses.tool_choice": { tools: responses.tools[0] },
  "responses.parallel_tool_calls": { tools: responses.tools[0] },
  "responses.stream_options": { stream: true }
}

const tables = { chat, messages, responses } as const
const styleOf = { chat: "openai", messages: "anthropic", responses: "openai" } as const

for (const kind of ["chat", "messages", "responses"] as const) {
  describe(`A field of a request for ${kind}, at a provider of the other style`, () => {
    const others = (name: string) => beside[`${kind}.${name}`] ?? {}
    for (const [name, [value, fate]] of Object.entries(tables[kind])) {
      const told = typeof fate === "string" ? fate : `sent as ${Object.keys(fate).join(" and ")}`
      it(`The field ${name} of ${kind} is ${told}`, () => {
        const body = { ...others(name), [name]: value }
        if (fate === "priced") {
          const params = pricedFeaturesIn(styleOf[kind], body, {}).map(({ param }) => param)
          return assert.deepStrictEqual(params, [name])
        }
        const outcome = translateRequest(kind, body)
        if (fate === "refused") {
          if (Result.isSuccess(outcome)) return assert.fail("it was translated")
          return assert.strictEqual(outcome.failure.param?.split(".")[0], name)
        }
        const sent = Result.getOrThrow(outcome)
        if (!isObject(sent)) return assert.fail("no object was sent")
        if (fate === "left out") {
          return assert.deepStrictEqual(sent, Result.getOrThrow(translateRequest(kind, others(name))))
        }
        assert.deepInclude(sent, fate)
      })
    }
  })
}

/** The fate of content: the provider gets it, gets only the rest, or the body is rejected with its place. */
type ContentFate = readonly [content: object, fate: "sent" | "left out" | "refused"]

/** Each kind of a union. */
type Kinds<Kind extends string> = Readonly<Record<Kind, ContentFate>>

const refused: ContentFate = [{}, "refused"]
const image = "data:image/png;base64,Zm94"
const source = { type: "base64", media_type: "image/png", data: "Zm94" }

const chatRoles: Kinds<OpenAI.ChatCompletionMessageParam["role"]> = {
  developer: [{ content: "fox" }, "sent"],
  system: [{ content: "fox" }, "sent"],
  user: [{ content: "fox" }, "sent"],
  assistant: [{ content: "fox" }, "sent"],
  tool: [{ tool_call_id: "c", content: "fox" }, "sent"],
  function: refused
}

const chatParts: Kinds<OpenAI.ChatCompletionContentPart["type"]> = {
  text: [{ text: "fox" }, "sent"],
  image_url: [{ image_url: { url: image } }, "sent"],
  file: [{ file: { filename: "fox", file_data: image } }, "sent"],
  input_audio: refused
}

const chatCalls: Kinds<OpenAI.ChatCompletionMessageToolCall["type"]> = {
  function: [{ id: "c", function: { name: "fox", arguments: "{}" } }, "sent"],
  custom: refused
}

const messagesBlocks: Kinds<Anthropic.ContentBlockParam["type"]> = {
  text: [{ text: "fox" }, "sent"],
  image: [{ source }, "sent"],
  document: [{ source }, "sent"],
  tool_use: [{ id: "c", name: "fox", input: {} }, "sent"],
  thinking: [{ thinking: "fox", signature: "c2ln" }, "left out"],
  redacted_thinking: [{ data: "fox" }, "left out"],
  tool_result: [{ tool_use_id: "c", content: "fox" }, "sent"],
  search_result: refused,
  server_tool_use: refused,
  web_search_tool_result: refused,
  web_fetch_tool_result: refused,
  code_execution_tool_result: refused,
  bash_code_execution_tool_result: refused,
  text_editor_code_execution_tool_result: refused,
  tool_search_tool_result: refused,
  container_upload: refused
}

const responsesItems: Kinds<NonNullable<OpenAI.Responses.ResponseInputItem["type"]>> = {
  message: [{ role: "user", content: "fox" }, "sent"],
  function_call: [{ call_id: "c", name: "fox", arguments: "{}" }, "sent"],
  function_call_output: [{ call_id: "c", output: "fox" }, "sent"],
  reasoning: [{ id: "r", summary: [] }, "left out"],
  additional_tools: refused,
  apply_patch_call: refused,
  apply_patch_call_output: refused,
  code_interpreter_call: refused,
  compaction: refused,
  compaction_trigger: refused,
  computer_call: refused,
  computer_call_output: refused,
  configuration_update: refused,
  custom_tool_call: refused,
  custom_tool_call_output: refused,
  file_search_call: refused,
  image_generation_call: refused,
  item_reference: refused,
  local_shell_call: refused,
  local_shell_call_output: refused,
  mcp_approval_request: refused,
  mcp_approval_response: refused,
  mcp_call: refused,
  mcp_list_tools: refused,
  program: refused,
  program_output: refused,
  shell_call: refused,
  shell_call_output: refused,
  tool_search_call: refused,
  tool_search_output: refused,
  web_search_call: refused
}

const responsesContent: Kinds<OpenAI.Responses.ResponseInputContent["type"]> = {
  input_text: [{ text: "fox" }, "sent"],
  input_image: [{ detail: "auto", image_url: image }, "sent"],
  input_file: [{ filename: "fox", file_data: image }, "sent"]
}

const ofUser = (content: object) => ({
  messages: [{ role: "user", content: [content, { type: "text", text: "hi" }] }]
})
const ofAssistant = (message: object) => ({ messages: [user, { role: "assistant", ...message }] })

/** Only a user shows images and gives results. */
const blockOf = (type: string, more: object) =>
  ["image", "document", "tool_result"].includes(type)
    ? ofUser({ type, ...more })
    : ofAssistant({
        content: [
          { type: "text", text: "hi" },
          { type, ...more }
        ]
      })

/** The place of each union's content in a body. */
const places = {
  "a message of chat": ["chat", chatRoles, (role, more) => ({ messages: [user, { role, ...more }] })],
  "a part of a message of chat": ["chat", chatParts, (type, more) => ofUser({ type, ...more })],
  "a call of a message of chat": [
    "chat",
    chatCalls,
    (type, more) => ofAssistant({ content: "hi", tool_calls: [{ type, ...more }] })
  ],
  "a block of messages": ["messages", messagesBlocks, blockOf],
  "an item of responses": [
    "responses",
    responsesItems,
    (type, more) => ({ input: [user, { type, ...more }] })
  ],
  "content of responses": [
    "responses",
    responsesContent,
    (type, more) => ({ input: [{ role: "user", content: [{ type, ...more }] }] })
  ]
} as const satisfies Readonly<
  Record<string, readonly [keyof typeof tables, Kinds<string>, (kind: string, more: object) => object]>
>

for (const [place, [kind, kinds, bodyOf]] of Object.entries(places)) {
  describe(`Content of a client as ${place}, at a provider of the other style`, () => {
    for (const [name, [content, fate]] of Object.entries<ContentFate>(kinds)) {
      it(`Content ${name} as ${place} is ${fate}`, () => {
        const outcome = translateRequest(kind, bodyOf(name, content))
        if (fate === "refused") {
          if (Result.isSuccess(outcome)) return assert.fail("it was translated")
          return assert.match(outcome.failure.param ?? "", /^(?:messages|input)\.\d/)
        }
        // Images and files contain the text in base64.
        assert.strictEqual(/fox|Zm94/.test(JSON.stringify(Result.getOrThrow(outcome))), fate === "sent")
      })
    }
  })
}

const stopReasons: Readonly<Record<Anthropic.StopReason, OpenAI.ChatCompletion.Choice["finish_reason"]>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter"
}

const finishReasons: Readonly<Record<OpenAI.ChatCompletion.Choice["finish_reason"], Anthropic.StopReason>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal"
}

describe("A reason why an answer ends", () => {
  for (const [reason, told] of Object.entries(stopReasons)) {
    it(`The reason ${reason} of messages is ${told} in chat completions`, () => {
      assert.strictEqual(finishReason(reason), told)
    })
  }
  for (const [reason, told] of Object.entries(finishReasons)) {
    it(`The reason ${reason} of chat completions is ${told} in messages`, () => {
      assert.strictEqual(stopReason(reason), told)
    })
  }
})

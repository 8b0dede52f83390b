/**
 * Translates a request for messages to one for chat completions. Members of messages are translated, or rejected if the answer
 * would differ from the request, or left out if they are hints; all others are forwarded.
 */
import { isAbsent, isObject, members, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import type { ReasoningContent } from "../thinking.ts"
import type { Admitted, Target } from "../types.ts"
import { chatToolId } from "./toolIds.ts"
import {
  contentExpected,
  expectedFlag,
  expectedList,
  expectedObject,
  expectedText,
  rejectMissing,
  untranslatable
} from "./untranslatable.ts"

export const chatRequest = (
  { body, maxTokens, stream }: Admitted,
  { model, reasoningContent }: Target
): JsonObject => {
  // The reservation covers only one answer, because messages have no `n`.
  if (!isAbsent(body.n) && body.n !== 1) untranslatable("n", "Expected 1: messages give one answer a call")
  const travelling = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !known.has(name) && value !== undefined)
  )
  const { metadata, stop_sequences, temperature, top_p } = body
  const user = isObject(metadata) && typeof metadata.user_id === "string" ? metadata.user_id : undefined
  return present({
    ...travelling,
    model,
    messages: chatMessages(body, reasoningContent),
    max_completion_tokens: maxTokens,
    ...toolsOf(body),
    stop: isAbsent(stop_sequences) ? undefined : stop_sequences,
    temperature: isAbsent(temperature) ? undefined : temperature,
    top_p: isAbsent(top_p) ? undefined : top_p,
    reasoning_effort: reasoningEffort(body),
    response_format: responseFormat(body),
    user,
    stream: stream ? true : undefined,
    stream_options: stream ? { include_usage: true } : undefined
  })
}

/** Members of messages; none of them is forwarded unchanged. */
const known = members(`
  messages system model stream max_tokens n stop_sequences temperature top_p top_k tools tool_choice
  thinking output_config metadata service_tier cache_control diagnostics inference_geo speed
  context_management container mcp_servers user_profile_id workspace_id
`)

const toolOf = (tool: Json, index: number): JsonObject => {
  if (!isObject(tool) || (!isAbsent(tool.type) && tool.type !== "custom")) {
    return untranslatable(
      `tools.${index}`,
      "Expected a tool with an input_schema: the provider has none of its own"
    )
  }
  const { description, input_schema, name, strict } = tool
  return {
    type: "function",
    function: present({
      name: name ?? "",
      description: isAbsent(description) ? undefined : description,
      parameters: input_schema ?? { type: "object", properties: {} },
      strict: strict === true ? true : undefined
    })
  }
}

const choiceExpected = "Expected the type auto, any, tool or none"

const toolChoice = (choice: JsonObject): Json => {
  switch (choice.type) {
    case "auto":
    case "none":
      return choice.type
    case "any":
      return "required"
    case "tool":
      return { type: "function", function: { name: textOf(choice.name) } }
    default:
      return untranslatable("tool_choice", choiceExpected)
  }
}

const toolsOf = (body: JsonObject): JsonObject => {
  const tools = expectedList(body.tools, "tools", "Expected a list of tools")
  const choice = expectedObject(body.tool_choice, "tool_choice", choiceExpected)
  if (tools.length === 0) return {}
  const path = "tool_choice.disable_parallel_tool_use"
  const isOneAtATime = expectedFlag(choice?.disable_parallel_tool_use, path) === true
  return present({
    tools: tools.map(toolOf),
    tool_choice: choice === undefined ? undefined : toolChoice(choice),
    parallel_tool_calls: isOneAtATime ? false : undefined
  })
}

const effortOfBudget = (budget: Json | undefined): string => {
  if (isAbsent(budget)) return "high"
  if (typeof budget !== "number") return untranslatable("thinking.budget_tokens", "Expected a number")
  if (budget >= 8192) return "high"
  return budget >= 2048 ? "medium" : "low"
}

const thinkingExpected = "Expected the type enabled, disabled, adaptive or between_tools"

const effortOfThinking = (body: JsonObject): string | undefined => {
  const thinking = expectedObject(body.thinking, "thinking", thinkingExpected)
  switch (thinking?.type) {
    case "enabled":
      return effortOfBudget(thinking.budget_tokens)
    // The provider decides.
    case "adaptive":
    case "between_tools":
    case "disabled":
      return undefined
    default:
      return thinking === undefined ? undefined : untranslatable("thinking", thinkingExpected)
  }
}

const outputConfig = ({ output_config }: JsonObject): JsonObject =>
  expectedObject(output_config, "output_config", "Expected an object") ?? {}

/** The effort that the body names, or that follows from a budget of thinking. */
const reasoningEffort = (body: JsonObject): string | undefined => {
  const ofThinking = effortOfThinking(body)
  const { effort } = outputConfig(body)
  if (isAbsent(effort)) return ofThinking
  return effort === "max" ? "xhigh" : expectedText(effort, "output_config.effort")
}

const responseFormat = (body: JsonObject): JsonObject | undefined => {
  const path = "output_config.format"
  const format = expectedObject(outputConfig(body).format, path, "Expected a json_schema")
  if (format === undefined) return undefined
  const { schema, type } = format
  if (type !== "json_schema" || !isObject(schema)) return untranslatable(path, "Expected a json_schema")
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } }
}

/* Translates the conversation: system text, turns and blocks of messages become messages of chat completions. */

const listOf = (content: Json | undefined, path: string): ReadonlyArray<Json> =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : expectedList(content, path, contentExpected)

const base64Url = ({ data, media_type }: JsonObject, path: string): string =>
  `data:${expectedText(media_type, `${path}.media_type`)};base64,${expectedText(data, `${path}.data`)}`

const imagePart = (source: Json | undefined, path: string): JsonObject => {
  if (isObject(source) && source.type === "url") {
    return { type: "image_url", image_url: { url: expectedText(source.url, `${path}.url`) } }
  }
  if (isObject(source) && source.type === "base64") {
    return { type: "image_url", image_url: { url: base64Url(source, path) } }
  }
  return untranslatable(path, "Expected base64 data or a URL: the provider takes no other image")
}

const documentPart = ({ source, title }: JsonObject, path: string): JsonObject => {
  if (isObject(source) && source.type === "text") {
    return { type: "text", text: expectedText(source.data, `${path}.data`) }
  }
  if (isObject(source) && source.type === "base64") {
    const file_data = base64Url(source, path)
    return { type: "file", file: { filename: textOf(title) || "document.pdf", file_data } }
  }
  return untranslatable(path, "Expected text or base64 data: the provider takes no other document")
}

const partOf = (block: Json, path: string): JsonObject => {
  if (!isObject(block)) return untranslatable(path, "Expected an object with a type")
  if (block.type === "text") return { type: "text", text: expectedText(block.text, `${path}.text`) }
  if (block.type === "image") return imagePart(block.source, `${path}.source`)
  if (block.type === "document") return documentPart(block, `${path}.source`)
  return untranslatable(`${path}.type`, `The provider takes no content of type ${JSON.stringify(block.type)}`)
}

/** A single text is sent as a string, which every provider supports. */
const plain = (parts: ReadonlyArray<JsonObject>): Json => {
  const [only] = parts
  return parts.length === 1 && only?.type === "text" ? textOf(only.text) : parts
}

const isText = ({ type }: JsonObject): boolean => type === "text"

/** Translates a tool's result; its images follow as a user's message, because a tool's message holds only text. */
const resultOf = (block: JsonObject, path: string): ReadonlyArray<JsonObject> => {
  const at = `${path}.content`
  const parts = listOf(block.content, at).map((part, index) => partOf(part, `${at}.${index}`))
  const others = parts.filter((part) => !isText(part))
  const content = parts.filter(isText).map(({ text }) => textOf(text))
  return [
    { role: "tool", tool_call_id: chatToolId(textOf(block.tool_use_id)), content: content.join("\n") },
    ...(others.length === 0 ? [] : [{ role: "user", content: others }])
  ]
}

const isResult = (block: Json): block is JsonObject => isObject(block) && block.type === "tool_result"

/** Results of tools come first, because they must follow the message that called them. */
const userMessages = (content: Json | undefined, path: string): ReadonlyArray<JsonObject> => {
  rejectMissing(content, path)
  const blocks = listOf(content, path).map((block, index) => ({ block, at: `${path}.${index}` }))
  const results = blocks.flatMap(({ at, block }) => (isResult(block) ? resultOf(block, at) : []))
  const parts = blocks.filter(({ block }) => !isResult(block)).map(({ at, block }) => partOf(block, at))
  const tools = results.filter(({ role }) => role === "tool")
  const shown = results.filter(({ role }) => role === "user")
  return [...tools, ...shown, ...(parts.length === 0 ? [] : [{ role: "user", content: plain(parts) }])]
}

const toolCall = ({ id, input, name }: JsonObject): JsonObject => ({
  id: chatToolId(textOf(id)),
  type: "function",
  function: { name: textOf(name), arguments: JSON.stringify(input ?? {}) }
})

/** Chat completions have no place for the thinking of earlier turns; only some providers take it back as a text. */
const isThinking = ({ type }: JsonObject): boolean => type === "thinking" || type === "redacted_thinking"

const assistantMessages = (
  content: Json | undefined,
  path: string,
  wanted: ReasoningContent
): ReadonlyArray<JsonObject> => {
  let text = ""
  let thought = ""
  const tool_calls: Array<JsonObject> = []
  listOf(content, path).forEach((block, index) => {
    const at = `${path}.${index}`
    if (!isObject(block)) return untranslatable(at, "Expected an object with a type")
    if (isThinking(block)) {
      thought += textOf(block.thinking)
      return
    }
    if (block.type === "tool_use") tool_calls.push(toolCall(block))
    else if (isText(block)) text += expectedText(block.text, `${at}.text`)
    else untranslatable(`${at}.type`, `The provider takes no content of type ${JSON.stringify(block.type)}`)
  })
  if (text === "" && tool_calls.length === 0) return []
  return [
    present({
      role: "assistant",
      content: text === "" ? null : text,
      reasoning_content: wanted === "keep" && thought !== "" ? thought : undefined,
      tool_calls: tool_calls.length === 0 ? undefined : tool_calls
    })
  ]
}

const instruction = (block: Json, path: string): string => {
  if (typeof block === "string") return block
  if (!isObject(block)) return untranslatable(path, "Expected an object with a type")
  if (!isText(block)) return untranslatable(`${path}.type`, "Expected text: the provider takes no other")
  return expectedText(block.text, `${path}.text`)
}

const systemMessages = (system: Json | undefined, path: string): ReadonlyArray<JsonObject> => {
  const content = listOf(system, path)
    .map((block, index) => instruction(block, `${path}.${index}`))
    .filter((text) => text !== "")
    .join("\n\n")
  return content === "" ? [] : [{ role: "system", content }]
}

const messagesOf = (message: Json, index: number, wanted: ReasoningContent): ReadonlyArray<JsonObject> => {
  const path = `messages.${index}`
  if (!isObject(message)) return untranslatable(path, "Expected an object with a role")
  const { content, role } = message
  const at = `${path}.content`
  if (role === "assistant") return assistantMessages(content, at, wanted)
  if (role === "user") return userMessages(content, at)
  if (role === "system") {
    rejectMissing(content, at)
    return systemMessages(content, at)
  }
  return untranslatable(`${path}.role`, `The provider knows no role ${JSON.stringify(role)}`)
}

const chatMessages = (
  { messages, system }: JsonObject,
  wanted: ReasoningContent
): ReadonlyArray<JsonObject> => [
  ...systemMessages(system, "system"),
  ...(Array.isArray(messages) ? messages : []).flatMap((message, index) => messagesOf(message, index, wanted))
]

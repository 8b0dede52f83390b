/**
 * Translates a request for chat completions to one for messages. Members of chat completions are translated, or rejected if the
 * answer would differ from the request, or left out if they are hints; all others are forwarded.
 */
import { isAbsent, isObject, members, objectsIn, parsedJson, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import type { Admitted, Target } from "../types.ts"
import { messagesToolId } from "./toolIds.ts"
import {
  expectedFlag,
  expectedList,
  expectedObject,
  expectedText,
  rejectMissing,
  untranslatable
} from "./untranslatable.ts"

export const messagesRequest = (
  { asksJson, body, choices, maxTokens, stream }: Admitted,
  { maxOutputTokens, model }: Target
): JsonObject => {
  rejectOthers(body, choices)
  if (asksJson && isThinking(body)) untranslatable("response_format", jsonExpected)
  const travelling = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !known.has(name) && value !== undefined)
  )
  return present({
    ...travelling,
    model,
    max_tokens: maxTokens ?? maxOutputTokens,
    ...conversation(body.messages),
    ...toolsOf(body, asksJson),
    ...outputConfig(body),
    thinking: body.reasoning_effort === "none" ? { type: "disabled" } : body.thinking,
    stop_sequences: stopSequences(body),
    temperature: temperatureOf(body),
    top_p: isAbsent(body.top_p) ? undefined : body.top_p,
    metadata: metadataOf(body),
    service_tier: tiers[textOf(body.service_tier)],
    stream: stream ? true : undefined
  })
}

/** Members of chat completions; none of them is forwarded unchanged. */
const known = members(`
  messages model stream stream_options max_tokens max_completion_tokens n stop tools tool_choice
  parallel_tool_calls functions function_call response_format reasoning_effort user safety_identifier
  metadata service_tier temperature top_p frequency_penalty presence_penalty logit_bias logprobs
  top_logprobs seed store modalities audio prediction verbosity web_search_options prompt_cache_key
  prompt_cache_options prompt_cache_retention moderation
`)

const toolOf = (tool: Json, index: number): JsonObject => {
  const path = `tools.${index}`
  if (!isObject(tool) || tool.type !== "function" || !isObject(tool.function)) {
    return untranslatable(path, "Expected a function: the provider takes no other tool")
  }
  const { description, name, parameters, strict } = tool.function
  return present({
    name: name ?? "",
    description: isAbsent(description) ? undefined : description,
    input_schema: expectedObject(parameters, `${path}.function.parameters`, "Expected a JSON schema") ?? {
      type: "object",
      properties: {}
    },
    strict: strict === true ? true : undefined,
    cache_control: tool.cache_control
  })
}

const toolChoice = (choice: Json | undefined): JsonObject => {
  if (isAbsent(choice) || choice === "auto") return { type: "auto" }
  if (choice === "none") return { type: "none" }
  if (choice === "required") return { type: "any" }
  if (isObject(choice) && choice.type === "function" && isObject(choice.function)) {
    return { type: "tool", name: textOf(choice.function.name) }
  }
  return untranslatable("tool_choice", "Expected auto, none, required or a function by its name")
}

/**
 * Messages have no JSON without a schema. A tool that the model must call provides it: the tool's input is an object, and
 * becomes the answer's text. The caller may have tools of its own beside it.
 */
export const jsonTool = {
  name: "answer_in_json",
  description: "Gives the answer: the whole input is the JSON object that the conversation asks for.",
  input_schema: { type: "object", properties: {}, additionalProperties: true }
}

const isThinking = ({ thinking }: JsonObject): boolean => isObject(thinking) && thinking.type !== "disabled"

const jsonExpected = "Expected a json_schema: with thinking, the provider gives no JSON without one"

const toolsOf = (body: JsonObject, asksJson: boolean): JsonObject => {
  const { parallel_tool_calls, tool_choice } = body
  const tools = expectedList(body.tools, "tools", "Expected a list of tools")
  const choice = toolChoice(tool_choice)
  const isParallel = expectedFlag(parallel_tool_calls, "parallel_tool_calls") ?? true
  const oneAtATime = !isParallel && choice.type !== "none"
  // A caller that demands a call of a tool gets no text, and so no JSON.
  if (asksJson && (tools.length === 0 || choice.type === "auto" || choice.type === "none")) {
    const isAlone = tools.length === 0 || choice.type === "none"
    return {
      tools: [...tools.map(toolOf), jsonTool],
      tool_choice: isAlone
        ? { type: "tool", name: jsonTool.name }
        : present({ type: "any", disable_parallel_tool_use: oneAtATime ? true : undefined })
    }
  }
  if (tools.length === 0) return {}
  const isChosen = oneAtATime || !isAbsent(tool_choice)
  return present({
    tools: tools.map(toolOf),
    tool_choice: isChosen
      ? present({ ...choice, disable_parallel_tool_use: oneAtATime ? true : undefined })
      : undefined
  })
}

const effortOf = ({ reasoning_effort }: JsonObject): string | undefined => {
  if (isAbsent(reasoning_effort) || reasoning_effort === "none") return undefined
  return reasoning_effort === "minimal" ? "low" : expectedText(reasoning_effort, "reasoning_effort")
}

const formatExpected = "Expected text, json_object or a json_schema: the provider knows no other"

const formatOf = ({ response_format }: JsonObject): JsonObject | undefined => {
  const format = expectedObject(response_format, "response_format", formatExpected)
  if (format === undefined || format.type === "text" || format.type === "json_object") return undefined
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined
  if (format.type !== "json_schema" || !isObject(schema)) {
    return untranslatable("response_format", formatExpected)
  }
  return { type: "json_schema", schema }
}

/** `output_config`: the effort and the schema. */
const outputConfig = (body: JsonObject): JsonObject => {
  const members = present({ effort: effortOf(body), format: formatOf(body) })
  if (Object.keys(members).length === 0) return {}
  const given = expectedObject(body.output_config, "output_config", "Expected an object")
  return { output_config: { ...given, ...members } }
}

/** Chat completions allow a temperature up to 2, messages up to 1. */
const temperatureOf = ({ temperature }: JsonObject): Json | undefined => {
  if (isAbsent(temperature)) return undefined
  return typeof temperature === "number" ? Math.min(temperature, 1) : temperature
}

const stopSequences = ({ stop }: JsonObject): Json | undefined => {
  if (isAbsent(stop)) return undefined
  return typeof stop === "string" ? [stop] : stop
}

const metadataOf = ({ metadata, safety_identifier, user }: JsonObject): JsonObject | undefined => {
  const given = isObject(metadata) ? metadata.user_id : undefined
  const id = [user, safety_identifier, given].find((each) => typeof each === "string")
  return id === undefined ? undefined : { user_id: id }
}

const tiers: Readonly<Record<string, string>> = { auto: "auto", default: "standard_only" }

const rejectOthers = (body: JsonObject, choices: number) => {
  if (choices > 1) untranslatable("n", "Expected 1: the provider gives one answer a call")
  if (!isAbsent(body.logprobs) && body.logprobs !== false) {
    untranslatable("logprobs", "The provider gives no log probabilities")
  }
  if (!isAbsent(body.functions)) {
    untranslatable("functions", "The provider knows nothing like it; use tools")
  }
}

/* Translates the conversation: messages of chat completions become turns, blocks and system text. */

const conversation = (messages: Json | undefined): JsonObject => {
  const all = Array.isArray(messages) ? messages : []
  const system = systemOf(all)
  const turns = turnsOf(all)
  if (turns.length === 0) {
    // The prompt has only instructions: messages need at least one from a user.
    return { messages: [{ role: "user", content: plain(system) }] }
  }
  return present({
    system: system.length === 0 ? undefined : plain(system),
    messages: turns.map(({ content, role }) => ({ role, content: plain(content) }))
  })
}

const dataUrl = /^data:([^;,]+);base64,(.*)$/s

const imageBlock = (url: string, path: string, cacheControl: Json | undefined): JsonObject => {
  const [, media_type, data] = dataUrl.exec(url) ?? []
  if (media_type !== undefined && data !== undefined) {
    return present({
      type: "image",
      source: { type: "base64", media_type, data },
      cache_control: cacheControl
    })
  }
  if (!/^https?:\/\//.test(url)) {
    return untranslatable(`${path}.image_url.url`, "Expected an http, https or base64 data URL")
  }
  return present({ type: "image", source: { type: "url", url }, cache_control: cacheControl })
}

const fileBlock = (file: Json | undefined, path: string): JsonObject => {
  const [, media_type, data] = dataUrl.exec(isObject(file) ? textOf(file.file_data) : "") ?? []
  if (!isObject(file) || media_type === undefined || data === undefined) {
    return untranslatable(
      `${path}.file.file_data`,
      "Expected a base64 data URL: the provider takes no other file"
    )
  }
  const title = isAbsent(file.filename) ? undefined : file.filename
  return present({ type: "document", source: { type: "base64", media_type, data }, title })
}

const partBlock = (part: Json, path: string): JsonObject => {
  if (typeof part === "string") return { type: "text", text: part }
  if (!isObject(part)) return untranslatable(path, "Expected an object with a type")
  const { cache_control } = part
  switch (part.type) {
    case "text":
      return present({ type: "text", text: expectedText(part.text, `${path}.text`), cache_control })
    case "refusal":
      return { type: "text", text: expectedText(part.refusal, `${path}.refusal`) }
    case "image_url": {
      const url = isObject(part.image_url) ? part.image_url.url : part.image_url
      return imageBlock(textOf(url), path, cache_control)
    }
    case "file":
      return fileBlock(part.file, path)
    default:
      return untranslatable(
        `${path}.type`,
        `The provider takes no content of type ${JSON.stringify(part.type)}`
      )
  }
}

/** Messages reject empty texts, which chat completions allow. */
const isNotEmpty = (block: JsonObject): boolean => block.type !== "text" || block.text !== ""

const blocksOf = (content: Json | undefined, path: string): ReadonlyArray<JsonObject> => {
  if (isAbsent(content)) return []
  const parts = Array.isArray(content) ? content : [content]
  return parts
    .map((part, index) => partBlock(part, Array.isArray(content) ? `${path}.${index}` : path))
    .filter(isNotEmpty)
}

const toolInput = (called: JsonObject, path: string): Json => {
  const text = called.arguments ?? ""
  if (typeof text !== "string") return untranslatable(path, "Expected a JSON object, written as a text")
  const input = text.trim() === "" ? {} : parsedJson(text)
  return isObject(input) ? input : untranslatable(path, "Expected a JSON object")
}

const toolUse = (call: Json, path: string): JsonObject => {
  if (!isObject(call) || !isObject(call.function)) {
    return untranslatable(path, "Expected a call of a function: the provider knows no other")
  }
  const { function: called, id } = call
  const input = toolInput(called, `${path}.function.arguments`)
  return { type: "tool_use", id: messagesToolId(textOf(id)), name: called.name ?? "", input }
}

const toolUses = ({ tool_calls }: JsonObject, path: string): ReadonlyArray<JsonObject> =>
  expectedList(tool_calls, path, "Expected a list of calls").map((call, index) =>
    toolUse(call, `${path}.${index}`)
  )

const thinkingBlock = ({ data, signature, thinking, type }: JsonObject): ReadonlyArray<JsonObject> => {
  if (type === "redacted_thinking") return [{ type, data: textOf(data) }]
  return textOf(signature) === ""
    ? []
    : [{ type: "thinking", thinking: textOf(thinking), signature: textOf(signature) }]
}

/** Thinking that a client got from the gateway goes back unchanged; unsigned thinking is dropped, because providers reject it. */
const thinkingBlocks = ({ thinking_blocks }: JsonObject): ReadonlyArray<JsonObject> =>
  objectsIn(thinking_blocks).flatMap(thinkingBlock)

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<JsonObject>
}

const toolResult = ({ cache_control, content, tool_call_id }: JsonObject, path: string): JsonObject =>
  present({
    type: "tool_result",
    tool_use_id: messagesToolId(textOf(tool_call_id)),
    content: typeof content === "string" ? content : [...blocksOf(content, `${path}.content`)],
    cache_control
  })

const heard = (content: Json | undefined, path: string): ReadonlyArray<JsonObject> => {
  rejectMissing(content, path)
  return blocksOf(content, path)
}

const turnOf = (message: JsonObject, path: string): Turn => {
  switch (message.role) {
    case "user":
      return { role: "user", content: [...heard(message.content, `${path}.content`)] }
    case "tool":
      return { role: "user", content: [toolResult(message, path)] }
    case "assistant": {
      const content = [
        ...thinkingBlocks(message),
        ...blocksOf(message.content, `${path}.content`),
        ...toolUses(message, `${path}.tool_calls`)
      ]
      return { role: "assistant", content }
    }
    default:
      return untranslatable(`${path}.role`, `The provider knows no role ${JSON.stringify(message.role)}`)
  }
}

const isSystem = ({ role }: JsonObject): boolean => role === "system" || role === "developer"

/** Results of tools called together belong in one message, so consecutive messages of one role are merged. */
const turnsOf = (messages: ReadonlyArray<Json>): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  messages.forEach((message, index) => {
    if (!isObject(message) || isSystem(message)) return
    const turn = turnOf(message, `messages.${index}`)
    const last = turns.at(-1)
    if (turn.content.length === 0 && turn.role === "assistant") return
    if (last?.role === turn.role) last.content.push(...turn.content)
    else turns.push(turn)
  })
  return turns
}

const systemOf = (messages: ReadonlyArray<Json>): ReadonlyArray<JsonObject> =>
  messages.flatMap((message, index) =>
    isObject(message) && isSystem(message) ? heard(message.content, `messages.${index}.content`) : []
  )

/** A single text is sent as a string, which every provider supports. */
const plain = (blocks: ReadonlyArray<JsonObject>): Json => {
  const [only] = blocks
  const isPlain = blocks.length === 1 && only?.type === "text" && only.cache_control === undefined
  return isPlain ? textOf(only.text) : blocks
}

/**
 * Translates a request for a response to one for chat completions, with which every provider is then asked. The gateway stores
 * no responses, so it rejects, by name, members that need a stored one; and members that it does not translate.
 */
import { isAbsent, isObject, objectsIn, parsedJson, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { isSmall } from "../parseBody.ts"
import {
  contentExpected,
  expectedFlag,
  expectedList,
  expectedObject,
  expectedText,
  untranslatable
} from "./untranslatable.ts"

export const chatOfResponses = (body: JsonObject): JsonObject => {
  for (const [name, value] of Object.entries(body)) {
    if (!isAbsent(value)) rejectOther(name, value)
  }
  const { format, verbosity } = textConfig(body)
  const reasoning = expectedObject(body.reasoning, "reasoning", "Expected an object")
  const isStream = expectedFlag(body.stream, "stream") === true
  return present({
    ...same(body),
    messages: [...instructionsOf(body), ...messagesOf(body.input)],
    max_completion_tokens: isAbsent(body.max_output_tokens) ? undefined : body.max_output_tokens,
    ...toolsOf(body),
    response_format: formatOf(format),
    verbosity: isAbsent(verbosity) ? undefined : verbosity,
    reasoning_effort: isAbsent(reasoning?.effort) ? undefined : reasoning.effort,
    stream: isStream ? true : undefined,
    stream_options: isStream ? { include_usage: true } : undefined
  })
}

/** Members with the same name in chat completions. */
const sameNames = [
  "model",
  "temperature",
  "top_p",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "service_tier"
]

const same = (body: JsonObject): JsonObject =>
  present(Object.fromEntries(sameNames.map((name) => [name, isAbsent(body[name]) ? undefined : body[name]])))

/** Members that are read elsewhere, repeated in the answer, or only hints. */
const readNames = new Set([
  ...sameNames,
  "input",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "parallel_tool_calls",
  "reasoning",
  "stream",
  "stream_options",
  "text",
  "tool_choice",
  "tools"
])

const reasoningIncluded = "reasoning.encrypted_content"

const notStored = "Expected it left out: nothing is stored here. Send the whole conversation as input"

/** The allowed values of other members, and the error for any other value. */
const others = new Map<string, readonly [isAllowed: (value: Json) => boolean, expected: string]>([
  ["previous_response_id", [() => false, notStored]],
  ["conversation", [() => false, notStored]],
  ["store", [(value) => value === false, "Expected false: nothing is stored here"]],
  [
    "background",
    [(value) => value === false, "Expected false: nothing is stored here. Send stream: true for long answers"]
  ],
  [
    "truncation",
    [(value) => value === "disabled", "Expected disabled: nothing is left out of the input here"]
  ],
  [
    "prompt",
    [() => false, "Expected it left out: nothing is stored here. Send the text as instructions or input"]
  ],
  [
    "include",
    [
      (value) => Array.isArray(value) && value.every((each) => each === reasoningIncluded),
      `Expected at most ${reasoningIncluded}`
    ]
  ],
  ["top_logprobs", [(value) => value === 0, "Expected 0: responses have no log probabilities here"]]
])

/** Tests whether reasoning items contain the text that sends them back. */
export const includesReasoning = ({ include }: JsonObject): boolean =>
  Array.isArray(include) && include.includes(reasoningIncluded)

const rejectOther = (name: string, value: Json) => {
  if (readNames.has(name)) return
  const rule = others.get(name)
  if (rule === undefined)
    return untranslatable(name, "Expected it left out: responses have nothing like it here")
  const [isAllowed, expected] = rule
  if (!isAllowed(value)) untranslatable(name, expected)
}

const textConfig = ({ text }: JsonObject): JsonObject =>
  expectedObject(text, "text", "Expected an object") ?? {}

const formatExpected = "Expected the type text, json_object or json_schema"

const formatOf = (given: Json | undefined): JsonObject | undefined => {
  const format = expectedObject(given, "text.format", formatExpected)
  switch (format?.type) {
    case undefined:
    case "text":
      return undefined
    case "json_object":
      return { type: "json_object" }
    case "json_schema": {
      const { type, ...json_schema } = format
      return { type, json_schema }
    }
    default:
      return untranslatable("text.format.type", formatExpected)
  }
}

const toolOf = (tool: Json, index: number): JsonObject => {
  if (!isObject(tool) || tool.type !== "function") {
    return untranslatable(`tools.${index}.type`, "Expected function: no other tools are served here")
  }
  const { description, name, parameters, strict } = tool
  return {
    type: "function",
    function: present({
      name: expectedText(name, `tools.${index}.name`),
      description: isAbsent(description) ? undefined : description,
      parameters: isAbsent(parameters) ? undefined : parameters,
      strict: strict === true ? true : undefined
    })
  }
}

const toolsOf = ({ parallel_tool_calls, tool_choice, tools }: JsonObject): JsonObject => {
  const listed = expectedList(tools, "tools", "Expected a list of tools")
  const choice = choiceOf(tool_choice)
  const isParallel = expectedFlag(parallel_tool_calls, "parallel_tool_calls")
  if (listed.length === 0) return {}
  return present({ tools: listed.map(toolOf), tool_choice: choice, parallel_tool_calls: isParallel })
}

const choiceOf = (choice: Json | undefined): Json | undefined => {
  if (isAbsent(choice)) return undefined
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (isObject(choice) && choice.type === "function") {
    return { type: "function", function: { name: expectedText(choice.name, "tool_choice.name") } }
  }
  return untranslatable("tool_choice", "Expected auto, none, required or a function by its name")
}

/* Translates the conversation: items of the input become messages of chat completions. */

const instructionsOf = ({ instructions }: JsonObject): ReadonlyArray<JsonObject> =>
  isAbsent(instructions) ? [] : [{ role: "system", content: expectedText(instructions, "instructions") }]

const inputExpected = "Expected a text, or a list of at least one item"

/** The assistant's consecutive items become one message of chat completions. */
const messagesOf = (input: Json | undefined): ReadonlyArray<JsonObject> => {
  if (typeof input === "string") return [{ role: "user", content: input }]
  if (!Array.isArray(input) || input.length === 0) return untranslatable("input", inputExpected)
  const messages: Array<JsonObject> = []
  let turn: Turn | undefined
  /** Images and files from tools: a tool's message cannot hold them, and no other message may stand between tools' messages. */
  let shown: Array<JsonObject> = []
  const endTurn = () => {
    if (turn !== undefined) messages.push(...messageOf(turn))
    turn = undefined
  }
  const endResults = () => {
    if (shown.length > 0) messages.push({ role: "user", content: shown })
    shown = []
  }
  for (const [index, item] of input.entries()) {
    const path = `input.${index}`
    if (!isObject(item)) return untranslatable(path, "Expected an object with a type")
    const kind = kindOf(item, path)
    if (kind !== "function_call_output") endResults()
    if (kind === "assistant" || kind === "function_call" || kind === "reasoning") {
      turn ??= { content: [], calls: [], thought: "", thinking: [] }
      addTo(turn, kind, item, path)
      continue
    }
    endTurn()
    if (kind === "function_call_output") {
      const parts = outputParts(item.output, `${path}.output`)
      const text = parts.filter(({ type }) => type === "text").map((part) => textOf(part.text))
      shown = [...shown, ...parts.filter(({ type }) => type !== "text")]
      const tool_call_id = expectedText(item.call_id, `${path}.call_id`)
      messages.push({ role: "tool", tool_call_id, content: text.join("\n") })
    } else messages.push({ role: kind, content: contentOf(item.content, `${path}.content`) })
  }
  endTurn()
  endResults()
  return messages
}

type Kind = "user" | "system" | "assistant" | "function_call" | "function_call_output" | "reasoning"

const kindOf = ({ role, type }: JsonObject, path: string): Kind => {
  if (type === "function_call" || type === "function_call_output" || type === "reasoning") return type
  if (type === "item_reference") {
    return untranslatable(
      path,
      "Expected the item itself, as clients send it with store: false: nothing is stored here"
    )
  }
  if (!isAbsent(type) && type !== "message") {
    return untranslatable(`${path}.type`, `Items of type ${JSON.stringify(type)} are not served here`)
  }
  if (role === "user" || role === "assistant" || role === "system") return role
  // Some providers do not know the role of a developer.
  if (role === "developer") return "system"
  return untranslatable(`${path}.role`, "Expected user, assistant, system or developer")
}

/** The assistant's items between those of others. */
interface Turn {
  readonly content: Array<string>
  readonly calls: Array<JsonObject>
  thought: string
  readonly thinking: Array<JsonObject>
}

const addTo = (turn: Turn, kind: Kind, item: JsonObject, path: string) => {
  if (kind === "assistant") turn.content.push(assistantTextIn(item.content, `${path}.content`))
  else if (kind === "function_call") {
    turn.calls.push({
      id: expectedText(item.call_id, `${path}.call_id`),
      type: "function",
      function: {
        name: expectedText(item.name, `${path}.name`),
        arguments: expectedText(item.arguments, `${path}.arguments`)
      }
    })
  } else {
    const { thinking, thought } = openedReasoning(item)
    turn.thought += thought
    turn.thinking.push(...thinking)
  }
}

const messageOf = ({ calls, content, thinking, thought }: Turn): ReadonlyArray<JsonObject> => {
  const text = content.join("\n\n")
  if (text === "" && calls.length === 0) return []
  return [
    present({
      role: "assistant",
      content: text === "" ? null : text,
      reasoning_content: thought === "" ? undefined : thought,
      thinking_blocks: thinking.length === 0 ? undefined : thinking,
      tool_calls: calls.length === 0 ? undefined : calls
    })
  ]
}

const assistantTextIn = (content: Json | undefined, path: string): string => {
  if (typeof content === "string") return content
  return expectedList(content, path, contentExpected)
    .map((part, index) => {
      const at = `${path}.${index}`
      if (!isObject(part)) return untranslatable(at, "Expected an object with a type")
      if (part.type === "refusal") return expectedText(part.refusal, `${at}.refusal`)
      if (part.type === "output_text" || part.type === "input_text")
        return expectedText(part.text, `${at}.text`)
      return untranslatable(`${at}.type`, "Expected output_text or refusal")
    })
    .join("")
}

const contentOf = (content: Json | undefined, path: string): Json => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return untranslatable(path, contentExpected)
  const parts = content.map((part, index) => partOf(part, `${path}.${index}`))
  const [only] = parts
  return parts.length === 1 && only?.type === "text" ? textOf(only.text) : parts
}

const outputParts = (output: Json | undefined, path: string): ReadonlyArray<JsonObject> =>
  typeof output === "string"
    ? [{ type: "text", text: output }]
    : expectedList(output, path, contentExpected).map((part, index) => partOf(part, `${path}.${index}`))

const partOf = (part: Json, path: string): JsonObject => {
  if (!isObject(part)) return untranslatable(path, "Expected an object with a type")
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: expectedText(part.text, `${path}.text`) }
    case "input_image": {
      if (!/^(?:https?:\/\/|data:)/.test(textOf(part.image_url))) {
        return untranslatable(
          `${path}.image_url`,
          "Expected an http, https or data URL: no files are stored here"
        )
      }
      const detail = isAbsent(part.detail) ? undefined : part.detail
      return { type: "image_url", image_url: present({ url: textOf(part.image_url), detail }) }
    }
    case "input_file": {
      const file_data = part.file_data
      if (isAbsent(file_data)) {
        return untranslatable(`${path}.file_data`, "Expected a base64 data URL: no files are stored here")
      }
      const filename = isAbsent(part.filename) ? undefined : part.filename
      return {
        type: "file",
        file: present({ filename, file_data: expectedText(file_data, `${path}.file_data`) })
      }
    }
    default:
      return untranslatable(`${path}.type`, "Expected input_text, input_image or input_file")
  }
}

/* Reasoning in a form that an item holds, so that the client can send it back: the gateway keeps none. */

interface Reasoning {
  readonly thought: string
  readonly thinking: ReadonlyArray<JsonObject>
}

/** Marks reasoning that this gateway enclosed; another service encrypts its own. */
const prefix = "auspex1."

/** If there are blocks of thinking, they contain the text. */
export const closedReasoning = ({ thinking, thought }: Reasoning): string =>
  prefix + Buffer.from(JSON.stringify(thinking.length > 0 ? { thinking } : { thought })).toString("base64url")

/** An item without such a text, or with another service's, is useless to every provider. */
const openedReasoning = ({ encrypted_content }: JsonObject): Reasoning => {
  const closed = textOf(encrypted_content)
  const bytes = Buffer.from(closed.startsWith(prefix) ? closed.slice(prefix.length) : "", "base64url")
  const opened = isSmall(bytes) ? parsedJson(bytes.toString()) : undefined
  if (!isObject(opened)) return { thought: "", thinking: [] }
  const thinking = objectsIn(opened.thinking).map(blockOf)
  const text = thinking.map((block) => textOf(block.thinking)).join("")
  return { thinking, thought: textOf(opened.thought) || text }
}

const blockOf = ({ data, signature, thinking, type }: JsonObject): JsonObject =>
  type === "redacted_thinking"
    ? { type, data: textOf(data) }
    : { type: "thinking", thinking: textOf(thinking), signature: textOf(signature) }

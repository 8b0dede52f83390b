/** The messages of chat completions as the turns, blocks and system text of messages. */
import { isAbsent, isObject, objectsIn, parsedJson, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { expectedList, expectedText, refuseMissing } from "./expected.ts"
import { untranslatable } from "./untranslatable.ts"

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

/** The provider refuses empty texts, which chat completions allow. */
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
  return { type: "tool_use", id: id ?? "", name: called.name ?? "", input }
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

/** Thinking that a client got from us goes back as it is; the provider takes none that is not signed. */
const thinkingBlocks = ({ thinking_blocks }: JsonObject): ReadonlyArray<JsonObject> =>
  objectsIn(thinking_blocks).flatMap(thinkingBlock)

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<JsonObject>
}

const toolResult = ({ cache_control, content, tool_call_id }: JsonObject, path: string): JsonObject =>
  present({
    type: "tool_result",
    tool_use_id: textOf(tool_call_id),
    content: typeof content === "string" ? content : [...blocksOf(content, `${path}.content`)],
    cache_control
  })

const heard = (content: Json | undefined, path: string): ReadonlyArray<JsonObject> => {
  refuseMissing(content, path)
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

/** Results of tools that were called together belong in one message, so neighbours of one role become one. */
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

/** A text alone is sent as a text, which every provider of the style takes. */
const plain = (blocks: ReadonlyArray<JsonObject>): Json => {
  const [only] = blocks
  const isPlain = blocks.length === 1 && only?.type === "text" && only.cache_control === undefined
  return isPlain ? textOf(only.text) : blocks
}

export const conversation = (messages: Json | undefined): JsonObject => {
  const all = Array.isArray(messages) ? messages : []
  const system = systemOf(all)
  const turns = turnsOf(all)
  if (turns.length === 0) {
    // a prompt of instructions alone, which the provider takes from a user only
    return { messages: [{ role: "user", content: plain(system) }] }
  }
  return present({
    system: system.length === 0 ? undefined : plain(system),
    messages: turns.map(({ content, role }) => ({ role, content: plain(content) }))
  })
}

/** The system text, turns and blocks of messages as the messages of chat completions. */
import { isAbsent, isObject, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { untranslatable } from "./untranslatable.ts"

const listOf = (content: Json | undefined): ReadonlyArray<Json> => {
  if (isAbsent(content)) return []
  return Array.isArray(content) ? content : [{ type: "text", text: content }]
}

const imagePart = (source: Json | undefined, path: string): JsonObject => {
  if (isObject(source) && source.type === "url") {
    return { type: "image_url", image_url: { url: textOf(source.url) } }
  }
  if (isObject(source) && source.type === "base64") {
    const url = `data:${textOf(source.media_type)};base64,${textOf(source.data)}`
    return { type: "image_url", image_url: { url } }
  }
  return untranslatable(`${path}.source`, "Expected base64 data or a URL: the provider takes no other image")
}

const documentPart = ({ source, title }: JsonObject, path: string): JsonObject => {
  if (isObject(source) && source.type === "text") return { type: "text", text: textOf(source.data) }
  if (isObject(source) && source.type === "base64") {
    const file_data = `data:${textOf(source.media_type)};base64,${textOf(source.data)}`
    return { type: "file", file: { filename: textOf(title) || "document.pdf", file_data } }
  }
  return untranslatable(
    `${path}.source`,
    "Expected text or base64 data: the provider takes no other document"
  )
}

const partOf = (block: Json, path: string): JsonObject => {
  if (!isObject(block)) return untranslatable(path, "Expected an object with a type")
  if (block.type === "text") return { type: "text", text: textOf(block.text) }
  if (block.type === "image") return imagePart(block.source, path)
  if (block.type === "document") return documentPart(block, path)
  return untranslatable(`${path}.type`, `The provider takes no content of type ${JSON.stringify(block.type)}`)
}

/** A text alone is sent as a text, which every provider of the style takes. */
const plain = (parts: ReadonlyArray<JsonObject>): Json => {
  const [only] = parts
  return parts.length === 1 && only?.type === "text" ? textOf(only.text) : parts
}

const isText = ({ type }: JsonObject): boolean => type === "text"

/** What a tool gave; the images in it follow as a user's, since a tool's message holds text only. */
const resultOf = (block: JsonObject, path: string): ReadonlyArray<JsonObject> => {
  const parts = listOf(block.content).map((part, index) => partOf(part, `${path}.content.${index}`))
  const others = parts.filter((part) => !isText(part))
  const content = parts.filter(isText).map(({ text }) => textOf(text))
  return [
    { role: "tool", tool_call_id: textOf(block.tool_use_id), content: content.join("\n") },
    ...(others.length === 0 ? [] : [{ role: "user", content: others }])
  ]
}

const isResult = (block: Json): block is JsonObject => isObject(block) && block.type === "tool_result"

/** Results of tools come first: they must follow the message that called them. */
const userMessages = (content: Json | undefined, path: string): ReadonlyArray<JsonObject> => {
  const blocks = listOf(content).map((block, index) => ({ block, at: `${path}.content.${index}` }))
  const results = blocks.flatMap(({ at, block }) => (isResult(block) ? resultOf(block, at) : []))
  const parts = blocks.filter(({ block }) => !isResult(block)).map(({ at, block }) => partOf(block, at))
  const tools = results.filter(({ role }) => role === "tool")
  const shown = results.filter(({ role }) => role === "user")
  return [...tools, ...shown, ...(parts.length === 0 ? [] : [{ role: "user", content: plain(parts) }])]
}

const toolCall = ({ id, input, name }: JsonObject): JsonObject => ({
  id: textOf(id),
  type: "function",
  function: { name: textOf(name), arguments: JSON.stringify(input ?? {}) }
})

/** Thinking is left out: chat completions have no place for that of earlier turns. */
const isThinking = ({ type }: JsonObject): boolean => type === "thinking" || type === "redacted_thinking"

const assistantMessages = (content: Json | undefined, path: string): ReadonlyArray<JsonObject> => {
  let text = ""
  const tool_calls: Array<JsonObject> = []
  listOf(content).forEach((block, index) => {
    const at = `${path}.content.${index}`
    if (!isObject(block)) return untranslatable(at, "Expected an object with a type")
    if (isThinking(block)) return
    if (block.type === "tool_use") tool_calls.push(toolCall(block))
    else if (isText(block)) text += textOf(block.text)
    else untranslatable(`${at}.type`, `The provider takes no content of type ${JSON.stringify(block.type)}`)
  })
  if (text === "" && tool_calls.length === 0) return []
  return [
    present({
      role: "assistant",
      content: text === "" ? null : text,
      tool_calls: tool_calls.length === 0 ? undefined : tool_calls
    })
  ]
}

const systemText = (system: Json | undefined): string =>
  listOf(system)
    .map((block) => (isObject(block) ? textOf(block.text) : textOf(block)))
    .filter((text) => text !== "")
    .join("\n\n")

const systemMessages = (system: Json | undefined): ReadonlyArray<JsonObject> => {
  const content = systemText(system)
  return content === "" ? [] : [{ role: "system", content }]
}

const messagesOf = (message: Json, index: number): ReadonlyArray<JsonObject> => {
  const path = `messages.${index}`
  if (!isObject(message)) return untranslatable(path, "Expected an object with a role")
  if (message.role === "user") return userMessages(message.content, path)
  if (message.role === "assistant") return assistantMessages(message.content, path)
  if (message.role === "system") return systemMessages(message.content)
  return untranslatable(`${path}.role`, `The provider knows no role ${JSON.stringify(message.role)}`)
}

export const chatMessages = ({ messages, system }: JsonObject): ReadonlyArray<JsonObject> => [
  ...systemMessages(system),
  ...(Array.isArray(messages) ? messages : []).flatMap(messagesOf)
]

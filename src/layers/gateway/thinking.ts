/**
 * Adapts the thinking of earlier turns to the provider that is asked next. Another provider may have made it, and a provider
 * can do nothing with thinking that the gateway made up to fill a place in the client's style.
 */
import { isObject, objectsIn, textOf } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"

/**
 * "keep" if a provider of chat completions wants `reasoning_content` back, "drop" if it refuses it; undefined if it takes what
 * such a provider gave.
 */
export type ReasoningContent = "keep" | "drop" | undefined

/** Removes members that the gateway added to chat completions: `thinking_blocks`, and the `reasoning_content` beside them. */
export const chatThinking = (body: JsonObject, wanted: ReasoningContent): JsonObject => {
  if (!Array.isArray(body.messages)) return body
  const isStrange = (message: Json): message is JsonObject =>
    isObject(message) &&
    ("thinking_blocks" in message || (wanted === "drop" && "reasoning_content" in message))
  if (!body.messages.some(isStrange)) return body
  const cleaned = body.messages.map((message) => {
    if (!isStrange(message)) return message
    const { reasoning_content, thinking_blocks: _, ...others } = message
    return wanted === "keep" && reasoning_content !== undefined ? { ...others, reasoning_content } : others
  })
  return { ...body, messages: cleaned }
}

/**
 * Removes unsigned thinking from messages, or all thinking if another provider made it. Without thinking at the beginning of a
 * turn that called tools, thinking is turned off, because the provider would demand it there.
 */
export const messagesThinking = (body: JsonObject, isForeign: boolean): JsonObject => {
  const { messages: turns, thinking, ...others } = body
  if (!Array.isArray(turns)) return body
  const isStrange = (block: Json): boolean =>
    isObject(block) &&
    (isForeign ? isThinking(block) : block.type === "thinking" && textOf(block.signature) === "")
  const isCut = turns.some((turn) => blocksOf(turn).some(isStrange))
  const isOn = isObject(thinking) && thinking.type === "enabled"
  if (!isCut && !isOn) return body
  const messages = turns.flatMap((turn) => {
    const blocks = blocksOf(turn)
    if (!isObject(turn) || !blocks.some(isStrange)) return [turn]
    const content = blocks.filter((block) => !isStrange(block))
    return content.length === 0 ? [] : [{ ...turn, content }]
  })
  if (isOn && lacksThinking(messages, isCut)) return { ...others, messages }
  return isCut ? { ...body, messages } : body
}

/** The blocks of an assistant's turn; empty for any other turn. */
const blocksOf = (turn: Json | undefined): ReadonlyArray<Json> =>
  isObject(turn) && turn.role === "assistant" && Array.isArray(turn.content) ? turn.content : []

const isThinking = ({ type }: JsonObject): boolean => type === "thinking" || type === "redacted_thinking"

/** Anthropic's models give such identifiers to their calls of tools. */
const ownToolId = /^(?:srv)?toolu_/

/** The turn whose tools were just called begins without thinking and was made by another provider. */
const lacksThinking = (messages: ReadonlyArray<Json>, isCut: boolean): boolean => {
  const last = messages.at(-1)
  const isAnswered = isObject(last) && objectsIn(last.content).some(({ type }) => type === "tool_result")
  const blocks = objectsIn(blocksOf(messages.findLast((turn) => blocksOf(turn).length > 0)))
  const called = blocks.filter(({ type }) => type === "tool_use")
  const [first] = blocks
  if (!isAnswered || called.length === 0 || first === undefined || isThinking(first)) return false
  return isCut || called.some(({ id }) => !ownToolId.test(textOf(id)))
}

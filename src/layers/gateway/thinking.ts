/**
 * Thinking of earlier turns, as the provider takes it that is asked next: another one may have given it, and what was made up
 * here, because a client's style has a place for it, means nothing to any provider.
 */
import { isObject, objectsIn, textOf } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"

/** Whether a provider of chat completions wants `reasoning_content` back, or refuses it; undefined: what came from one may go to one. */
export type ReasoningContent = "keep" | "drop" | undefined

/** Chat completions as they came; `thinking_blocks` are ours, and so is the `reasoning_content` beside them. */
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
 * Messages of which no thinking is left that nobody has signed, or none at all. Where a turn that called tools has lost its
 * thinking, or never had any, thinking is turned off, since the provider would demand that the turn begins with it.
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

/** Of an assistant's turn; none of any other. */
const blocksOf = (turn: Json | undefined): ReadonlyArray<Json> =>
  isObject(turn) && turn.role === "assistant" && Array.isArray(turn.content) ? turn.content : []

const isThinking = ({ type }: JsonObject): boolean => type === "thinking" || type === "redacted_thinking"

/** Of tools that Anthropic's models call. */
const ownToolId = /^(?:srv)?toolu_/

/** Whether the turn whose tools have just been called is another provider's, and begins without thinking. */
const lacksThinking = (messages: ReadonlyArray<Json>, isCut: boolean): boolean => {
  const last = messages.at(-1)
  const isAnswered = isObject(last) && objectsIn(last.content).some(({ type }) => type === "tool_result")
  const blocks = objectsIn(blocksOf(messages.findLast((turn) => blocksOf(turn).length > 0)))
  const called = blocks.filter(({ type }) => type === "tool_use")
  const [first] = blocks
  if (!isAnswered || called.length === 0 || first === undefined || isThinking(first)) return false
  return isCut || called.some(({ id }) => !ownToolId.test(textOf(id)))
}

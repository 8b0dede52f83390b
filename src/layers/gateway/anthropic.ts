/** Messages, as Anthropic has them: what an answer used, what a stream says. */
import { isAbsent, isObject, textOf } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"
import { readFrame, tokenCount } from "./streamParser.ts"
import type { ParsedFrame, StreamParser } from "./streamParser.ts"
import type { Usage } from "./types.ts"

/** The prompt in the `usage` of messages, which counts what was written to or read from the cache apart. */
export const messagesPrompt = (usage: JsonObject): number | undefined => {
  const fresh = tokenCount(usage.input_tokens)
  if (fresh === undefined) return undefined
  return (
    fresh +
    (tokenCount(usage.cache_creation_input_tokens) ?? 0) +
    (tokenCount(usage.cache_read_input_tokens) ?? 0)
  )
}

export const messagesCompletion = (usage: JsonObject): number | undefined => tokenCount(usage.output_tokens)

/** The `usage` of a whole message. */
export const messagesUsage = (usage: unknown): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const prompt = messagesPrompt(usage)
  const completion = messagesCompletion(usage)
  return prompt === undefined || completion === undefined ? undefined : { prompt, completion }
}
/** The text that a block begins with; of a tool, its name. */
export const blockText = (block: JsonObject): string =>
  textOf(block.text) + textOf(block.thinking) + textOf(block.name) + textOf(block.data)

const deltaText = (delta: JsonObject): string =>
  textOf(delta.text) + textOf(delta.thinking) + textOf(delta.partial_json)

const isResult = ({ type }: JsonObject): boolean => textOf(type).endsWith("_tool_result")

/** The stream of messages. */
export const messagesParser = (): StreamParser => {
  let prompt: number | undefined
  let completion: number | undefined
  let generated = ""

  const report = (usage: Json | undefined) => {
    if (isObject(usage)) prompt = messagesPrompt(usage) ?? prompt
  }

  const contentOf = (body: JsonObject): boolean => {
    if (body.type === "message_start" && isObject(body.message)) {
      // Its output_tokens are a placeholder: message_delta has the real count.
      report(body.message.usage)
    } else if (body.type === "content_block_start" && isObject(body.content_block)) {
      const text = blockText(body.content_block)
      generated += text
      return text !== "" || isResult(body.content_block)
    } else if (body.type === "content_block_delta" && isObject(body.delta)) {
      const text = deltaText(body.delta)
      generated += text
      return text !== "" || !isAbsent(body.delta.signature) || !isAbsent(body.delta.citation)
    } else if (body.type === "message_delta") {
      report(body.usage)
      if (isObject(body.usage)) completion = messagesCompletion(body.usage) ?? completion
    }
    return false
  }

  const ofEvent = (body: JsonObject): ParsedFrame => ({
    body,
    content: contentOf(body),
    finished: body.type === "message_stop",
    fault: undefined
  })

  return {
    read: (frame) => readFrame(frame, ofEvent),
    usage: () => (prompt === undefined || completion === undefined ? undefined : { prompt, completion }),
    promptTokens: () => prompt,
    generated: () => generated
  }
}

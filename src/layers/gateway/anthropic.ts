/** Parses Anthropic's messages: usage and streams. */
import { isAbsent, isObject, textOf } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"
import { readFrame } from "./streamParser.ts"
import type { ParsedFrame, StreamParser } from "./streamParser.ts"
import { mergedReports, messagesPrompt, messagesUsage } from "./usage.ts"

/** The text at the beginning of a block; for a tool, its name. */
export const blockText = (block: JsonObject): string =>
  textOf(block.text) + textOf(block.thinking) + textOf(block.name) + textOf(block.data)

const deltaText = (delta: JsonObject): string =>
  textOf(delta.text) + textOf(delta.thinking) + textOf(delta.partial_json)

const isResult = ({ type }: JsonObject): boolean => textOf(type).endsWith("_tool_result")

/** Parses a stream of messages. */
export const messagesParser = (): StreamParser => {
  let reported: JsonObject = {}
  let generated = ""
  /** Calls of the provider's tools so far; the final report counts them as well. */
  const called: Record<string, number> = {}

  const report = (usage: Json | undefined) => {
    reported = mergedReports(reported, usage)
  }

  const noteCall = (name: string) => {
    called[name] = (called[name] ?? 0) + 1
    report({ server_tool_use: { [`${name}_requests`]: called[name] } })
  }

  const contentOf = (body: JsonObject): boolean => {
    if (body.type === "message_start" && isObject(body.message)) {
      // Its output_tokens are a placeholder: message_delta has the real count.
      const { usage } = body.message
      report(isObject(usage) ? { ...usage, output_tokens: null } : undefined)
    } else if (body.type === "content_block_start" && isObject(body.content_block)) {
      const { name, type } = body.content_block
      if (type === "server_tool_use") noteCall(textOf(name))
      const text = blockText(body.content_block)
      generated += text
      return text !== "" || isResult(body.content_block)
    } else if (body.type === "content_block_delta" && isObject(body.delta)) {
      const text = deltaText(body.delta)
      generated += text
      return text !== "" || !isAbsent(body.delta.signature) || !isAbsent(body.delta.citation)
    } else if (body.type === "message_delta") {
      report(body.usage)
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
    usage: () => messagesUsage(reported),
    prompt: () => messagesPrompt(reported),
    generated: () => generated
  }
}

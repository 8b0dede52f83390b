/** What the frames of a provider's stream say, whichever style the client is to get them in. */
import { faultOf, malformed } from "./faults.ts"
import type { Frame } from "./frames.ts"
import { isAbsent, isObject, objectsIn, parsedJson, textOf } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"
import type { StreamFault, Usage } from "./types.ts"
import { chatUsage, messagesCompletion, messagesPrompt } from "./usage.ts"

/** What one frame of a provider says. */
export interface ParsedFrame {
  /** The parsed data; undefined for comments and `[DONE]`. */
  readonly body: JsonObject | undefined
  /** Something was generated. */
  readonly content: boolean
  /** The answer is complete. */
  readonly finished: boolean
  readonly fault: StreamFault | undefined
}

export interface StreamParser {
  readonly read: (frame: Frame) => ParsedFrame
  readonly usage: () => Usage | undefined
  readonly promptTokens: () => number | undefined
  readonly generated: () => string
}

const nothing: ParsedFrame = { body: undefined, content: false, finished: false, fault: undefined }
const failed = (fault: StreamFault): ParsedFrame => ({ ...nothing, fault })

const read = ({ data, event, strange }: Frame, interpret: (body: JsonObject) => ParsedFrame): ParsedFrame => {
  if (data === undefined) return strange ? failed(malformed("a line that is no part of an event")) : nothing
  const body = parsedJson(data)
  if (!isObject(body)) return failed(malformed(`${data.length} characters of data that are no JSON object`))
  if (!isAbsent(body.error)) return failed(faultOf(body.error))
  return event === "error" || body.type === "error" ? failed(faultOf(body)) : interpret(body)
}

/** Texts of a delta, by whatever name providers give to reasoning. */
export const chatTexts = (delta: JsonObject): string => {
  let text = textOf(delta.content) + (textOf(delta.reasoning_content) || textOf(delta.reasoning))
  text += textOf(delta.refusal)
  for (const call of objectsIn(delta.tool_calls)) text += calledText(call)
  if (isObject(delta.function_call)) text += functionText(delta.function_call)
  if (isObject(delta.audio)) text += textOf(delta.audio.transcript)
  return text
}

const functionText = (called: JsonObject): string =>
  textOf(called.name) + textOf(called.arguments) + textOf(called.input)

const calledText = (call: JsonObject): string =>
  [call.function, call.custom].map((called) => (isObject(called) ? functionText(called) : "")).join("")

const hasSound = ({ audio }: JsonObject): boolean => isObject(audio) && textOf(audio.data) !== ""

/** The stream of chat completions. */
export const chatParser = (choices: number): StreamParser => {
  let usage: Usage | undefined
  let generated = ""
  const complete = new Set<unknown>()

  const ofChunk = (body: JsonObject): ParsedFrame => {
    if (!isAbsent(body.usage)) usage = chatUsage(body.usage) ?? usage
    let content = false
    for (const { delta, finish_reason, index } of objectsIn(body.choices)) {
      if (!isAbsent(finish_reason)) complete.add(index)
      if (!isObject(delta)) continue
      const text = chatTexts(delta)
      generated += text
      if (text !== "" || hasSound(delta)) content = true
    }
    return { body, content, finished: complete.size >= choices, fault: undefined }
  }

  return {
    read: (frame) =>
      frame.data?.trim() === "[DONE]" ? { ...nothing, finished: true } : read(frame, ofChunk),
    usage: () => usage,
    promptTokens: () => usage?.prompt,
    generated: () => generated
  }
}

/** Text of a block when it begins: of tools their name; of all else what stands in it already. */
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
      // its output_tokens are a placeholder: only message_delta says how many there were
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
    read: (frame) => read(frame, ofEvent),
    usage: () => (prompt === undefined || completion === undefined ? undefined : { prompt, completion }),
    promptTokens: () => prompt,
    generated: () => generated
  }
}

/** Chat completions, as OpenAI has them: what an answer used, what a stream says. */
import { isAbsent, isObject, objectsIn, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { nothing, readFrame, tokenCount } from "./streamParser.ts"
import type { ParsedFrame, StreamParser } from "./streamParser.ts"
import type { Usage } from "./types.ts"

/**
 * The `usage` of chat completions. Some providers leave reasoning tokens out of `completion_tokens` and show them in the
 * total alone; they were generated and are counted.
 */
export const chatUsage = (usage: unknown): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const prompt = tokenCount(usage.prompt_tokens)
  const completion = tokenCount(usage.completion_tokens)
  if (prompt === undefined || completion === undefined) return undefined
  const total = tokenCount(usage.total_tokens) ?? 0
  return { prompt, completion: Math.max(completion, total - prompt) }
}

/** All text of a delta or message, by any of the names that providers give to reasoning. */
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
      frame.data?.trim() === "[DONE]" ? { ...nothing, finished: true } : readFrame(frame, ofChunk),
    usage: () => usage,
    promptTokens: () => usage?.prompt,
    generated: () => generated
  }
}

/** Parses OpenAI's chat completions: usage and streams. */
import { isAbsent, isObject, objectsIn, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { nothing, readFrame } from "./streamParser.ts"
import type { ParsedFrame, StreamParser } from "./streamParser.ts"
import { chatUsage, mergedReports } from "./usage.ts"

/** All text of a delta or message, with reasoning under any of the names that providers use. */
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

/** Parses a stream of chat completions. */
export const chatParser = (choices: number): StreamParser => {
  let reported: JsonObject = {}
  let generated = ""
  const complete = new Set<unknown>()

  const ofChunk = (body: JsonObject): ParsedFrame => {
    if (!isAbsent(body.usage)) reported = mergedReports(reported, body.usage)
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
    usage: () => chatUsage(reported),
    prompt: () => chatUsage(reported),
    generated: () => generated
  }
}

/** What the frames of a provider's stream say, whichever style they are in. */
import { isAbsent, isObject, parsedJson, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Frame } from "./sse.ts"
import type { StreamFault } from "./types.ts"
import type { PromptUsage, Usage } from "./usage.ts"

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
  /** Merged from all reports so far. */
  readonly usage: () => Usage | undefined
  /** The same of the prompt, which the messages style reports before anything is generated. */
  readonly prompt: () => PromptUsage | undefined
  readonly generated: () => string
}

export const nothing: ParsedFrame = { body: undefined, content: false, finished: false, fault: undefined }
const failedFrame = (fault: StreamFault): ParsedFrame => ({ ...nothing, fault })

/** Reads what both styles have in common; `interpret` reads the rest. */
export const readFrame = (
  { data, event, strange }: Frame,
  interpret: (body: JsonObject) => ParsedFrame
): ParsedFrame => {
  if (data === undefined)
    return strange ? failedFrame(malformed("a line that is no part of an event")) : nothing
  const body = parsedJson(data)
  if (!isObject(body))
    return failedFrame(malformed(`${data.length} characters of data that are no JSON object`))
  if (!isAbsent(body.error)) return failedFrame(faultOf(body.error))
  return event === "error" || body.type === "error" ? failedFrame(faultOf(body)) : interpret(body)
}

/** Types and codes of errors by which providers say that they are busy. */
const busyWords = /overload|rate_?limit|too_many|capacity|unavailable|quota|^(?:429|503|529)$/i

/** The fault in an `error` member, an object in both styles, a text at some providers. */
export const faultOf = (error: unknown): StreamFault => {
  if (!isObject(error)) return { kind: "error_event", message: textOf(error).slice(0, 500), busy: false }
  const words = [error.type, error.code, error.status].filter((word) => word !== undefined && word !== null)
  return {
    kind: "error_event",
    message: [...words.map(String), textOf(error.message)].join(": ").slice(0, 500),
    busy: words.some((word) => busyWords.test(String(word)))
  }
}

export const malformed = (message: string): StreamFault => ({ kind: "malformed", message, busy: false })

/** Parses the frames of a provider's stream, in whichever style. */
import { isAbsent, isObject, parsedJson, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Frame } from "./sse.ts"
import type { PromptUsage, Usage } from "./usage.ts"

export interface StreamFault {
  readonly kind: "error_event" | "malformed"
  /** Only for the log, never for the client: it may name the provider. */
  readonly message: string
  /** The provider is overloaded or its limit is reached. */
  readonly busy: boolean
}

/** One parsed frame of a provider's stream. */
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
  /** The larger of each number in all reports so far. */
  readonly usage: () => Usage | undefined
  /** The prompt's part of the usage. The messages style reports it before anything is generated. */
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

/** Words in types and codes of errors with which providers say that they are busy. */
const busyWords = /overload|rate_?limit|too_many|capacity|unavailable|quota|^(?:429|503|529)$/i

/** Reads an `error` member: an object in both styles, a text at some providers. */
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

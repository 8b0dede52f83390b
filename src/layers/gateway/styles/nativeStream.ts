/**
 * A provider's stream for a client of the same style: frames as they came, but for the model, which gets the client's
 * name back, and for the usage event of chat completions, which only those see who asked for it.
 */
import type { Frame } from "./frames.ts"
import { isAbsent, isObject } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { withMember } from "./jsonOutline.ts"
import type { ReaderOptions } from "./types.ts"
import type { Said } from "./understanding.ts"
import type { Writing } from "./writer.ts"

const member = '"model":'

/** Where a JSON text names the model of its outermost object, found without reading the rest where it stands early. */
const earlyModel = (text: string, model: string): readonly [start: number, end: number] | undefined => {
  const at = text.indexOf(member)
  const brace = text.indexOf("{")
  if (at === -1 || !text.startsWith("data:")) return undefined
  if (text.lastIndexOf("{", at) !== brace || text.lastIndexOf("[", at) > brace) return undefined
  const start = text[at + member.length] === " " ? at + member.length + 1 : at + member.length
  const written = JSON.stringify(model)
  return text.startsWith(written, start) ? [start, start + written.length] : undefined
}

/** A frame whose data are written anew, with the lines around them as they were. */
const withData = ({ data = "", event }: Frame, change: (json: Buffer) => Buffer): string => {
  const json = change(Buffer.from(data)).toString()
  const lines = json.split("\n").map((line) => `data: ${line}\n`)
  return `${event === undefined ? "" : `event: ${event}\n`}${lines.join("")}\n`
}

const renamed = (frame: Frame, body: JsonObject, model: string): Writing => {
  if (typeof body.model !== "string" || body.model === model) return frame.bytes
  const early = earlyModel(frame.text, body.model)
  if (early === undefined) return withData(frame, (json) => withMember(json, ["model"], model))
  const [start, end] = early
  return frame.text.slice(0, start) + JSON.stringify(model) + frame.text.slice(end)
}

/** The event that only reports usage; a choice beside it is content and stays. */
const isUsageEvent = ({ choices, usage }: JsonObject): boolean =>
  !isAbsent(usage) && (isAbsent(choices) || (Array.isArray(choices) && choices.length === 0))

export const nativeChat =
  ({ asksUsage, model }: ReaderOptions) =>
  (frame: Frame, { body }: Said): Writing => {
    if (body === undefined) return frame.bytes
    return !asksUsage && isUsageEvent(body) ? undefined : renamed(frame, body, model)
  }

export const nativeMessages =
  ({ model }: ReaderOptions) =>
  (frame: Frame, { body }: Said): Writing => {
    if (body?.type !== "message_start" || !isObject(body.message)) return frame.bytes
    if (typeof body.message.model !== "string" || body.message.model === model) return frame.bytes
    return withData(frame, (json) => withMember(json, ["message", "model"], model))
  }

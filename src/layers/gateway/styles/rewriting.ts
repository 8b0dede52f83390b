/** A client's body as a provider of the same style is to get it: other bytes only where something has to be another. */
import { isObject } from "./json.ts"
import { memberNamed, outlineOf, spliced } from "./jsonOutline.ts"
import type { Edit } from "./jsonOutline.ts"
import type { Admitted } from "./types.ts"

const usageAsked = '"include_usage":true'

/** `stream_options.include_usage` switched on, whatever stands there. */
const usageEdit = ({ body, bytes, outline }: Admitted): Edit => {
  const options = memberNamed(bytes, outline, "stream_options")
  if (options === undefined) {
    return { start: outline.inside, end: outline.inside, text: `"stream_options":{${usageAsked}},` }
  }
  const { valueEnd, valueStart } = options
  if (!isObject(body.stream_options)) return { start: valueStart, end: valueEnd, text: `{${usageAsked}}` }
  const value = bytes.subarray(valueStart, valueEnd)
  const within = outlineOf(value)
  const asked = memberNamed(value, within, "include_usage")
  if (asked !== undefined) {
    return { start: valueStart + asked.valueStart, end: valueStart + asked.valueEnd, text: "true" }
  }
  const at = valueStart + within.inside
  return { start: at, end: at, text: within.members.length === 0 ? usageAsked : `${usageAsked},` }
}

/**
 * The body with the provider's name of the model, and with the usage of a chat-completions stream asked for, which
 * billing needs whether the client wants to see it or not.
 */
export const nativeBody = (admitted: Admitted, model: string): Uint8Array => {
  const { asksUsage, bytes, outline, stream, style } = admitted
  const edits: Array<Edit> = []
  const named = memberNamed(bytes, outline, "model")
  if (named !== undefined && model !== admitted.model) {
    edits.push({ start: named.valueStart, end: named.valueEnd, text: JSON.stringify(model) })
  }
  if (style === "openai" && stream && !asksUsage) edits.push(usageEdit(admitted))
  if (edits.length === 0) return bytes
  return spliced(
    bytes,
    edits.sort((one, other) => one.start - other.start)
  )
}

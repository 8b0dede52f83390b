/** What a provider gets: the client's body, with another model where it has another name there, or a translation. */
import { Result } from "effect"
import { isObject } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { chatRequest } from "./translation/chatRequest.ts"
import { messagesRequest } from "./translation/messagesRequest.ts"
import { translated } from "./translation/untranslatable.ts"
import type { Admitted, Refused, Target } from "./types.ts"

export const requestBody = (
  admitted: Admitted,
  target: Target
): Result.Result<Uint8Array | string, Refused> => {
  if (admitted.style === target.style) return Result.succeed(nativeRequest(admitted, target.model))
  return translated(() =>
    JSON.stringify(
      target.style === "anthropic" ? messagesRequest(admitted, target) : chatRequest(admitted, target)
    )
  )
}

const withUsage = ({ stream_options }: JsonObject) => ({
  stream_options: { ...(isObject(stream_options) && stream_options), include_usage: true }
})

/** Billing needs the usage of a stream of chat completions, whether the client wants to see it or not. */
const nativeRequest = (admitted: Admitted, model: string): Uint8Array | string => {
  const { asksUsage, body, bytes, stream, style } = admitted
  const isUsageMissing = style === "openai" && stream && !asksUsage
  if (model === admitted.model && !isUsageMissing) return bytes
  return JSON.stringify({ ...body, model, ...(isUsageMissing && withUsage(body)) })
}

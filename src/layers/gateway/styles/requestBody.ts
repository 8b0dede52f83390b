/** What a provider gets: the client's bytes with another model, or a translation. */
import { Result } from "effect"
import { nativeBody } from "./rewriting.ts"
import { chatRequest } from "./translation/chatRequest.ts"
import { messagesRequest } from "./translation/messagesRequest.ts"
import { translated } from "./translation/untranslatable.ts"
import type { Admitted, Refused, Target } from "./types.ts"

export const requestBody = (
  admitted: Admitted,
  target: Target
): Result.Result<Uint8Array | string, Refused> => {
  if (admitted.style === target.style) return Result.succeed(nativeBody(admitted, target.model))
  return translated(() =>
    JSON.stringify(
      target.style === "anthropic" ? messagesRequest(admitted, target) : chatRequest(admitted, target)
    )
  )
}

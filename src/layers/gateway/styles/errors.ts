/** Errors as the clients of each style know them, with our own `detail` and `code` beside, as everywhere. */
import { frame } from "./frames.ts"
import { isObject, parsedJson, textOf } from "./json.ts"
import type { Refused, ShownError, Style } from "./types.ts"

/** The `type` that the style gives to a status. */
const types: Readonly<Record<Style, Readonly<Record<number, string>>>> = {
  openai: {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error"
  },
  anthropic: {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error"
  }
}

const typeOf = (style: Style, status: number): string => {
  const known = types[style][status]
  if (known !== undefined) return known
  if (status < 500) return "invalid_request_error"
  return style === "openai" ? "server_error" : "api_error"
}

const shown = (style: Style, { code, message, param, requestId, status }: ShownError) => {
  const type = typeOf(style, status)
  return style === "openai"
    ? { error: { message, type, code, param }, detail: message, code }
    : { type: "error", error: { type, message }, request_id: requestId, detail: message, code }
}

/** The body of an answer that is an error. */
export const errorBody = (style: Style, error: ShownError): string => JSON.stringify(shown(style, error))

/** The event that ends a stream in which something was delivered: no `[DONE]` follows, for it would look complete. */
export const streamError = (style: Style, error: ShownError): Uint8Array =>
  Buffer.from(frame(errorBody(style, error), style === "anthropic" ? "error" : undefined))

const maxMessageLength = 1000

/** What a provider says of a body that it refuses. */
export const providerRefusal = (style: Style, bytes: Uint8Array): Refused => {
  const body = parsedJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  const error = isObject(body) ? body.error : undefined
  const said = isObject(error) ? error.message : error
  const message = textOf(said).slice(0, maxMessageLength) || "The provider refused the request."
  const param = style === "openai" && isObject(error) && typeof error.param === "string" ? error.param : null
  return { message, param }
}

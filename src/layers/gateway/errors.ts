/** Errors as the clients of a style read them, with the headers that their libraries act on. */
import { Match } from "effect"
import type { CallError, ErrorAnswer, RejectedRequest, Style } from "../../services/Gateway.ts"
import { isObject, parsedJson, textOf } from "./json.ts"
import { frame } from "./sse.ts"
import type { Rejected, ShownError } from "./types.ts"

const bodyStatus = {
  invalid_request: 400,
  too_many_values: 400,
  payload_too_large: 413,
  unsupported_media_type: 415
} as const

/** The HTTP status that an error is answered with. */
export const statusOf = Match.type<CallError>().pipe(
  Match.tagsExhaustive({
    BadCall: ({ code }) => bodyStatus[code],
    UnknownModel: ({ status }): number => status,
    InvalidGatewayKey: () => 401,
    CreditTooLow: () => 402,
    GatewayDisabled: () => 403,
    TooManyRequests: () => 429,
    UpstreamsBusy: () => 429,
    UpstreamsFailed: () => 502,
    RejectedUpstream: ({ status }): number => status
  })
)

/** Client libraries retry 408, 409, 429 and 5xx, although every provider has just been tried. */
const finalErrors: ReadonlySet<CallError["_tag"]> = new Set(["UpstreamsBusy", "UpstreamsFailed"])

export const headersOf = (style: Style, requestId: string): Readonly<Record<string, string>> => ({
  "x-request-id": requestId,
  ...(style === "anthropic" && { "request-id": requestId })
})

const paramOf = (error: CallError): string | null => {
  if (error._tag === "UnknownModel") return "model"
  return "param" in error ? error.param : null
}

export const inStyle = (
  style: Style,
  { code, detail, headers, param = null, status }: RejectedRequest & { readonly param?: string | null },
  requestId: string
): ErrorAnswer => ({
  status,
  headers: {
    ...headersOf(style, requestId),
    "content-type": "application/json; charset=utf-8",
    ...headers
  },
  body: errorBody(style, { status, message: detail, code, param, requestId })
})

export const errorAnswer = (style: Style, error: CallError, requestId: string): ErrorAnswer => {
  const { code, detail } = error
  const status = statusOf(error)
  const headers = {
    ...("retry_after" in error && { "retry-after": String(error.retry_after) }),
    ...(finalErrors.has(error._tag) && { "x-should-retry": "false" }),
    ...(status === 401 && { "www-authenticate": 'Bearer error="invalid_token"' })
  }
  return inStyle(style, { status, code, detail, headers, param: paramOf(error) }, requestId)
}

/** The `type` that a style gives to a status. */
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

/** The event that ends a broken stream; no `[DONE]` follows, or the stream would look complete. */
export const streamError = (style: Style, error: ShownError): Uint8Array =>
  Buffer.from(frame(errorBody(style, error), style === "anthropic" ? "error" : undefined))

const maxMessageLength = 1000

/** What a provider says of a body that it rejects. */
export const providerRejection = (style: Style, bytes: Uint8Array): Rejected => {
  const body = parsedJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  const error = isObject(body) ? body.error : undefined
  const said = isObject(error) ? error.message : error
  const message = textOf(said).slice(0, maxMessageLength) || "The provider refused the request."
  const param = style === "openai" && isObject(error) && typeof error.param === "string" ? error.param : null
  return { message, param }
}

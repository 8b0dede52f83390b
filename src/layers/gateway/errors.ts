/** Errors in the client's style, with the headers that client libraries act on. */
import { Match } from "effect"
import { creditsOf } from "../../services/Credits.ts"
import { CreditInFlight, CreditTooLow } from "../../services/Gateway.ts"
import type { CallError, ErrorAnswer, RejectedRequest, Style } from "../../services/Gateway.ts"
import { contextLengthCode } from "./rejection.ts"
import { frame } from "./sse.ts"
import type { ShownError } from "./types.ts"

const bodyStatus = {
  invalid_request: 400,
  too_many_values: 400,
  payload_too_large: 413,
  unsupported_media_type: 415
} as const

/** The HTTP status of an error. */
export const statusOf = Match.type<CallError>().pipe(
  Match.tagsExhaustive({
    BadCall: ({ code }) => bodyStatus[code],
    UnknownModel: ({ status }): number => status,
    ModelNotAllowed: () => 403,
    InvalidGatewayKey: () => 401,
    CreditTooLow: () => 402,
    CreditInFlight: () => 402,
    GatewayDisabled: () => 403,
    TooManyRequests: () => 429,
    UpstreamsBusy: () => 429,
    UpstreamsFailed: () => 502,
    RejectedUpstream: ({ status }): number => status
  })
)

/**
 * Adds to an error about credit what the caller can do; `tokens` is the maximum that an amount allows, and `name` the member
 * that requests it.
 */
export const withRemedy = <E extends CallError>(
  error: E,
  tokens: (left: bigint) => number,
  name = "max_tokens"
): E | CreditInFlight | CreditTooLow => {
  if (error._tag !== "CreditTooLow" && error._tag !== "CreditInFlight") return error
  const max = tokens(error.left)
  const lower = max > 0 ? `lower ${name} to ${max}, or ` : ""
  const detail = `${error.detail}: ${lower}${error.remedy}.`
  return error._tag === "CreditTooLow"
    ? new CreditTooLow({ ...error, detail })
    : new CreditInFlight({ ...error, detail })
}

/** Client libraries retry 5xx, which only multiplies attempts after this many. */
const enoughAttempts = 3

export const headersOf = (style: Style, requestId: string): Readonly<Record<string, string>> => ({
  "x-request-id": requestId,
  ...(style === "anthropic" && { "request-id": requestId })
})

/** The headers with a call's cost or maximum cost, and with the credit that is left, in credits. */
export const moneyHeaders = (money: {
  readonly cost?: bigint
  readonly maxCost?: bigint
  readonly left: bigint | undefined
}): Readonly<Record<string, string>> => ({
  ...(money.cost !== undefined && { "x-auspex-cost": creditsOf(money.cost) }),
  ...(money.maxCost !== undefined && { "x-auspex-max-cost": creditsOf(money.maxCost) }),
  ...(money.left !== undefined && { "x-auspex-credit-left": creditsOf(money.left) })
})

const paramOf = (error: CallError): string | null => {
  if (error._tag === "UnknownModel" || error._tag === "ModelNotAllowed") return "model"
  return "param" in error ? error.param : null
}

interface Told extends RejectedRequest {
  readonly param?: string | null
  readonly type?: string | null
}

export const inStyle = (
  style: Style,
  { code, detail, headers, param = null, status, type = null }: Told,
  requestId: string
): ErrorAnswer => ({
  status,
  headers: {
    ...headersOf(style, requestId),
    "content-type": "application/json; charset=utf-8",
    ...headers
  },
  body: errorBody(style, { status, message: detail, code, type, param, requestId })
})

export const errorAnswer = (style: Style, error: CallError, requestId: string): ErrorAnswer => {
  const { code } = error
  const status = statusOf(error)
  const type = error._tag === "RejectedUpstream" ? error.type : null
  const headers = {
    ...("retry_after" in error && { "retry-after": String(error.retry_after) }),
    ...("left" in error && moneyHeaders({ left: error.left })),
    // Client libraries do not retry a 402 by themselves.
    ...(error._tag === "CreditInFlight" && { "x-should-retry": "true" }),
    ...(error._tag === "UpstreamsFailed" &&
      error.attempts >= enoughAttempts && { "x-should-retry": "false" }),
    ...(status === 401 && { "www-authenticate": 'Bearer error="invalid_token"' })
  }
  const detail = detailOf(style, error)
  return inStyle(style, { status, code, detail, headers, type, param: paramOf(error) }, requestId)
}

/** Clients of messages recognise a prompt that is too long by these words, because the style has no codes. */
const detailOf = (style: Style, { code, detail }: CallError): string =>
  style === "anthropic" && code === contextLengthCode && !/prompt is too long/i.test(detail)
    ? `prompt is too long: ${detail}`
    : detail

/** The `type` of each status in a style. */
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

const shown = (style: Style, { code, message, param, requestId, status, ...own }: ShownError) => {
  const type = typeOf(style, status)
  return style === "openai"
    ? { error: { message, type: own.type ?? type, code, param }, detail: message, code }
    : { type: "error", error: { type, message }, request_id: requestId, detail: message, code }
}

/** The body of an error answer. */
export const errorBody = (style: Style, error: ShownError): string => JSON.stringify(shown(style, error))

/** The event that ends a broken stream; no `[DONE]` follows, because the stream would look complete. */
export const streamError = (style: Style, error: ShownError): Uint8Array =>
  Buffer.from(frame(errorBody(style, error), style === "anthropic" ? "error" : undefined))

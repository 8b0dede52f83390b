/** Errors as the clients of a style read them, with the headers that their libraries act on. */
import { Match } from "effect"
import type { CallError, ErrorAnswer, RefusedRequest, Style } from "../../services/Gateway.ts"
import { errorBody } from "./styles/index.ts"

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
    RefusedUpstream: ({ status }): number => status
  })
)

/** The libraries try 408, 409, 429 and 5xx again by themselves, where every provider has just been tried. */
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
  { code, detail, headers, param = null, status }: RefusedRequest & { readonly param?: string | null },
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

export const refusal = (style: Style, error: CallError, requestId: string): ErrorAnswer => {
  const { code, detail } = error
  const status = statusOf(error)
  const headers = {
    ...("retry_after" in error && { "retry-after": String(error.retry_after) }),
    ...(finalErrors.has(error._tag) && { "x-should-retry": "false" }),
    ...(status === 401 && { "www-authenticate": 'Bearer error="invalid_token"' })
  }
  return inStyle(style, { status, code, detail, headers, param: paramOf(error) }, requestId)
}

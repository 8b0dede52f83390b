/** The gateway's clients: their paths, the key in their headers, and errors in their style. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import type { CallError, ErrorAnswer, Gateway, Style } from "../../services/Gateway.ts"
import { InvalidGatewayKey } from "../../services/GatewayKeys.ts"
import { CurrentRequest } from "../CurrentRequest.ts"

const root = "/api/v1/llm"
/** Clients of messages append the `v1` themselves. */
const base = `${root}/v1`

export const gatewayPaths = {
  chat: `${base}/chat/completions`,
  responses: `${base}/responses`,
  embeddings: `${base}/embeddings`,
  messages: `${base}/messages`,
  countTokens: `${base}/messages/count_tokens`,
  models: `${base}/models`,
  model: `${base}/models/*`
} as const

type Headers = Readonly<Record<string, string | undefined>>

/** The style of a client by its headers: only clients of messages send `anthropic-version`. */
export const styleOfClient = (headers: Headers): Style =>
  headers["anthropic-version"] === undefined ? "openai" : "anthropic"

const isWithin = (path: string, above: string): boolean => path === above || path.startsWith(`${above}/`)

/** A path with one of these segments is meant as a model call, whatever the client's base address. */
const openaiCalls = new Set(["completions", "embeddings", "responses"])

/** The style of errors at a path, even an unknown one; undefined outside of the gateway. */
export const styleAt = (path: string, headers: Headers): Style | undefined => {
  if (!path.startsWith(`${root}/`)) return undefined
  const [first, ...others] = path.slice(root.length + 1).split("/")
  const segments = [first ?? "", ...others]
  // A model may have any name.
  const isModel = isWithin(path, gatewayPaths.models)
  if (!isModel && segments.some((each) => openaiCalls.has(each))) return "openai"
  if (!isModel && segments.includes("messages")) return "anthropic"
  return first === "v1" || segments.includes("models") ? styleOfClient(headers) : undefined
}

/** The one credential of a request; undefined if it has none. */
export const gatewayCredential = Effect.fnUntraced(function* ({
  headers
}: Pick<HttpServerRequest.HttpServerRequest, "headers">) {
  const bearer = /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1]
  const named = headers["x-api-key"]
  if (bearer !== undefined && named !== undefined && bearer !== named) {
    return yield* new InvalidGatewayKey({
      detail: "Authorization and x-api-key hold two different keys: send one of them."
    })
  }
  return bearer ?? named
})

/** The credential of a request that must have one. */
export const requiredCredential = Effect.fnUntraced(function* (
  request: Pick<HttpServerRequest.HttpServerRequest, "headers">
) {
  const credential = yield* gatewayCredential(request)
  if (credential !== undefined) return credential
  return yield* new InvalidGatewayKey({
    detail: "Send a gateway key: Authorization: Bearer <API_KEY>, or x-api-key."
  })
})

const keyPrefix = "aus_gw_"

/** Distinguishes gateway keys from access tokens, where both are accepted. */
export const isGatewayKey = (credential: string): boolean => credential.startsWith(keyPrefix)

/** The credential is no gateway key and was rejected as an access token: the client may have meant either. */
export const neitherDetail = (detail: string): string =>
  `Expected a gateway key (${keyPrefix}...) or an access token. ${detail}`

export const errorResponse = ({ body, headers, status }: ErrorAnswer) =>
  HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] })

/** Answers the errors of a call in this style. */
export const errorsIn =
  (style: Style, { errorAnswer }: Gateway["Service"]) =>
  <R>(response: Effect.Effect<HttpServerResponse.HttpServerResponse, CallError, R>) =>
    response.pipe(
      Effect.catch((error) =>
        Effect.map(CurrentRequest, ({ requestId }) => errorResponse(errorAnswer(style, error, requestId)))
      )
    )

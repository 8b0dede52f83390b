/**
 * Calls of models in either style: `POST chat/completions`, `responses`, `embeddings`, `messages` and `messages/count_tokens`.
 * Answers and errors have the caller's style.
 */
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { BadCall, Gateway, styleOf } from "../../services/Gateway.ts"
import type { CallError, Endpoint } from "../../services/Gateway.ts"
import { GatewayKeys } from "../../services/GatewayKeys.ts"
import type { KeyHolder } from "../../services/GatewayKeys.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { countedRequest, CurrentRequest } from "../CurrentRequest.ts"
import { declaredLength, unsupportedBody } from "../bodyText.ts"
import { errorsIn, gatewayPaths, requiredCredential } from "./clients.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const gateway = yield* Gateway
    const { admit, countAgain, identify } = yield* makeAdmission

    const call = Effect.fnUntraced(function* (endpoint: Endpoint) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { requestId } = yield* CurrentRequest
      const holder = yield* admit(yield* requiredCredential(request), request.headers)
      const body = yield* readBody(request)
      const answer = yield* gateway
        .call({ endpoint, holder, body, requestId, versionHeaders: versionHeaders(request.headers) })
        .pipe(Effect.tapError((error) => countAgain(holder, body, error)))
      const { contentType } = answer
      const headers = {
        ...answer.headers,
        ...(styleOf(endpoint) === "anthropic" && { "request-id": requestId })
      }
      return answer.stream
        ? HttpServerResponse.stream(answer.body, { contentType, headers })
        : HttpServerResponse.uint8Array(answer.body, { contentType, headers })
    })

    for (const endpoint of ["chat", "responses", "embeddings", "messages"] as const) {
      const answer = call(endpoint).pipe(errorsIn(styleOf(endpoint), gateway))
      yield* router.add("POST", gatewayPaths[endpoint], answer)
    }

    const countTokens = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const holder = yield* identify(yield* requiredCredential(request))
      const body = yield* readBody(request)
      const { requestId } = yield* CurrentRequest
      const input_tokens = yield* gateway
        .countTokens(holder, body)
        .pipe(Effect.tapError((error) => countAgain(holder, body, error)))
      return HttpServerResponse.jsonUnsafe({ input_tokens }, { headers: { "request-id": requestId } })
    })

    yield* router.add("POST", gatewayPaths.countTokens, countTokens.pipe(errorsIn("anthropic", gateway)))
  })
)

const maxBody = ByteSize.mebibytes(10)

type Headers = Readonly<Record<string, string | undefined>>

/** Reading and parsing a body of this size costs more than a statement. */
const largeBody = 64 * 1024

/** Errors that are found only after the body was parsed. */
const parsedInVain: ReadonlySet<CallError["_tag"]> = new Set([
  "BadCall",
  "UnknownModel",
  "ModelNotAllowed",
  "CreditTooLow",
  "CreditInFlight"
])

/** Checks that precede the reading of a body: the key, the limits, and for a large body the credit. */
const makeAdmission = Effect.gen(function* () {
  const gateway = yield* Gateway
  const keys = yield* GatewayKeys
  const limits = yield* RateLimiter

  const count = ({ agentId, keyId }: KeyHolder) =>
    limits.consumeAll([
      ["gateway_calls", keyId],
      ["gateway_agent_calls", agentId]
    ])

  /** Authenticates and counts a request. The edge counts requests with a rejected key by their address. */
  const identify = Effect.fnUntraced(function* (credential: string) {
    const holder = yield* keys.authenticate(credential)
    yield* countedRequest
    yield* count(holder)
    return holder
  })

  /** Admits a call that is paid. */
  const admit = (credential: string, headers: Headers) =>
    Effect.tap(identify(credential), (holder) =>
      declaredLength(headers) > largeBody ? gateway.checkCredit(holder) : Effect.void
    )

  /** A large body that was parsed and then rejected counts twice. */
  const countAgain = (holder: KeyHolder, body: Uint8Array, error: CallError): Effect.Effect<void> =>
    body.length > largeBody && parsedInVain.has(error._tag) ? Effect.ignore(count(holder)) : Effect.void

  return { identify, admit, countAgain }
})

const versionHeaders = (headers: Headers): Readonly<Record<string, string>> => {
  const version = headers["anthropic-version"]
  const beta = headers["anthropic-beta"]
  return {
    ...(version !== undefined && { "anthropic-version": version }),
    ...(beta !== undefined && { "anthropic-beta": beta })
  }
}

const tooLarge = () =>
  new BadCall({
    detail: `Expected a body of at most ${ByteSize.format(maxBody)}.`,
    code: "payload_too_large",
    param: null
  })

const readBody = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const untaken = unsupportedBody(request.headers, ["application/json"])
  if (untaken !== undefined) {
    return yield* new BadCall({ detail: untaken, code: "unsupported_media_type", param: null })
  }
  const length = declaredLength(request.headers)
  if (Number.isFinite(length) && length > Number(maxBody)) return yield* tooLarge()
  const bytes = yield* request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBody),
    Effect.mapError(({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? tooLarge()
        : new BadCall({ detail: "The body could not be read to its end.", param: null })
    )
  )
  return new Uint8Array(bytes)
})

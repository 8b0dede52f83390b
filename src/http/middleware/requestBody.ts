import { Context, Effect, Layer, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import { InvalidRequest } from "../../services/domain/errors.ts"
import type { PayloadTooLarge, UnsupportedMediaType } from "../errors.ts"
import { BodyTypes, MaxBody, RequestBody, isWrite } from "../api/middleware.ts"
import { readStrictJson } from "../../services/domain/strictJson.ts"
import { bodyText, bytesOf, formType, invalidBody, mediaType } from "../bodyText.ts"
import { invalidRequest, withUnknownNames } from "../fieldProblems.ts"
import {
  ignoredFields,
  namesOf,
  refusedFields,
  presentMembers,
  unknownMembers,
  refusedParameters,
  withIgnoredFields
} from "../unknownFields.ts"

const maxPath = 200

const readBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  { annotations, payload }: HttpApiEndpoint.Top
) {
  const maxBytes = Context.get(annotations, MaxBody)
  if (payload.size === 0 && (yield* bytesOf(request, maxBytes)).byteLength === 0) return undefined
  const text = yield* bodyText(request, Context.get(annotations, BodyTypes), maxBytes)
  if (mediaType(request.headers["content-type"]) === formType) {
    return Object.fromEntries(new URLSearchParams(text))
  }
  if (text.trim() === "") return yield* invalidBody("Expected a JSON body, got none.")
  const read = readStrictJson(text)
  if (Result.isSuccess(read)) return read.success
  const { message, path } = read.failure
  return yield* path === "" ? invalidBody(message) : InvalidRequest.of(path.slice(0, maxPath), message)
})

type ReadBody = Effect.Effect<unknown, InvalidRequest | PayloadTooLarge | UnsupportedMediaType>

const bodies = new WeakMap<object, ReadBody>()

/** The JSON value, or the fields of a form as an object; undefined if no body was sent. All callers share one reading of the body. */
export const sentBody = (endpoint: HttpApiEndpoint.Top) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const known = bodies.get(request.source)
    if (known !== undefined) return yield* known
    const read = yield* Effect.cached(readBody(request, endpoint))
    bodies.set(request.source, read)
    return yield* read
  })

/** The request with this value as its body. */
const withBody = (request: HttpServerRequest.HttpServerRequest, value: unknown) => {
  const { headers, method, remoteAddress, url } = request
  const sent = new Request("http://localhost", { method, body: JSON.stringify(value) })
  return HttpServerRequest.fromWeb(sent).modify({ headers, remoteAddress, url })
}

/** The body or query that an issue refers to. */
const sentTo = (kind: string, body: unknown, url: string): unknown => {
  if (kind === "Payload") return body
  return kind === "Query" ? Object.fromEntries(new URL(url, "http://localhost").searchParams) : undefined
}

/** Problems of the client's input; a failure to encode our own answer stays a defect. */
const ofRequest: ReadonlySet<string> = new Set(["Params", "Headers", "Query", "Payload"])

/** Well-known documents have parameters that others define. */
const isOfApi = (path: string): boolean => path.startsWith("/api/")

export const layer = Layer.succeed(RequestBody, (httpEffect, { endpoint }) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const error = isOfApi(endpoint.path) ? refusedParameters(request.url, namesOf(endpoint.query)) : undefined
    if (error !== undefined) return yield* error
    const sent = isWrite(request.method) ? yield* sentBody(endpoint) : undefined
    const body = presentMembers(endpoint, sent)
    const refused = refusedFields(endpoint, body)
    if (refused !== undefined) return yield* refused
    const read =
      body === sent
        ? httpEffect
        : Effect.provideService(httpEffect, HttpServerRequest.HttpServerRequest, withBody(request, body))
    const response = yield* read.pipe(
      Effect.mapError((error) => {
        const refusal =
          HttpApiError.HttpApiSchemaError.is(error) && ofRequest.has(error.kind)
            ? invalidRequest(error.cause.issue, sentTo(error.kind, body, request.url))
            : error
        return refusal instanceof InvalidRequest
          ? withUnknownNames(refusal, unknownMembers(endpoint, body))
          : refusal
      })
    )
    return isWrite(request.method)
      ? withIgnoredFields(response, ignoredFields(endpoint, body, request.headers))
      : response
  })
)

import { ByteSize, Context, Effect, Layer, Result } from "effect"
import { HttpIncomingMessage, HttpServerError, HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { countIn } from "../../services/domain/numbers.ts"
import { PayloadTooLarge, UnsupportedMediaType } from "../api/errors.ts"
import { BodyTypes, MaxBody, RequestBody, isWrite } from "./definitions.ts"
import { readStrictJson } from "../../services/domain/strictJson.ts"
import { invalidRequest, withUnknownNames } from "../fieldProblems.ts"
import {
  ignoredFields,
  namesOf,
  refusedFields,
  presentMembers,
  unknownMembers,
  refusedParameters,
  withIgnoredFields
} from "./unknownFields.ts"

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const maxPath = 200

export const formType = "application/x-www-form-urlencoded"

const invalidBody = (message: string) =>
  new InvalidRequest({ detail: message, errors: [{ path: "", message }] })

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

export const mediaType = (header: string | undefined): string =>
  (header ?? "application/json").split(";", 1).join("").trim().toLowerCase()

/** Bytes that the body is declared to have; infinitely many where that is not known, as of a chunked one. */
export const declaredLength = (headers: Readonly<Record<string, string | undefined>>): number => {
  const { "content-length": length, "transfer-encoding": coding } = headers
  if (coding !== undefined) return Number.POSITIVE_INFINITY
  return length === undefined ? 0 : (countIn(length) ?? Number.POSITIVE_INFINITY)
}

/** Compressed bodies are not accepted: their decompressed size would have no limit. */
const isCompressed = (coding = ""): boolean => !["", "identity"].includes(coding.trim().toLowerCase())

/** Why a body with these headers is rejected, whatever it holds; undefined when it is accepted. */
export const unsupportedBody = (
  headers: HttpServerRequest.HttpServerRequest["headers"],
  types: ReadonlyArray<string>
): string | undefined => {
  if (!types.includes(mediaType(headers["content-type"]))) {
    return `Expected a body of type ${types.join(" or ")}.`
  }
  return isCompressed(headers["content-encoding"]) ? "Expected a body without a Content-Encoding." : undefined
}

/** Read once: what reads it later finds it read. */
const bytesOf = (request: HttpServerRequest.HttpServerRequest, maxBytes: ByteSize.ByteSize) =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBytes),
    Effect.mapError((error) =>
      isTooLarge(error)
        ? new PayloadTooLarge({ detail: `Expected a body of at most ${ByteSize.format(maxBytes)}.` })
        : invalidBody("The body could not be read to its end.")
    )
  )

/** The body as text. */
export const bodyText = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  types: ReadonlyArray<string>,
  maxBytes: ByteSize.ByteSize
) {
  const unsupported = unsupportedBody(request.headers, types)
  if (unsupported !== undefined) return yield* new UnsupportedMediaType({ detail: unsupported })
  const bytes = yield* bytesOf(request, maxBytes)
  return yield* Effect.try({
    try: () => strictUtf8.decode(bytes),
    catch: () => invalidBody("Expected a body in UTF-8.")
  })
})

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

/**
 * The value that was sent as JSON, or the object that the fields of a form are; undefined where no body is taken and none was
 * sent. Read and checked once, whoever asks.
 */
export const sentBody = (endpoint: HttpApiEndpoint.Top) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const known = bodies.get(request.source)
    if (known !== undefined) return yield* known
    const read = yield* Effect.cached(readBody(request, endpoint))
    bodies.set(request.source, read)
    return yield* read
  })

/** The request as if this value had been sent as its body. */
const withBody = (request: HttpServerRequest.HttpServerRequest, value: unknown) => {
  const { headers, method, remoteAddress, url } = request
  const sent = new Request("http://localhost", { method, body: JSON.stringify(value) })
  return HttpServerRequest.fromWeb(sent).modify({ headers, remoteAddress, url })
}

/** The values that an issue is about, of a body or a query. */
const sentTo = (kind: string, body: unknown, url: string): unknown => {
  if (kind === "Payload") return body
  return kind === "Query" ? Object.fromEntries(new URL(url, "http://localhost").searchParams) : undefined
}

/** What a client sent; what we could not write is our own fault and stays a defect. */
const ofRequest: ReadonlySet<string> = new Set(["Params", "Headers", "Query", "Payload"])

/** Not of a well-known document, which others define. */
const isOfApi = (path: string): boolean => path.startsWith("/api/")

export const layer = Layer.succeed(RequestBody, (httpEffect, { endpoint }) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const asked = isOfApi(endpoint.path) ? refusedParameters(request.url, namesOf(endpoint.query)) : undefined
    if (asked !== undefined) return yield* asked
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

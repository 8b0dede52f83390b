import { ByteSize, Context, Effect, Layer } from "effect"
import type { SchemaIssue } from "effect"
import { HttpIncomingMessage, HttpServerError, HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { PayloadTooLarge, UnsupportedMediaType } from "../api/errors.ts"
import { BodyTypes, MaxBody, RequestBody } from "./definitions.ts"
import { jsonFault } from "../../services/domain/strictJson.ts"
import { detailOf, problemsOf, unknownNames } from "../fieldProblems.ts"
import {
  refusedFields,
  unknownFields,
  unknownMembers,
  unknownParameters,
  withIgnoredFields
} from "./unknownFields.ts"

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const maxPath = 200

const invalidBody = (message: string) =>
  new InvalidRequest({ detail: message, errors: [{ path: "", message }] })

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

export const mediaType = (header: string | undefined): string =>
  (header ?? "application/json").split(";", 1).join("").trim().toLowerCase()

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

/** The body as text, read once: what decodes it later finds it read. */
export const bodyText = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  types: ReadonlyArray<string>,
  maxBytes: ByteSize.ByteSize
) {
  const unsupported = unsupportedBody(request.headers, types)
  if (unsupported !== undefined) return yield* new UnsupportedMediaType({ detail: unsupported })
  const bytes = yield* request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBytes),
    Effect.mapError((error) =>
      isTooLarge(error)
        ? new PayloadTooLarge({ detail: `Expected a body of at most ${ByteSize.format(maxBytes)}.` })
        : invalidBody("The body could not be read to its end.")
    )
  )
  return yield* Effect.try({
    try: () => strictUtf8.decode(bytes),
    catch: () => invalidBody("Expected a body in UTF-8.")
  })
})

/** The text of a body that is sound JSON; undefined where it is a form. */
const checkBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  types: ReadonlyArray<string>,
  maxBytes: ByteSize.ByteSize
) {
  const text = yield* bodyText(request, types, maxBytes)
  if (mediaType(request.headers["content-type"]) !== "application/json") return undefined
  if (text.trim() === "") return yield* invalidBody("Expected a JSON body, got none.")
  const fault = jsonFault(text)
  if (fault !== undefined) {
    return yield* fault.path === ""
      ? invalidBody(fault.message)
      : InvalidRequest.of(fault.path.slice(0, maxPath), fault.message)
  }
  return text
})

/** The values that an issue is about, of a body or a query. */
const sentTo = (kind: string, body: unknown, url: string): unknown => {
  if (kind === "Payload") return body
  return kind === "Query" ? Object.fromEntries(new URL(url, "http://localhost").searchParams) : undefined
}

/** Every field that is wrong, in one answer. */
const invalidRequest = (issue: SchemaIssue.Issue, sent: unknown): InvalidRequest => {
  const errors = problemsOf(issue, sent)
  return new InvalidRequest({ detail: detailOf(errors), errors })
}

/** The error with the fields that are not known, which may be misspelt ones. */
const withUnknownNames = (error: InvalidRequest, endpoint: HttpApiEndpoint.Top, body: unknown) => {
  const names = unknownNames(unknownMembers(endpoint, body))
  if (names === undefined) return error
  const { detail, errors, hint } = error
  return new InvalidRequest({ detail: `${detail}; ${names}`, errors, ...(hint !== undefined && { hint }) })
}

/** What a client sent; what we could not write is our own fault and stays a defect. */
const ofRequest: ReadonlySet<string> = new Set(["Params", "Headers", "Query", "Payload"])

/** Not of a well-known document, which others define. */
const isOfApi = (path: string): boolean => path.startsWith("/api/")

export const layer = Layer.succeed(RequestBody, (httpEffect, { endpoint }) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const unknown = isOfApi(endpoint.path) ? unknownParameters(endpoint, request.url) : undefined
    if (unknown !== undefined) return yield* unknown
    const text =
      endpoint.payload.size > 0 && request.method !== "GET" && request.method !== "HEAD"
        ? yield* checkBody(
            request,
            Context.get(endpoint.annotations, BodyTypes),
            Context.get(endpoint.annotations, MaxBody)
          )
        : undefined
    const body: unknown = text === undefined ? undefined : JSON.parse(text)
    const refused = refusedFields(endpoint, body)
    if (refused !== undefined) return yield* refused
    const response = yield* httpEffect.pipe(
      Effect.mapError((error) => {
        const refusal =
          HttpApiError.HttpApiSchemaError.is(error) && ofRequest.has(error.kind)
            ? invalidRequest(error.cause.issue, sentTo(error.kind, body, request.url))
            : error
        return refusal instanceof InvalidRequest ? withUnknownNames(refusal, endpoint, body) : refusal
      })
    )
    return withIgnoredFields(response, unknownFields(endpoint, body))
  })
)

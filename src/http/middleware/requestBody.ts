import { ByteSize, Context, Effect, Layer, SchemaIssue } from "effect"
import { HttpIncomingMessage, HttpServerError, HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { InvalidRequest } from "../../services/domain/errors.ts"
import type { FieldProblem } from "../../services/domain/errors.ts"
import { PayloadTooLarge, UnsupportedMediaType } from "../api/errors.ts"
import { BodyTypes, MaxBody, RequestBody } from "./definitions.ts"
import { jsonFault } from "../../services/domain/strictJson.ts"
import { refusedFields, unknownFields, unknownParameters, withIgnoredFields } from "./unknownFields.ts"

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const maxMessage = 300
const maxPath = 200
/** At most this many field errors are returned. */
const maxProblems = 100

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

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

/** What may be left out may be null in JSON, which is said once more of what may be null anyway. */
const withoutRepeatedNull = (message: string) => message.replace(/ \| null(?= \| null)/gu, "")

/** What a schema says of each field that is wrong. */
export const problemsOf = (issue: SchemaIssue.Issue): ReadonlyArray<FieldProblem> =>
  formatIssues(issue)
    .issues.slice(0, maxProblems)
    .map((each) => ({
      path: (each.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join("."),
      message: withoutRepeatedNull(each.message).slice(0, maxMessage)
    }))

/** Every field that is wrong, in one answer. */
const invalidRequest = (issue: SchemaIssue.Issue): InvalidRequest => {
  const errors = problemsOf(issue)
  const detail = errors
    .map((each) => (each.path === "" ? each.message : `${each.path}: ${each.message}`))
    .join("; ")
  return new InvalidRequest({ detail: detail.slice(0, 2000), errors })
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
      Effect.catchIf(
        (error) => HttpApiError.HttpApiSchemaError.is(error) && ofRequest.has(error.kind),
        (error) =>
          Effect.fail(HttpApiError.HttpApiSchemaError.is(error) ? invalidRequest(error.cause.issue) : error)
      )
    )
    return withIgnoredFields(response, unknownFields(endpoint, body))
  })
)

/** Reads the body of a request, within a size and as one of the types that are accepted. */
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpServerError, HttpServerRequest } from "effect/http"
import { InvalidRequest } from "../services/domain/errors.ts"
import { countIn } from "../services/domain/numbers.ts"
import { PayloadTooLarge, UnsupportedMediaType } from "./errors.ts"

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export const formType = "application/x-www-form-urlencoded"

export const invalidBody = (message: string) =>
  new InvalidRequest({ detail: message, errors: [{ path: "", message }] })

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

export const mediaType = (header: string | undefined): string =>
  (header ?? "application/json").split(";", 1).join("").trim().toLowerCase()

/** The declared length of the body in bytes; infinite where it is unknown, as for a chunked body. */
export const declaredLength = (headers: Readonly<Record<string, string | undefined>>): number => {
  const { "content-length": length, "transfer-encoding": coding } = headers
  if (coding !== undefined) return Number.POSITIVE_INFINITY
  return length === undefined ? 0 : (countIn(length) ?? Number.POSITIVE_INFINITY)
}

/** Compressed bodies are rejected: their decompressed size would have no limit. */
const isCompressed = (coding = ""): boolean => !["", "identity"].includes(coding.trim().toLowerCase())

/** The reason to reject a body by its headers alone; undefined when it is accepted. */
export const unsupportedBody = (
  headers: HttpServerRequest.HttpServerRequest["headers"],
  types: ReadonlyArray<string>
): string | undefined => {
  if (!types.includes(mediaType(headers["content-type"]))) {
    return `Expected a body of type ${types.join(" or ")}.`
  }
  return isCompressed(headers["content-encoding"]) ? "Expected a body without a Content-Encoding." : undefined
}

/** A body can be read once; a second reading finds it read. */
export const bytesOf = (request: HttpServerRequest.HttpServerRequest, maxBytes: ByteSize.ByteSize) =>
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

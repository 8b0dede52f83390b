/**
 * Documents that are the same for everybody, and that cost whoever asks no more than writing them: each form of one, plain or
 * compressed, is made when it is first asked for, and from then on the same bytes are written for all.
 */
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { notModified, withEtag } from "./httpCaching.ts"

type Coding = "br" | "gzip"

const brotli = promisify(brotliCompress)
const gzipped = promisify<Uint8Array, Buffer>(gzip)

/** The highest quality takes seconds for some megabytes, to save a few more percent. */
const brotliQuality = 5

/** In threads of their own, so that nobody else waits. */
const compress: Readonly<Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  br: (bytes) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  gzip: (bytes) => gzipped(bytes)
}

/** What is shorter is hardly shortened. */
const minCompressed = 1024

/** RFC 9110 12.5.3: the first of ours that is accepted; undefined: the plain form, which everybody takes. */
export const chosenCoding = (acceptEncoding: string | undefined): Coding | undefined => {
  const accepted = new Map(
    (acceptEncoding ?? "").split(",").map((each) => {
      const [name = "", ...parameters] = each.split(";").map((part) => part.trim().toLowerCase())
      return [name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))] as const
    })
  )
  const accepts = (coding: Coding) => accepted.get(coding) ?? accepted.get("*") ?? false
  if (accepts("br")) return "br"
  return accepts("gzip") ? "gzip" : undefined
}

/** For documents that are of one start of the server: whoever kept one has that of the next start soon. */
export const untilNextStart = "public, max-age=300"

interface Document {
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
}

const answerOf = ({ contentType, headers }: Document, bytes: Uint8Array, more = {}) =>
  withEtag(HttpServerResponse.uint8Array(bytes, { contentType }), {
    ...headers,
    vary: "accept-encoding",
    ...more
  })

/** How a document is answered that `make` makes, which is asked once. */
export const staticDocument = Effect.fnUntraced(function* (make: Effect.Effect<Document>) {
  const document = yield* Effect.cached(make)
  const plain = yield* Effect.cached(Effect.map(document, (made) => answerOf(made, made.bytes)))

  const compressed = (coding: Coding) => {
    // It goes on where whoever asked first has left.
    let bytes: Promise<Uint8Array> | undefined
    return Effect.cached(
      Effect.gen(function* () {
        const made = yield* document
        if (made.bytes.byteLength < minCompressed) return yield* plain
        const shorter = yield* Effect.promise(() => (bytes ??= compress[coding](made.bytes)))
        return answerOf(made, shorter, { "content-encoding": coding })
      })
    )
  }
  const br = yield* compressed("br")
  const gz = yield* compressed("gzip")

  const formFor = (request: HttpServerRequest.HttpServerRequest) => {
    const coding = chosenCoding(request.headers["accept-encoding"])
    if (coding === undefined) return plain
    return coding === "br" ? br : gz
  }
  return (request: HttpServerRequest.HttpServerRequest) =>
    Effect.map(formFor(request), (response) => notModified(request, response))
})

/** Compresses bodies for clients that accept it. Each encoding of a body is made once, on the first request for it. */
import { promisify } from "node:util"
import { brotliCompress, constants, gzip, zstdCompress } from "node:zlib"
import { Effect } from "effect"

/** The encodings in the order of preference if a client accepts several equally: the shortest first, then the best known. */
const codings = ["br", "gzip", "zstd"] as const
type Coding = (typeof codings)[number]

const brotli = promisify(brotliCompress)
const zstd = promisify<Uint8Array, Buffer>(zstdCompress)
const gzipped = promisify<Uint8Array, Buffer>(gzip)

/** The highest quality takes seconds for some megabytes and saves only a few per cent more. */
const brotliQuality = 5

/** zlib works in the thread pool of libuv, so the event loop does not wait. */
const compress: Readonly<Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  br: (bytes) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  zstd: (bytes) => zstd(bytes),
  gzip: (bytes) => gzipped(bytes)
}

/** The encodings of each body, kept as long as the body itself: a cached answer is compressed once. */
const forms = new WeakMap<Uint8Array, Map<Coding, Uint8Array | Promise<Uint8Array>>>()

export const compressed = (bytes: Uint8Array, coding: Coding): Effect.Effect<Uint8Array> => {
  const ofBody = forms.get(bytes) ?? new Map<Coding, Uint8Array | Promise<Uint8Array>>()
  forms.set(bytes, ofBody)
  const made = ofBody.get(coding)
  if (made instanceof Uint8Array) return Effect.succeed(made)
  // The compression is shared, so it continues after the first requester has left.
  const making =
    made ??
    compress[coding](bytes).then(
      (form) => {
        ofBody.set(coding, form)
        return form
      },
      (cause: unknown) => {
        // The next request tries again.
        ofBody.delete(coding)
        throw cause
      }
    )
  ofBody.set(coding, making)
  return Effect.promise(() => making)
}

/** A weight of RFC 9110, 12.4.2; an invalid one counts as 0. */
const quality = (parameters: ReadonlyArray<string>): number => {
  const given = parameters.find((parameter) => parameter.startsWith("q="))
  if (given === undefined) return 1
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(given.slice(2)) ? Number(given.slice(2)) : 0
}

/** The coding of ours that the client prefers (RFC 9110 12.5.3); undefined means the plain form, which every client accepts. */
export const chosenCoding = (acceptEncoding: string | undefined): Coding | undefined => {
  if (acceptEncoding === undefined) return undefined
  const accepted = new Map(
    acceptEncoding.split(",").map((each) => {
      const [name = "", ...parameters] = each.split(";").map((part) => part.trim().toLowerCase())
      return [name, quality(parameters)] as const
    })
  )
  const weightOf = (coding: Coding) => accepted.get(coding) ?? accepted.get("*") ?? 0
  const [best] = codings.toSorted((a, b) => weightOf(b) - weightOf(a))
  return best !== undefined && weightOf(best) > 0 && weightOf(best) >= (accepted.get("identity") ?? 0)
    ? best
    : undefined
}

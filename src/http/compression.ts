/** Bodies as short as a client takes them: each form of a body is made once, when it is first asked for. */
import { promisify } from "node:util"
import { brotliCompress, constants, gzip, zstdCompress } from "node:zlib"
import { Effect } from "effect"

/** Of those that a client likes equally, the first: the shortest, then the best known. */
const codings = ["br", "gzip", "zstd"] as const
type Coding = (typeof codings)[number]

const brotli = promisify(brotliCompress)
const zstd = promisify<Uint8Array, Buffer>(zstdCompress)
const gzipped = promisify<Uint8Array, Buffer>(gzip)

/** The highest quality takes seconds for some megabytes, to save a few more percent. */
const brotliQuality = 5

/** In the threads of libuv, of which there are few: it takes no more than those, and nobody else waits. */
const compress: Readonly<Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  br: (bytes) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  zstd: (bytes) => zstd(bytes),
  gzip: (bytes) => gzipped(bytes)
}

/** The forms of a body, for as long as somebody holds the body: a cached answer is compressed once, too. */
const forms = new WeakMap<Uint8Array, Map<Coding, Uint8Array | Promise<Uint8Array>>>()

export const compressed = (bytes: Uint8Array, coding: Coding): Effect.Effect<Uint8Array> => {
  const ofBody = forms.get(bytes) ?? new Map<Coding, Uint8Array | Promise<Uint8Array>>()
  forms.set(bytes, ofBody)
  const made = ofBody.get(coding)
  if (made instanceof Uint8Array) return Effect.succeed(made)
  // It goes on where whoever asked first has left.
  const making =
    made ??
    compress[coding](bytes).then(
      (form) => {
        ofBody.set(coding, form)
        return form
      },
      (cause: unknown) => {
        // The next one tries again.
        ofBody.delete(coding)
        throw cause
      }
    )
  ofBody.set(coding, making)
  return Effect.promise(() => making)
}

/** A weight of RFC 9110, 12.4.2; what is none counts as 0. */
const quality = (parameters: ReadonlyArray<string>): number => {
  const given = parameters.find((parameter) => parameter.startsWith("q="))
  if (given === undefined) return 1
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(given.slice(2)) ? Number(given.slice(2)) : 0
}

/** RFC 9110 12.5.3: that of ours which the client likes best; undefined: the plain form, which everybody takes. */
export const chosenCoding = (acceptEncoding: string | undefined): Coding | undefined => {
  if (acceptEncoding === undefined) return undefined
  const accepted = new Map(
    acceptEncoding.split(",").map((each) => {
      const [name = "", ...parameters] = each.split(";").map((part) => part.trim().toLowerCase())
      return [name, quality(parameters)] as const
    })
  )
  const liking = (coding: Coding) => accepted.get(coding) ?? accepted.get("*") ?? 0
  const [best] = codings.toSorted((a, b) => liking(b) - liking(a))
  return best !== undefined && liking(best) > 0 && liking(best) >= (accepted.get("identity") ?? 0)
    ? best
    : undefined
}

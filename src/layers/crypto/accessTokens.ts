/**
 * Verifies the platform's own access tokens (RFC 7519, HS256), and makes their keys. `jose` signs them. Verifying with it would send each
 * request through WebCrypto's thread pool, so one HMAC of node:crypto does it; tests compare both.
 *
 * After a change of the token secret the previous one is still valid for as long as its tokens live, counted from the start of this
 * process; the `kid` tells which one is meant.
 */
import { createHash, createHmac, createSecretKey, timingSafeEqual } from "node:crypto"
import { Clock, Duration, Effect, Option, Predicate, Redacted } from "effect"
import type { Settings } from "../../services/Settings.ts"

/** The header of the tokens we sign. */
export const headerOf = (key: Uint8Array) => ({
  alg: "HS256",
  kid: createHash("sha256").update("auspex token key").update(key).digest("hex").slice(0, 16),
  typ: "JWT"
})

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const decoded = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString("utf8"))

/** Accepts only our own algorithm, and no critical extension, which could change the meaning of a token (RFC 7515 4.1.11). */
const isAcceptable = (header: unknown): boolean =>
  Predicate.hasProperty(header, "alg") && header.alg === "HS256" && !Predicate.hasProperty(header, "crit")

/** The payload of a token that this key signed; `undefined` for any other text. */
export const verifier = (key: Uint8Array): ((token: string) => unknown) => {
  const usual = encoded(headerOf(key))
  const secret = createSecretKey(key)
  return (token) => {
    const [header = "", payload = "", signature = "", ...more] = token.split(".")
    if (more.length > 0) return undefined
    const expected = createHmac("sha256", secret).update(`${header}.${payload}`).digest("base64url")
    // The comparison is of texts, not bytes: base64url has several texts for one signature.
    const given = Buffer.from(signature, "latin1")
    const wanted = Buffer.from(expected, "latin1")
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined
    try {
      return header === usual || isAcceptable(decoded(header)) ? decoded(payload) : undefined
    } catch {
      return undefined
    }
  }
}

const bytesOf = (secret: Redacted.Redacted): Uint8Array => new TextEncoder().encode(Redacted.value(secret))

/** All tokens of one key have the same header text. */
const headerText = (key: Uint8Array): string =>
  Buffer.from(JSON.stringify(headerOf(key))).toString("base64url")

/** The prefixes of access tokens that this platform signs. */
export const tokenHeaders = (
  settings: Pick<Settings["Service"], "tokenSecret" | "tokenSecretPrevious">
): ReadonlyArray<string> =>
  [settings.tokenSecret, ...Option.toArray(settings.tokenSecretPrevious)].map((secret) =>
    headerText(bytesOf(secret))
  )

export const make = Effect.fnUntraced(function* (
  settings: Pick<Settings["Service"], "tokenSecret" | "tokenSecretPrevious" | "tokenTtl">
) {
  const key = bytesOf(settings.tokenSecret)
  const verifyCurrent = verifier(key)
  const previousUntil = (yield* Clock.currentTimeMillis) + Duration.toMillis(settings.tokenTtl)
  const previous = Option.map(Option.map(settings.tokenSecretPrevious, bytesOf), (old) => ({
    prefix: `${headerText(old)}.`,
    verify: verifier(old)
  }))

  /** The payload of a token that either key signed; `undefined` for any other text. `now` in milliseconds. */
  const verify = (token: string, now: number): unknown => {
    if (Option.isNone(previous) || !token.startsWith(previous.value.prefix)) return verifyCurrent(token)
    return now < previousUntil ? previous.value.verify(token) : undefined
  }

  return { key, header: headerOf(key), verify }
})

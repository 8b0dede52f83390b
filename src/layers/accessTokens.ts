/**
 * Verification of the access tokens that we sign ourselves (RFC 7519, HS256). `jose` signs them; it would also verify
 * them, but through WebCrypto and its thread pool, which is most of what a request costs. One HMAC by node:crypto says
 * the same, and the tests hold both against each other.
 */
import { createHash, createHmac, createSecretKey, timingSafeEqual } from "node:crypto"
import { Predicate } from "effect"

/** The header of the tokens we sign. */
export const headerOf = (key: Uint8Array) => ({
  alg: "HS256",
  kid: createHash("sha256").update("auspex token key").update(key).digest("hex").slice(0, 16),
  typ: "JWT"
})

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const decoded = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString("utf8"))

/** The algorithm is ours to choose, and an extension that we do not know may change what a token means (RFC 7515 4.1.11). */
const isAcceptable = (header: unknown): boolean =>
  Predicate.hasProperty(header, "alg") && header.alg === "HS256" && !Predicate.hasProperty(header, "crit")

/** A verified payload, or `undefined` when the text is no token that this key signed, to the last bit. */
export const verifier = (key: Uint8Array): ((token: string) => unknown) => {
  const usual = encoded(headerOf(key))
  const secret = createSecretKey(key)
  return (token) => {
    const [header = "", payload = "", signature = "", ...more] = token.split(".")
    if (more.length > 0) return undefined
    const expected = createHmac("sha256", secret).update(`${header}.${payload}`).digest("base64url")
    // Texts are compared, not bytes: base64url has several texts for one signature.
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

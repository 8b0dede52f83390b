/**
 * Secrets are 256 random bits behind a prefix that scanners recognise; only their SHA-256 is stored. A slow hash would add nothing,
 * because they cannot be guessed.
 */
import { createHmac, hash, hkdfSync, randomBytes, randomInt, timingSafeEqual } from "node:crypto"
import { crc32 } from "node:zlib"
import { Redacted } from "effect"

/** The prefixes of secrets in links and cookies. Logs redact them. */
const tokenPrefixes = {
  claimLink: "aus_cl_",
  mailClaim: "aus_mc_",
  signIn: "aus_si_",
  session: "aus_ss_"
} as const

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** CRC-32 as six base-62 digits, so that a scanner can tell a secret from look-alikes offline. */
const checksum = (text: string): string => {
  let rest = crc32(text)
  let digits = ""
  for (let place = 0; place < 6; place++) {
    digits = base62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** A new client secret: `aus_cs_`, 32 random bytes in base64url, a checksum. */
export const makeClientSecret = (): string => {
  const body = `aus_cs_${randomBytes(32).toString("base64url")}`
  return body + checksum(body)
}

const gatewayKeyShape = /^aus_gw_[0-9A-Za-z]{8}_[\w-]{43}[0-9A-Za-z]{6}$/

/** A new gateway key: `aus_gw_`, eight characters that identify it, 32 random bytes, a checksum. */
export const makeGatewayKey = (): { readonly key: string; readonly prefix: string } => {
  const id = Array.from({ length: 8 }, () => base62.charAt(randomInt(base62.length))).join("")
  const prefix = `aus_gw_${id}`
  const body = `${prefix}_${randomBytes(32).toString("base64url")}`
  return { key: body + checksum(body), prefix }
}

/** Tests for the form of a gateway key: a mistyped one is rejected without a query. */
export const isGatewayKey = (text: string): boolean =>
  gatewayKeyShape.test(text) && checksum(text.slice(0, -6)) === text.slice(-6)

/** A new secret for a link or a cookie: its prefix and 32 random bytes in base64url. */
export const makeToken = (kind: keyof typeof tokenPrefixes): string =>
  `${tokenPrefixes[kind]}${randomBytes(32).toString("base64url")}`

/** Tests for the form of such a secret. */
export const isToken = (kind: keyof typeof tokenPrefixes, text: string): boolean =>
  text.startsWith(tokenPrefixes[kind]) && /^[\w-]{50}$/.test(text)

/** The alphabet has no characters that look alike. */
const pairingAlphabet = "23456789ABCDEFGHJKMNPQRSTVWXYZ"

/** A new pairing code, shown as XXX-XXX. */
export const makePairingCode = (): string => {
  const characters = Array.from({ length: 6 }, () =>
    pairingAlphabet.charAt(randomInt(pairingAlphabet.length))
  )
  return `${characters.slice(0, 3).join("")}-${characters.slice(3).join("")}`
}

export const sha256 = (text: string): Buffer => hash("sha256", text, "buffer")

/** Compares two hashes in constant time. */
export const sameHash = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)

/** A key for one purpose, derived from the platform's secret. */
export const derivedKey = (secret: Redacted.Redacted, purpose: string): Buffer =>
  Buffer.from(hkdfSync("sha256", Redacted.value(secret), "auspex", purpose, 32))

/** The HMAC of a pairing code, which has only 29 bits: a plain hash could be brute-forced offline, a keyed one cannot. */
export const pairingCodeHmac = (secret: Redacted.Redacted): ((code: string) => Buffer) => {
  const key = derivedKey(secret, "pairing-code")
  return (code) => createHmac("sha256", key).update(code.toUpperCase().replaceAll(/[\s-]/g, "")).digest()
}

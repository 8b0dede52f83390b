/** Bytes and their one valid spelling: strict base64 and hex, UTF-8, SHA-256 by the platform's WebCrypto. */

/** The type of bytes that WebCrypto accepts. */
export type Bytes = Uint8Array<ArrayBuffer>

/** The problem of an input, in a sentence for people. This error never leaves the folder. */
export class Malformed extends Error {}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

export const utf8 = (text: string): Bytes => encoder.encode(text)

/** The text of a file, which must be UTF-8 or, if it was decoded already, well-formed. */
export const textOf = (content: Uint8Array | string): string => {
  if (typeof content === "string") {
    if (!content.isWellFormed()) throw new Malformed("It is not UTF-8 text.")
    return content
  }
  try {
    return decoder.decode(content)
  } catch {
    throw new Malformed("It is not UTF-8 text.")
  }
}

/** Decodes standard base64 (RFC 4648, 4) with padding; another spelling of the same bytes is rejected. */
export const fromBase64 = (text: string, what: string): Bytes => {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new Malformed(`${what} is not base64.`)
  let binary = ""
  try {
    binary = atob(text)
  } catch {
    throw new Malformed(`${what} is not base64.`)
  }
  // The bits that pad the last character must be 0, or the same bytes would have several spellings.
  if (btoa(binary) !== text) throw new Malformed(`${what} is not base64 in its one form.`)
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

export const fromHex = (text: string): Bytes =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

export const same = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, index) => byte === other[index])

export const joined = (...parts: ReadonlyArray<Uint8Array>): Bytes => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

export const sha256 = async (...parts: ReadonlyArray<Uint8Array>): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)))

/** Decodes a whole number as the log's formats write it: no sign, no leading zeros, small enough to be exact. */
export const fromDecimal = (text: string, what: string): number => {
  const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value))
    throw new Malformed(`${what} is not a whole number as it has to be written.`)
  return value
}

/** A text of the input that a sentence may quote: shortened, and without characters that a terminal or a page acts on. */
export const plain = (text: string): string => {
  const cut = text.length > 200 ? `${text.slice(0, 199)}…` : text
  return cut.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "?")
}

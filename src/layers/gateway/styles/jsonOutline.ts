/**
 * Where the members of a JSON object stand in its bytes, so that one of them can be replaced without writing the rest
 * anew: a prompt of 200 KB is read once and never written. Whether the bytes are JSON is for a parser to say; of others
 * the outline is without meaning.
 */

import { parsedJson, textOf } from "./json.ts"

/** A member of the outermost object: `[keyStart, valueEnd)` is the whole of it. */
export interface Member {
  /** As parsed: escapes in it are undone, so `"\u006dodel"` is `model`. */
  readonly name: string
  readonly keyStart: number
  readonly valueStart: number
  readonly valueEnd: number
}

export interface Outline {
  /** Of the outermost object, in their order. */
  readonly members: ReadonlyArray<Member>
  /** Behind the brace that opens the outermost object. */
  readonly inside: number
  /** Members of all objects. Fewer in the parsed value means that some stood there twice. */
  readonly memberCount: number
  /** Objects and arrays stand in each other more than 64 levels deep, and the outline ends there. */
  readonly isTooDeep: boolean
}

const deepest = 64

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** JSON has no other characters up to the space but those of white space. */
const isSpace = (byte: number | undefined): boolean => byte !== undefined && byte <= 0x20

/** Behind the quote that ends the string whose first quote is at `start`. */
const behindString = (bytes: Buffer, start: number): number => {
  let end = bytes.indexOf(quote, start + 1)
  while (end !== -1) {
    let before = end - 1
    while (bytes[before] === backslash) before -= 1
    if ((end - before) % 2 === 1) return end + 1
    end = bytes.indexOf(quote, end + 1)
  }
  return bytes.length
}

const keyOf = (bytes: Buffer, start: number, end: number): string => {
  const plain = bytes.toString("utf8", start + 1, end - 1)
  if (!plain.includes("\\")) return plain
  return textOf(parsedJson(bytes.toString("utf8", start, end)))
}

const trimmedEnd = (bytes: Buffer, end: number): number => {
  let at = end
  while (isSpace(bytes[at - 1])) at -= 1
  return at
}

/** The outline of a JSON text; without members when it is no object. It ends behind the member of that name, if one is asked for. */
export const outlineOf = (json: Uint8Array, until?: string): Outline => {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  const members: Array<Member> = []
  let memberCount = 0
  let depth = 0
  let inside = 0
  let key: { readonly name: string; readonly start: number } | undefined
  let valueStart = -1
  let lastString: readonly [start: number, end: number] = [0, 0]
  const isObject = bytes[bytes.findIndex((byte) => !isSpace(byte))] === openBrace

  const close = (at: number) => {
    if (key === undefined || valueStart === -1) return
    members.push({ name: key.name, keyStart: key.start, valueStart, valueEnd: trimmedEnd(bytes, at) })
    key = undefined
    valueStart = -1
  }

  let at = 0
  while (at < bytes.length) {
    const byte = bytes[at]
    if (key !== undefined && valueStart === -1 && !isSpace(byte) && byte !== colon) valueStart = at
    if (byte === quote) {
      const end = behindString(bytes, at)
      lastString = [at, end]
      at = end
      continue
    }
    if (byte === openBrace || byte === openBracket) {
      if (depth === 0) inside = at + 1
      depth += 1
      if (depth > deepest) return { members, inside, memberCount, isTooDeep: true }
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 1) close(at)
      depth -= 1
    } else if (byte === colon) {
      memberCount += 1
      if (depth === 1 && isObject) {
        const [start, end] = lastString
        key = { name: keyOf(bytes, start, end), start }
      }
    } else if (byte === comma && depth === 1) {
      close(at)
      if (until !== undefined && members.at(-1)?.name === until) break
    }
    at += 1
  }
  return { members, inside, memberCount, isTooDeep: false }
}

/** A range of bytes and what takes its place. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The bytes with the edits made, which are in order and do not overlap. */
export const spliced = (bytes: Uint8Array, edits: ReadonlyArray<Edit>): Buffer => {
  const pieces: Array<Uint8Array> = []
  let from = 0
  for (const { end, start, text } of edits) {
    pieces.push(bytes.subarray(from, start), Buffer.from(text))
    from = end
  }
  pieces.push(bytes.subarray(from))
  return Buffer.concat(pieces)
}

/** The bytes of a JSON object with another value for the member at this path, which is there. */
export const withMember = (json: Buffer, [name, ...rest]: ReadonlyArray<string>, value: string): Buffer => {
  const found = outlineOf(json, name).members.find((member) => member.name === name)
  if (found === undefined) return json
  const { valueEnd, valueStart } = found
  const text =
    rest.length === 0
      ? JSON.stringify(value)
      : withMember(json.subarray(valueStart, valueEnd), rest, value).toString()
  return spliced(json, [{ start: valueStart, end: valueEnd, text }])
}

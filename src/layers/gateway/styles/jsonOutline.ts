/**
 * Where the members of a JSON object stand in its bytes, so that one of them can be replaced without writing the rest
 * anew: a prompt of 200 KB is read once and never written. Whether the bytes are JSON is for a parser to say; of others
 * the outline is without meaning.
 */

import { bufferOf, parsedJson } from "./json.ts"

/** A member of the outermost object: `[keyStart, valueEnd)` is the whole of it. */
export interface Member {
  readonly keyStart: number
  /** Behind the quote that ends its key. */
  readonly keyEnd: number
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
  /** What the text has more of than is allowed; the outline ends there. */
  readonly excess: "depth" | "values" | undefined
}

export const maxDepth = 64

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

/** Most strings end within so many bytes, and those are looked through faster than anything is called. */
const shortString = 32

/** Behind the quote that ends the string whose first quote is at `start`. */
const behindString = (bytes: Buffer, start: number): number => {
  let at = start + 1
  while (at < bytes.length) {
    // One by one up to here, so that a text full of escaped quotes does not cost a search for each.
    for (const near = at + shortString; at < near; at++) {
      if (bytes[at] === quote) return at + 1
      if (bytes[at] === backslash) at += 1
    }
    const found = bytes.indexOf(quote, at)
    if (found === -1) break
    let before = found - 1
    while (before >= at && bytes[before] === backslash) before -= 1
    at = found + 1
    if ((found - before) % 2 === 1) return at
  }
  return bytes.length
}

/** Whether this is its name, of letters that are a byte each. Escapes in a key are undone: `"\u006dodel"` is `model`. */
const isNamed = (bytes: Buffer, { keyEnd, keyStart }: Member, name: string): boolean => {
  let same = 0
  while (same < name.length && bytes[keyStart + 1 + same] === name.charCodeAt(same)) same += 1
  if (keyStart + same + 2 === keyEnd) return same === name.length
  const hasEscape = bytes[keyStart + 1 + same] === backslash
  return hasEscape && parsedJson(bytes.toString("utf8", keyStart, keyEnd)) === name
}

export const memberNamed = (json: Uint8Array, { members }: Outline, name: string): Member | undefined => {
  const bytes = bufferOf(json)
  return members.find((member) => isNamed(bytes, member, name))
}

const behindSpace = (bytes: Buffer, start: number): number => {
  let at = start
  while (isSpace(bytes[at])) at += 1
  return at
}

const trimmedEnd = (bytes: Buffer, end: number): number => {
  let at = end
  while (isSpace(bytes[at - 1])) at -= 1
  return at
}

/** Bytes outside of strings that the outline is made of; it passes over all others without a look. */
const marks = new Uint8Array(256)
for (const mark of [quote, comma, colon, openBracket, closeBracket, openBrace, closeBrace]) marks[mark] = 1

interface Bounds {
  /** The outline ends behind the member of this name. */
  readonly until?: string | undefined
  readonly maxValues?: number
}

/** The outline of a JSON text; without members when it is no object. */
export const outlineOf = (
  json: Uint8Array,
  { maxValues = Number.POSITIVE_INFINITY, until }: Bounds = {}
): Outline => {
  const bytes = bufferOf(json)
  const members: Array<Member> = []
  let memberCount = 0
  /** At least as many as there are. */
  let values = 1
  let depth = 0
  let inside = 0
  /** Of the member that is being read, or -1. */
  let keyStart = -1
  let keyEnd = -1
  let valueStart = -1
  /** Of the last string. */
  let stringStart = 0
  let stringEnd = 0

  const close = (at: number) => {
    if (valueStart === -1) return
    members.push({ keyStart, keyEnd, valueStart, valueEnd: trimmedEnd(bytes, at) })
    keyStart = -1
    valueStart = -1
  }

  let at = behindSpace(bytes, 0)
  const isObject = bytes[at] === openBrace
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0
    if (marks[byte] === 0) {
      at += 1
      continue
    }
    if (byte === quote) {
      stringStart = at
      stringEnd = behindString(bytes, at)
      at = stringEnd
      continue
    }
    if (byte === openBrace || byte === openBracket) {
      if (depth === 0) inside = at + 1
      depth += 1
      values += 1
      if (depth > maxDepth) return { members, inside, memberCount, excess: "depth" }
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 1) close(at)
      depth -= 1
    } else if (byte === colon) {
      memberCount += 1
      if (depth === 1 && isObject) {
        keyStart = stringStart
        keyEnd = stringEnd
        valueStart = behindSpace(bytes, at + 1)
        at = valueStart
        continue
      }
    } else {
      values += 1
      if (depth === 1) {
        close(at)
        const last = members.at(-1)
        if (until !== undefined && last !== undefined && isNamed(bytes, last, until)) break
      }
    }
    if (values > maxValues) return { members, inside, memberCount, excess: "values" }
    at += 1
  }
  return { members, inside, memberCount, excess: undefined }
}

/** A range of bytes and what takes its place. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The bytes with the edits made, which are in order and do not overlap. */
export const spliced = (bytes: Uint8Array, edits: ReadonlyArray<Edit>): Buffer => {
  const source = bufferOf(bytes)
  let length = source.length
  for (const { end, start, text } of edits) length += Buffer.byteLength(text) - (end - start)
  const made = Buffer.allocUnsafe(length)
  let [from, to] = [0, 0]
  for (const { end, start, text } of edits) {
    to += source.copy(made, to, from, start)
    to += made.write(text, to)
    from = end
  }
  source.copy(made, to, from)
  return made
}

/** The bytes of a JSON object with another value for the member at this path, which is there. */
export const withMember = (json: Buffer, [name, ...rest]: ReadonlyArray<string>, value: string): Buffer => {
  const found = name === undefined ? undefined : memberNamed(json, outlineOf(json, { until: name }), name)
  if (found === undefined) return json
  const { valueEnd, valueStart } = found
  const text =
    rest.length === 0
      ? JSON.stringify(value)
      : withMember(json.subarray(valueStart, valueEnd), rest, value).toString()
  return spliced(json, [{ start: valueStart, end: valueEnd, text }])
}

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

/** Most strings end within so many bytes, and are looked through faster than anything is called. */
const shortString = 32

/** Behind the quote that ends the string whose first quote is at `start`. */
const behindString = (bytes: Buffer, start: number): number => {
  const near = Math.min(start + shortString, bytes.length)
  for (let at = start + 1; at < near; at++) {
    if (bytes[at] === backslash) break
    if (bytes[at] === quote) return at + 1
  }
  let end = bytes.indexOf(quote, start + 1)
  while (end !== -1) {
    let before = end - 1
    while (bytes[before] === backslash) before -= 1
    if ((end - before) % 2 === 1) return end + 1
    end = bytes.indexOf(quote, end + 1)
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

const trimmedEnd = (bytes: Buffer, end: number): number => {
  let at = end
  while (isSpace(bytes[at - 1])) at -= 1
  return at
}

/** The outline of a JSON text; without members when it is no object. It ends behind the member of that name, if one is asked for. */
export const outlineOf = (json: Uint8Array, until?: string): Outline => {
  const bytes = bufferOf(json)
  const members: Array<Member> = []
  let memberCount = 0
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

  let at = 0
  while (isSpace(bytes[at])) at += 1
  const isObject = bytes[at] === openBrace
  while (at < bytes.length) {
    const byte = bytes[at]
    if (keyStart !== -1 && valueStart === -1 && !isSpace(byte) && byte !== colon) valueStart = at
    if (byte === quote) {
      stringStart = at
      stringEnd = behindString(bytes, at)
      at = stringEnd
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
        keyStart = stringStart
        keyEnd = stringEnd
      }
    } else if (byte === comma && depth === 1) {
      close(at)
      const last = members.at(-1)
      if (until !== undefined && last !== undefined && isNamed(bytes, last, until)) break
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
  const found = name === undefined ? undefined : memberNamed(json, outlineOf(json, name), name)
  if (found === undefined) return json
  const { valueEnd, valueStart } = found
  const text =
    rest.length === 0
      ? JSON.stringify(value)
      : withMember(json.subarray(valueStart, valueEnd), rest, value).toString()
  return spliced(json, [{ start: valueStart, end: valueEnd, text }])
}

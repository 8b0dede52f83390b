/** Parses a request body as bounded, strict JSON, which means the same to every parser. */
import { isUtf8 } from "node:buffer"
import { Result } from "effect"
import { jsonFault } from "../../services/domain/strictJson.ts"
import { bufferOf, isObject, parsedJson } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Rejected } from "./types.ts"

/** A wrong field, and what would be right. */
export interface Problem {
  readonly path: string
  readonly message: string
}

const whole = (message: string) => Result.fail({ message, param: null })

/** Caps the size of the error. */
const maxProblems = 100

/** All problems in one message; `param` names the first. */
export const rejected = (problems: ReadonlyArray<Problem>) => {
  const [first] = problems
  const message = problems
    .slice(0, maxProblems)
    .map((problem) => `${problem.path}: ${problem.message}`)
    .join("; ")
  return Result.fail({ message, param: first?.path ?? null })
}

/**
 * The maximum number of members and elements of a whole body. Millions of them take seconds to parse and walk; a thousand
 * messages with a hundred tools have about 20 000.
 */
const maxValues = 50_000

const tooMany = () =>
  Result.fail({
    message: `Expected at most ${maxValues} members and elements in all`,
    code: "too_many_values" as const,
    param: null
  })

/** Locating a fault reads every character, so errors in longer texts have no position. */
const maxLocatedLength = 256 * 1024

const faulty = (text: string, otherwise: string) => {
  const fault = text.length > maxLocatedLength ? undefined : jsonFault(text)
  if (fault === undefined) return whole(otherwise)
  return fault.path === "" ? whole(fault.message) : rejected([fault])
}

/** Findings about a parsed body. */
interface Found {
  /** The number of members of all objects. */
  members: number
  /** The client marked a part for the provider's cache. */
  cacheMark: boolean
}

/** Inspects a value that is not too deep. */
const inspect = (value: unknown, found: Found): void => {
  if (Array.isArray(value)) for (const each of value) inspect(each, found)
  else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      found.members += 1
      if (name === "cache_control") found.cacheMark = true
      inspect(value[name], found)
    }
  }
}

export interface Parsed {
  readonly bytes: Uint8Array
  readonly body: JsonObject
  readonly writesCache: boolean
}

const maxDepth = 64

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

interface Shape {
  /** The number of members of all objects. The parsed value has fewer if some were duplicates. */
  readonly members: number
  readonly excess: "depth" | "values" | undefined
}

/** The end of the string that begins at `start`. */
const endOfString = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

/** Counts the structure of a JSON text without parsing it; stops at the first limit that it exceeds. */
const shapeOf = (bytes: Uint8Array, max = maxValues): Shape => {
  let members = 0
  let values = 1
  let depth = 0
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case quote:
        at = endOfString(bytes, at)
        break
      case openBrace:
      case openBracket:
        depth += 1
        values += 1
        if (depth > maxDepth) return { members, excess: "depth" }
        break
      case closeBrace:
      case closeBracket:
        depth -= 1
        break
      case colon:
        members += 1
        break
      case comma:
        values += 1
    }
    if (values > max) return { members, excess: "values" }
  }
  return { members, excess: undefined }
}

/** Tests whether a JSON text within a body is fast to parse, however long it is. */
export const isSmall = (bytes: Uint8Array): boolean => shapeOf(bytes, 1000).excess === undefined

/** Parses a JSON object in UTF-8, without duplicate members and nested at most 64 deep. */
export const parse = (received: Uint8Array): Result.Result<Parsed, Rejected> => {
  const bytes = bufferOf(received)
  if (bytes.length === 0) return whole("Expected a JSON body, got none.")
  if (!isUtf8(bytes)) return whole("Expected a body in UTF-8.")
  const text = bytes.toString()
  // The limits are checked before parsing, because parsing millions of levels or values takes seconds.
  const { excess, members: written } = shapeOf(bytes)
  if (excess === "values") return tooMany()
  if (excess === "depth") return faulty(text, `Expected JSON nested at most ${maxDepth} levels deep`)
  const body = parsedJson(text)
  if (body === undefined) return faulty(text, "Malformed JSON")
  if (!isObject(body)) return whole("Expected a JSON object.")
  const found: Found = { members: 0, cacheMark: false }
  inspect(body, found)
  if (written !== found.members) return faulty(text, "Expected each member once")
  return Result.succeed({ bytes, body, writesCache: found.cacheMark })
}

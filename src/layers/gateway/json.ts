/** JSON that others wrote: looked at member by member, never trusted to have a shape. */
import type { Schema } from "effect"

export type Json = Schema.Json
export type JsonObject = Schema.JsonObject

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The elements of a list that are objects; none when it is no list. */
export const objectsIn = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isObject) : []

/** A text, or an empty one where there is none. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** What is absent may also be written as null. */
export const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null

/** The parsed text; undefined when it is no JSON, which no JSON text is parsed to. */
export const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The same bytes, as Node reads and copies them. */
export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Only the members that are there. */
export const present = (members: { readonly [name: string]: Json | undefined }): JsonObject => {
  const object: Record<string, Json> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) object[name] = value
  return object
}

/** A set of names of members, written as words. */
export const members = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/))

/** The identifier of an answer in the form that clients of the other style expect; the request's where it has none. */
export const prefixedId = (prefix: string, id: Json | undefined, requestId: string): string => {
  const given = textOf(id) === "" ? requestId : textOf(id)
  return given.startsWith(prefix) ? given : `${prefix}${given}`
}

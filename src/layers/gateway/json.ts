/** Reads JSON from others member by member, without trusting its shape. */
import type { Schema } from "effect"

export type Json = Schema.Json
export type JsonObject = Schema.JsonObject

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The objects in a list; empty if the value is no list. */
export const objectsIn = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isObject) : []

/** The value if it is a text, otherwise an empty text. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** An absent member may also be written as null. */
export const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null

/** The parsed value; undefined if the text is no JSON, since no JSON text has that value. */
export const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The same bytes as a Node buffer. */
export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Drops undefined members. */
export const present = (members: { readonly [name: string]: Json | undefined }): JsonObject => {
  const object: Record<string, Json> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) object[name] = value
  return object
}

/** Makes a set from names separated by spaces. */
export const members = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/))

/** The answer's identifier with the prefix that clients of the other style expect; the request's identifier if there is none. */
export const prefixedId = (prefix: string, id: Json | undefined, requestId: string): string => {
  const given = textOf(id) === "" ? requestId : textOf(id)
  return given.startsWith(prefix) ? given : `${prefix}${given}`
}

/**
 * Members that are translated, as the kind they must be. One of another kind would be lost on the way, and the answer be
 * another than the one that is asked and paid for; so it is refused by its name.
 */
import { isAbsent, isObject } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { untranslatable } from "./untranslatable.ts"

export const expectedText = (value: Json | undefined, path: string): string =>
  typeof value === "string" ? value : untranslatable(path, "Expected a text")

/** None where it is absent. */
export const expectedObject = (
  value: Json | undefined,
  path: string,
  expected: string
): JsonObject | undefined => {
  if (isAbsent(value)) return undefined
  return isObject(value) ? value : untranslatable(path, expected)
}

/** An empty one where it is absent. */
export const expectedList = (
  value: Json | undefined,
  path: string,
  expected: string
): ReadonlyArray<Json> => {
  if (isAbsent(value)) return []
  return Array.isArray(value) ? value : untranslatable(path, expected)
}

/** None where it is absent. */
export const expectedFlag = (value: Json | undefined, path: string): boolean | undefined => {
  if (isAbsent(value)) return undefined
  return typeof value === "boolean" ? value : untranslatable(path, "Expected true or false")
}

export const contentExpected = "Expected a text or a list of content"

/** Refuses what nobody takes: the message of a user or a system that says nothing. */
export const refuseMissing = (content: Json | undefined, path: string) => {
  if (isAbsent(content)) untranslatable(path, contentExpected)
}

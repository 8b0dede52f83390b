/**
 * A member without a counterpart in the other style: thrown while a body is translated. The answer has the member's name, also
 * in the message, because errors of messages have no field for it.
 */
import { Result } from "effect"
import { isAbsent, isObject } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import type { Rejected } from "../types.ts"

class Untranslatable {
  readonly rejected: Rejected
  constructor(rejected: Rejected) {
    this.rejected = rejected
  }
}

/** Ends the translation. */
export const untranslatable = (param: string, message: string): never => {
  // eslint-disable-next-line typescript/only-throw-error
  throw new Untranslatable({ param, message: `${param}: ${message}` })
}

/** The result of a translation, or the member that could not be translated. */
export const translated = <Value>(translate: () => Value): Result.Result<Value, Rejected> => {
  try {
    return Result.succeed(translate())
  } catch (thrown) {
    if (thrown instanceof Untranslatable) return Result.fail(thrown.rejected)
    throw thrown
  }
}

/*
 * Checks the type of members that are translated. A member of another type would be lost, and the answer would differ from the
 * one that is requested and paid for; so it is rejected by its name.
 */

export const expectedText = (value: Json | undefined, path: string): string =>
  typeof value === "string" ? value : untranslatable(path, "Expected a text")

/** The result is undefined if the member is absent. */
export const expectedObject = (
  value: Json | undefined,
  path: string,
  expected: string
): JsonObject | undefined => {
  if (isAbsent(value)) return undefined
  return isObject(value) ? value : untranslatable(path, expected)
}

/** The result is empty if the member is absent. */
export const expectedList = (
  value: Json | undefined,
  path: string,
  expected: string
): ReadonlyArray<Json> => {
  if (isAbsent(value)) return []
  return Array.isArray(value) ? value : untranslatable(path, expected)
}

/** The result is undefined if the member is absent. */
export const expectedFlag = (value: Json | undefined, path: string): boolean | undefined => {
  if (isAbsent(value)) return undefined
  return typeof value === "boolean" ? value : untranslatable(path, "Expected true or false")
}

export const contentExpected = "Expected a text or a list of content"

/** Rejects a user's or system's message without content, which no provider accepts. */
export const rejectMissing = (content: Json | undefined, path: string) => {
  if (isAbsent(content)) untranslatable(path, contentExpected)
}

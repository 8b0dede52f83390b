/**
 * A member without a counterpart in the other style: thrown while a body is translated, and answered with the member's name,
 * also in the message, because errors of messages have no field for it.
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

/** The result of a translation, or what in it could not be translated. */
export const translated = <Value>(translate: () => Value): Result.Result<Value, Rejected> => {
  try {
    return Result.succeed(translate())
  } catch (thrown) {
    if (thrown instanceof Untranslatable) return Result.fail(thrown.rejected)
    throw thrown
  }
}

/*
 * Members that are translated, as the kind they must be. One of another kind would be lost on the way, and the answer be
 * another than the one that is asked and paid for; so it is refused by its name.
 */

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
export const rejectMissing = (content: Json | undefined, path: string) => {
  if (isAbsent(content)) untranslatable(path, contentExpected)
}

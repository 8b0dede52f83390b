/**
 * What has no counterpart in the other style: thrown while a body is translated, and answered with its name, also in words,
 * for errors of messages have no other place for it.
 */
import { Result } from "effect"
import type { Refused } from "../types.ts"

class Untranslatable {
  readonly refused: Refused
  constructor(refused: Refused) {
    this.refused = refused
  }
}

/** Ends the translation that runs. */
export const untranslatable = (param: string, message: string): never => {
  // eslint-disable-next-line typescript/only-throw-error
  throw new Untranslatable({ param, message: `${param}: ${message}` })
}

/** The result of a translation, or what in it could not be translated. */
export const translated = <Value>(translate: () => Value): Result.Result<Value, Refused> => {
  try {
    return Result.succeed(translate())
  } catch (thrown) {
    if (thrown instanceof Untranslatable) return Result.fail(thrown.refused)
    throw thrown
  }
}

/** What providers say when they fail, wherever they say it. */
import { isObject, textOf } from "./json.ts"
import type { StreamFault } from "./types.ts"

/** Words of providers for "come back later", as a type or code of an error. */
const busyWords = /overload|rate_?limit|too_many|capacity|unavailable|quota|^(?:429|503|529)$/i

/** An `error` member, which both styles have, though some providers write a text there. */
export const faultOf = (error: unknown): StreamFault => {
  if (!isObject(error)) return { kind: "error_event", message: textOf(error).slice(0, 500), busy: false }
  const words = [error.type, error.code, error.status].filter((word) => word !== undefined && word !== null)
  return {
    kind: "error_event",
    message: [...words.map(String), textOf(error.message)].join(": ").slice(0, 500),
    busy: words.some((word) => busyWords.test(String(word)))
  }
}

export const malformed = (message: string): StreamFault => ({ kind: "malformed", message, busy: false })

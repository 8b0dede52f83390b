/** What is known of the request under way: its id, and the address it counts by. */
import { Context, Effect } from "effect"

export const CurrentRequest = Context.Reference<{
  readonly requestId: string
  readonly address: string
  /** Whether it counts towards a limit of the service `RateLimiter`; the edge counts all others (UnidentifiedLimit.ts). */
  isCounted: boolean
}>("auspex/http/CurrentRequest", {
  defaultValue: () => ({ requestId: "none", address: "unknown", isCounted: true })
})

/** The request under way, from here on one that counts towards a limit of the service `RateLimiter`. */
export const countedRequest = Effect.map(CurrentRequest, (request) => {
  request.isCounted = true
  return request
})

/**
 * The limit of what no other limit counts: documents, unknown paths and methods, health, refused tokens and keys. It is
 * counted in this process, by address: it has to cost no statement, and to hold while the database is away.
 */
import { Context, Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { TooManyRequests } from "../services/RateLimiter.ts"
import { Settings } from "../services/Settings.ts"

export class UnidentifiedLimit extends Context.Service<
  UnidentifiedLimit,
  {
    /** Counts one request of this address, and fails when there were too many. */
    readonly take: (address: string) => Effect.Effect<void, TooManyRequests>
  }
>()("auspex/http/UnidentifiedLimit") {}

/** The store in memory forgets nothing. After so many windows it is thrown away, and everybody begins anew. */
const maxWindows = 100_000

const emptyLimiter = Effect.provide(RateLimiter.make, RateLimiter.layerStoreMemory, { local: true })

export const layer = Layer.effect(
  UnidentifiedLimit,
  Effect.gen(function* () {
    const { unidentifiedLimit } = yield* Settings
    let limiter = yield* emptyLimiter
    let windows = 0

    const take = Effect.fnUntraced(function* (address: string) {
      for (const { count, window } of unidentifiedLimit) {
        const key = `${Duration.toMillis(window)}:${address}`
        const { remaining } = yield* limiter.consume({ key, limit: count, window }).pipe(
          Effect.catch(({ reason }) => {
            // The store in memory has nothing that could fail.
            if (reason._tag === "RateLimitStoreError") return Effect.die(reason)
            const seconds = Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter)))
            return new TooManyRequests({
              detail: `Too many requests that name no agent: at most ${count} in ${Duration.format(window)}. Try again in ${seconds} s.`,
              retry_after: seconds
            })
          })
        )
        if (remaining === count - 1) windows += 1
        if (windows > maxWindows) {
          limiter = yield* emptyLimiter
          windows = 0
        }
      }
    })
    return UnidentifiedLimit.of({ take })
  })
)

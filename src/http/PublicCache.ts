/**
 * What everybody reads is made once a second, however many ask: one handler run and one encoding for each address,
 * shared by all who ask meanwhile. What an administrator changes on this replica is seen at once.
 */
import { Cache, Context, Duration, Effect, Equal, Exit, Hash, Layer } from "effect"
import type { HttpServerResponse } from "effect/http"
import { Settings } from "../services/Settings.ts"

type Response<E> = Effect.Effect<HttpServerResponse.HttpServerResponse, E>

export class PublicCache extends Context.Service<
  PublicCache,
  {
    /** The response kept for this URL, or the one that `make` makes. Failures are not kept. */
    readonly get: <E>(url: string, make: Response<E>) => Response<E>
    readonly clear: Effect.Effect<void>
  }
>()("auspex/http/PublicCache") {}

/** Equal to every other read of its URL; whoever comes first brings the way to answer it. */
class Read implements Equal.Equal {
  readonly url: string
  readonly make: Response<unknown>
  constructor(url: string, make: Response<unknown>) {
    this.url = url
    this.make = make
  }
  [Equal.symbol](that: unknown): boolean {
    return that instanceof Read && that.url === this.url
  }
  [Hash.symbol](): number {
    return Hash.string(this.url)
  }
}

const mostUrls = 1000

export const layer = Layer.effect(
  PublicCache,
  Effect.gen(function* () {
    const { publicCache } = yield* Settings
    const responses = yield* Cache.makeWith(({ make }: Read) => make, {
      capacity: mostUrls,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? publicCache : Duration.zero)
    })
    return PublicCache.of({
      get: <E>(url: string, make: Response<E>) =>
        Duration.isZero(publicCache)
          ? make
          : // The failures of a URL are those of the `make` it was asked with.
            (Cache.get(responses, new Read(url, make)) as Response<E>),
      clear: Cache.invalidateAll(responses)
    })
  })
)

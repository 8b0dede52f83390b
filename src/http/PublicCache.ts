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

/** Together they bound what is kept; a larger answer is made anew for whoever asks next. */
const mostUrls = 100
const mostBytes = 256 * 1024

const isKept = ({ body }: HttpServerResponse.HttpServerResponse): boolean =>
  body._tag === "Uint8Array" && body.body.byteLength <= mostBytes

export const layer = Layer.effect(
  PublicCache,
  Effect.gen(function* () {
    const { publicCache } = yield* Settings
    const responses = yield* Cache.makeWith(({ make }: Read) => make, {
      capacity: mostUrls,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? publicCache : Duration.zero)
    })
    return PublicCache.of({
      get: <E>(url: string, make: Response<E>) => {
        if (Duration.isZero(publicCache)) return make
        const read = new Read(url, make)
        // The failures of a URL are those of the `make` it was asked with.
        const answer = Cache.get(responses, read) as Response<E>
        // The cache would hold what has no time to live until it needs the room.
        return answer.pipe(
          Effect.tap((response) => (isKept(response) ? Effect.void : Cache.invalidate(responses, read))),
          Effect.tapError(() => Cache.invalidate(responses, read))
        )
      },
      clear: Cache.invalidateAll(responses)
    })
  })
)

/**
 * What everybody reads is made once a second, however many ask: one handler run and one encoding for each answer,
 * shared by all who ask meanwhile. What an administrator changes on this replica is seen at once.
 */
import { Cache, Context, Duration, Effect, Equal, Exit, Hash, Layer } from "effect"
import type { HttpServerResponse } from "effect/http"
import { Settings } from "../services/Settings.ts"

type Response<E> = Effect.Effect<HttpServerResponse.HttpServerResponse, E>

export class PublicCache extends Context.Service<
  PublicCache,
  {
    /** The response kept under this key, or the one that `make` makes. Failures are not kept. */
    readonly get: <E>(key: string, make: Response<E>) => Response<E>
    readonly clear: Effect.Effect<void>
  }
>()("auspex/http/PublicCache") {}

/** Equal to every other read of its key; whoever comes first brings the way to answer it. */
class Read implements Equal.Equal {
  readonly key: string
  readonly make: Response<unknown>
  constructor(key: string, make: Response<unknown>) {
    this.key = key
    this.make = make
  }
  [Equal.symbol](that: unknown): boolean {
    return that instanceof Read && that.key === this.key
  }
  [Hash.symbol](): number {
    return Hash.string(this.key)
  }
}

/**
 * What is kept of all answers together: what was read longest ago gives way. One answer can have megabytes (the results of
 * a challenge with its reasonings), and such are the dearest to make.
 */
const mostAnswers = 100
const mostBytes = 64 * 1024 * 1024

const sizeOf = ({ body }: HttpServerResponse.HttpServerResponse): number =>
  body._tag === "Uint8Array" ? body.body.byteLength : Number.POSITIVE_INFINITY

export const layer = Layer.effect(
  PublicCache,
  Effect.gen(function* () {
    const { publicCache } = yield* Settings
    const responses: Cache.Cache<Read, HttpServerResponse.HttpServerResponse, unknown> =
      yield* Cache.makeWith(({ make }: Read) => Effect.tap(make, makeRoom), {
        capacity: mostAnswers,
        timeToLive: (exit) => (Exit.isSuccess(exit) ? publicCache : Duration.zero)
      })

    /** Before it is kept; also of what was kept for its time, which the cache would hold on to. */
    const makeRoom = (response: HttpServerResponse.HttpServerResponse) =>
      Effect.gen(function* () {
        const kept = [...(yield* Cache.entries(responses))]
        let bytes = kept.reduce((sum, [, each]) => sum + sizeOf(each), sizeOf(response))
        for (const [read, each] of kept) {
          if (bytes <= mostBytes) return
          bytes -= sizeOf(each)
          yield* Cache.invalidate(responses, read)
        }
      })

    return PublicCache.of({
      get: <E>(key: string, make: Response<E>) => {
        if (Duration.isZero(publicCache)) return make
        const read = new Read(key, make)
        // The failures of a key are those of the `make` it was asked with.
        const answer = Cache.get(responses, read) as Response<E>
        // The cache would hold what has no time to live until it needs the room.
        return answer.pipe(
          Effect.tap((response) =>
            sizeOf(response) <= mostBytes ? Effect.void : Cache.invalidate(responses, read)
          ),
          Effect.tapError(() => Cache.invalidate(responses, read))
        )
      },
      clear: Cache.invalidateAll(responses)
    })
  })
)

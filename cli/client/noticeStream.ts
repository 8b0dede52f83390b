/** A client of the public stream of notices. */
import { Deferred, Effect, Option, Schedule, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { PublicNotice } from "../../src/services/Notices.ts"
import type { PublicType } from "../../src/services/Notices.ts"

const asNotice = Schema.decodeUnknownOption(Schema.fromJsonString(PublicNotice))

/**
 * Passes on notices from now on, until the scope ends. It succeeds once it listens; a stream that ends or breaks off is resumed where it
 * was.
 */
export const followNotices = Effect.fnUntraced(function* (
  url: string,
  types: ReadonlyArray<PublicType>,
  tell: (notice: typeof PublicNotice.Type) => Effect.Effect<unknown>
) {
  const client = yield* HttpClient.HttpClient
  const listening = yield* Deferred.make<void>()
  const seen: { last?: string } = {}
  const read = Effect.suspend(() => {
    const notices: Array<typeof PublicNotice.Type> = []
    const parser = Sse.makeParser((event) => {
      if (event._tag === "Retry") return
      if (event.id !== undefined) seen.last = event.id
      notices.push(...Option.toArray(asNotice(event.data)))
    })
    const request = HttpClientRequest.get(`${url}/api/v1/public/notices/stream`, {
      urlParams: { types: types.join(",") },
      headers: seen.last === undefined ? {} : { "last-event-id": seen.last }
    })
    return HttpClientResponse.stream(client.execute(request)).pipe(
      Stream.decodeText(),
      Stream.runForEach((text) => {
        parser.feed(text)
        return Effect.andThen(
          Deferred.succeed(listening, undefined),
          Effect.forEach(notices.splice(0), tell, { discard: true })
        )
      })
    )
  })
  yield* read.pipe(Effect.ignore, Effect.repeat(Schedule.spaced("1 second")), Effect.forkScoped)
  yield* Deferred.await(listening)
})

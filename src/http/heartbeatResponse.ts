/** Sends answers that may take minutes: spaces from the fifth second on, which JSON allows, keep clients and proxies waiting. */
import { Effect, Fiber, Option, Schedule, Schema, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

const pulse = "5 seconds"

/** A quick answer is an ordinary response with its own status. A failure after the first space ends the connection. */
export const heartbeatResponse = Effect.fnUntraced(function* <S extends Schema.Codec<unknown, unknown>, E, R>(
  schema: S,
  work: Effect.Effect<S["Type"], E, R>
) {
  const encode = Schema.encodeEffect(Schema.fromJsonString(schema))
  const fiber = yield* Effect.forkDetach(Effect.flatMap(work, (value) => Effect.orDie(encode(value))))
  const quick = yield* Fiber.await(fiber).pipe(
    Effect.timeoutOption(pulse),
    Effect.onInterrupt(() => Fiber.interrupt(fiber))
  )
  if (Option.isSome(quick)) {
    return HttpServerResponse.text(yield* quick.value, { contentType: "application/json" })
  }
  const spaces = Stream.fromSchedule(Schedule.spaced(pulse)).pipe(Stream.map(() => " "))
  const answer = Stream.fromEffect(Fiber.join(fiber)).pipe(
    Stream.tapCause((cause) => Effect.logError("a long request failed", cause))
  )
  return HttpServerResponse.stream(
    Stream.merge(spaces, answer, { haltStrategy: "right" }).pipe(
      Stream.ensuring(Fiber.interrupt(fiber)),
      Stream.encodeText
    ),
    { contentType: "application/json" }
  )
})

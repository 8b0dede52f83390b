import { Effect, References } from "effect"

/**
 * The span of a method that every request passes: as `Effect.fn` makes it, but without a stack trace taken at each
 * call, which costs more than the span; and where nothing is traced, without the span that nobody would see.
 */
export const cheapSpan =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.withFiber((fiber) =>
      fiber.getRef(References.TracerEnabled)
        ? Effect.withSpan(effect, name, { captureStackTrace: false })
        : effect
    )

import { Effect, References } from "effect"

/**
 * The span of a method that every request passes. It works like `Effect.fn`, but takes no stack trace at each call, which costs more than
 * the span; without tracing it makes no span.
 */
export const cheapSpan =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.withFiber((fiber) =>
      fiber.getRef(References.TracerEnabled)
        ? Effect.withSpan(effect, name, { captureStackTrace: false })
        : effect
    )

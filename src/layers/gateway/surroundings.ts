/** What a call needs of the program around it. */
import { Clock, Context, Effect, Random, References } from "effect"
import type { Exit } from "effect"

export interface Surroundings {
  /** In milliseconds. */
  readonly now: () => number
  readonly random: () => number
  /** That metrics are counted in. */
  readonly metrics: Context.Context<never>
  /** To its end, whoever leaves meanwhile. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<Exit.Exit<A, E>>
  /** In a span of its own, where anything is traced; with what is known of it in the end. */
  readonly inSpan: <A>(
    name: () => string,
    work: () => Promise<A>,
    attributes: (done: A) => Record<string, string>
  ) => Promise<A>
  /** Of the span that is around, if any is. */
  readonly annotate: (attributes: Record<string, string>) => void
}

export const surroundings = (context: Context.Context<never>, requestId: string): Surroundings => {
  const clock = Context.get(context, Clock.Clock)
  const random = Context.get(context, Random.Random)
  const isTraced = Context.get(context, References.TracerEnabled)
  const runExit = Effect.runPromiseExitWith(context)
  const run: Surroundings["run"] = (effect) => runExit(Effect.annotateLogs(effect, "request_id", requestId))
  return {
    now: () => clock.currentTimeMillisUnsafe(),
    random: () => random.nextDoubleUnsafe(),
    metrics: context,
    run,
    inSpan: (name, work, attributes) =>
      isTraced
        ? Effect.runPromiseWith(context)(
            Effect.withSpan(
              Effect.tap(Effect.promise(work), (done) => Effect.annotateCurrentSpan(attributes(done))),
              name(),
              { captureStackTrace: false }
            )
          )
        : work(),
    annotate: (attributes) => {
      if (isTraced) void run(Effect.annotateCurrentSpan(attributes))
    }
  }
}

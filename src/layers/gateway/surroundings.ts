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

const within = (context: Context.Context<never>) => {
  const clock = Context.get(context, Clock.Clock)
  const random = Context.get(context, Random.Random)
  const isTraced = Context.get(context, References.TracerEnabled)
  const runExit = Effect.runPromiseExitWith(context)
  const inTracedSpan = Effect.runPromiseWith(context)
  const nowOf = () => clock.currentTimeMillisUnsafe()
  const randomOf = () => random.nextDoubleUnsafe()
  const inSpan: Surroundings["inSpan"] = (name, work, attributes) =>
    isTraced
      ? inTracedSpan(
          Effect.withSpan(
            Effect.tap(Effect.promise(work), (done) => Effect.annotateCurrentSpan(attributes(done))),
            name(),
            { captureStackTrace: false }
          )
        )
      : work()
  const annotate: Surroundings["annotate"] = (attributes) => {
    if (isTraced) void runExit(Effect.annotateCurrentSpan(attributes))
  }

  return (requestId: string): Surroundings => ({
    now: nowOf,
    random: randomOf,
    metrics: context,
    run: (effect) => runExit(Effect.annotateLogs(effect, "request_id", requestId)),
    inSpan,
    annotate
  })
}

/** Of a request within a context. All calls of the lane are within one, so what is made of the last is kept for the next. */
export const makeSurroundings = () => {
  let last: { readonly context: Context.Context<never>; readonly of: ReturnType<typeof within> } | undefined
  return (context: Context.Context<never>, requestId: string): Surroundings => {
    if (last?.context !== context) last = { context, of: within(context) }
    return last.of(requestId)
  }
}

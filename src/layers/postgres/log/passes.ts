/** Passes over the log that fail again and again, which would otherwise be known to the log files alone. */
import { Cause, Effect, Metric, Predicate, Ref } from "effect"

/** One that fails and is made up for by the next tells nobody anything. */
const telling = 3

const maxReason = 200

const failures = Metric.counter("log_passes_failed_total", {
  description: "Passes over the public log that failed, by what they were to do",
  incremental: true
})

interface Failed {
  readonly times: number
  readonly reason: string
}

/** What a failure was made of in the end: what PostgreSQL, or the socket, said. */
const innermost = (error: unknown): unknown => {
  if (Predicate.hasProperty(error, "reason")) return innermost(error.reason)
  return Predicate.hasProperty(error, "cause") && error.cause !== undefined ? innermost(error.cause) : error
}

const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const error = innermost(Cause.squash(cause))
  const [line = ""] = (Predicate.hasProperty(error, "message") ? String(error.message) : String(error)).split(
    "\n"
  )
  return line.slice(0, maxReason)
}

export const makePasses = Effect.gen(function* () {
  const failed = yield* Ref.make<ReadonlyMap<string, Failed>>(new Map())

  const watched = (pass: string) => {
    const succeeded = Ref.update(failed, (before) =>
      before.has(pass) ? new Map([...before].filter(([name]) => name !== pass)) : before
    )
    const noted = (cause: Cause.Cause<unknown>) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.andThen(
            Metric.update(Metric.withAttributes(failures, { pass }), 1),
            Ref.update(failed, (before) => {
              const times = (before.get(pass)?.times ?? 0) + 1
              return new Map([...before, [pass, { times, reason: reasonOf(cause) }]])
            })
          )
    return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      effect.pipe(
        Effect.tap(() => succeeded),
        Effect.tapCause(noted)
      )
  }

  /** What has failed several times without a success between, in words. */
  const failing = Effect.map(Ref.get(failed), (passes) => {
    const worst = [...passes].find(([, { times }]) => times >= telling)
    if (worst === undefined) return null
    const [pass, { reason, times }] = worst
    return `The last ${times} passes to ${pass} failed: ${reason}`
  })

  return { watched, failing }
})

/** A limit on log lines that clients can cause as often as they like. */
import { Duration, Effect } from "effect"

/** Logs the first event of each kind in an interval, with the count of events since the last logged one. */
export type ThrottledLog = (kind: string, log: (count: number) => Effect.Effect<void>) => Effect.Effect<void>

/** Every `kind` stays in memory, so clients must not be able to choose it. */
export const makeThrottledLog = (interval: Duration.Duration): ThrottledLog => {
  const logged = new Map<string, { at: number; unlogged: number }>()
  return (kind, log) =>
    Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      const last = logged.get(kind)
      const unlogged = (last?.unlogged ?? 0) + 1
      if (last !== undefined && now - last.at < Duration.toMillis(interval)) {
        last.unlogged = unlogged
        return Effect.void
      }
      logged.set(kind, { at: now, unlogged: 0 })
      return log(unlogged)
    })
}

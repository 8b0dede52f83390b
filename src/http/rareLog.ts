/** Log lines of what comes as often as clients like. */
import { Duration, Effect } from "effect"

/** Logs the first of each kind in an interval, with how many there were since the last that was logged. */
export type RareLog = (kind: string, log: (count: number) => Effect.Effect<void>) => Effect.Effect<void>

/** `kind` is never what a client chooses, for every one is kept. */
export const makeRareLog = (interval: Duration.Duration): RareLog => {
  const told = new Map<string, { at: number; untold: number }>()
  return (kind, log) =>
    Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      const last = told.get(kind)
      const untold = (last?.untold ?? 0) + 1
      if (last !== undefined && now - last.at < Duration.toMillis(interval)) {
        last.untold = untold
        return Effect.void
      }
      told.set(kind, { at: now, untold: 0 })
      return log(untold)
    })
}

/** A process that is restarted whenever a fault has ended it, as a service manager would do. */
import { Clock, Effect, Scope } from "effect"
import { startAuspex } from "../process.ts"
import type { Auspex, Start } from "../process.ts"

export interface Kept {
  readonly current: () => Auspex
  /** Ends the process with this signal and restarts it without waiting for the start; returns the time of the end. */
  readonly end: (name: "SIGKILL" | "SIGTERM") => Effect.Effect<number>
  readonly log: () => string
  /** The ends that no test caused, also the regular ones. */
  readonly deaths: Effect.Effect<ReadonlyArray<string>>
}

export const keep = Effect.fnUntraced(function* (start: Start) {
  const scope = yield* Effect.scope
  const first = yield* startAuspex(start)
  const all = [first]
  const struck = new Set<Auspex>()
  const disorder: Array<string> = []
  const current = () => all.at(-1) ?? first
  const kept: Kept = {
    current,
    end: Effect.fnUntraced(function* (name: "SIGKILL" | "SIGTERM") {
      const victim = current()
      struck.add(victim)
      yield* victim.signal(name)
      const { code } = yield* victim.ended
      const at = yield* Clock.currentTimeMillis
      if (name === "SIGTERM" && code !== 0) {
        disorder.push(
          `process ${victim.pid} ended with ${code} when asked to stop: ${victim.stderr().slice(-500)}`
        )
      }
      all.push(yield* startAuspex(start).pipe(Scope.provide(scope)))
      return at
    }),
    log: () => all.map((each) => each.stdout() + each.stderr()).join("\n"),
    deaths: Effect.gen(function* () {
      const dead = [...disorder]
      for (const each of all) {
        if (!struck.has(each) && (yield* each.hasEnded)) {
          dead.push(`process ${each.pid} ended by itself: ${each.stderr().slice(-500)}`)
        }
      }
      return dead
    })
  }
  return kept
})

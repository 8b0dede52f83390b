/** A process that is started again whenever a fault has ended it, as a service manager would. */
import { Clock, Effect, Scope } from "effect"
import { startAuspex } from "../process.ts"
import type { Auspex, Start } from "../process.ts"

export interface Kept {
  readonly current: () => Auspex
  /** SIGKILL, then a new start, which is not waited for; answers when it was killed. */
  readonly kill: Effect.Effect<number>
  readonly log: () => string
  /** The ends that were not our doing. */
  readonly deaths: Effect.Effect<ReadonlyArray<string>>
}

export const keep = Effect.fnUntraced(function* (start: Start) {
  const scope = yield* Effect.scope
  const first = yield* startAuspex(start)
  const all = [first]
  const killed = new Set<Auspex>()
  const current = () => all.at(-1) ?? first
  const kept: Kept = {
    current,
    kill: Effect.gen(function* () {
      const victim = current()
      killed.add(victim)
      const at = yield* Clock.currentTimeMillis
      yield* victim.signal("SIGKILL")
      yield* victim.ended
      all.push(yield* startAuspex(start).pipe(Scope.provide(scope)))
      return at
    }),
    log: () => all.map((each) => each.stdout() + each.stderr()).join("\n"),
    deaths: Effect.gen(function* () {
      const dead: Array<string> = []
      for (const each of all) {
        if (!killed.has(each) && (yield* each.hasEnded)) {
          dead.push(`process ${each.pid} ended by itself: ${each.stderr().slice(-500)}`)
        }
      }
      return dead
    })
  }
  return kept
})

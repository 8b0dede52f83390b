/** The conditions on a campaign: no violation, and enough operations to be meaningful. */
import { assert } from "@effect/vitest"
import { Config, Effect, Option, Random } from "effect"
import type { Report } from "./campaign.ts"

/** `AUSPEX_FAULT_SEED` repeats the order of a run. */
export const seed = Effect.flatMap(
  Effect.orDie(Config.option(Config.Int("AUSPEX_FAULT_SEED"))),
  Option.match({ onNone: () => Random.nextIntBetween(1, 1_000_000), onSome: Effect.succeed })
)

export const assertHeld = (
  report: Report,
  floors: {
    readonly operations: number
    readonly settled: number
    readonly samples: number
    /** The number of kinds of faults. Each must have struck this often, and hit its aim at least once. */
    readonly kinds: number
    readonly strikes: number
  }
) => {
  assert.deepStrictEqual(report.violations.slice(0, 10), [])
  assert.isAtLeast(report.tally.operations, floors.operations, "operations")
  assert.isAtLeast(report.tally.acknowledged.length, floors.operations, "acknowledged")
  assert.isAtLeast(report.tally.registered.length, floors.settled, "registered")
  assert.isAtLeast(report.tally.granted.length, floors.settled, "granted")
  assert.isAtLeast(report.settled, floors.settled, "settled challenges")
  assert.isAtLeast(report.samples, floors.samples, "samples")
  assert.lengthOf([...report.faults.keys()], floors.kinds)
  for (const [kind, { landed, struck }] of report.faults) {
    assert.isAtLeast(struck, floors.strikes, kind)
    assert.isAtLeast(landed, 1, `${kind}: landed`)
  }
}

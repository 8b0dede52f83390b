/** The two worst faults once; faults.long.test.ts strikes all of them again and again, and several replicas too. */
import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { campaign } from "../support/faults/campaign.ts"
import { oneMachine } from "../support/faults/oneMachine.ts"
import { assertHeld, seed } from "../support/faults/verdict.ts"

const worst = new Set(["kill -9 of the server within a settlement", "kill -9 of PostgreSQL"])

describe("one machine under faults", () => {
  it.live(
    "loses nothing it has acknowledged, settles everything once, and works again by itself",
    () =>
      Effect.gen(function* () {
        const scene = yield* oneMachine({ pause: Duration.seconds(1) })
        const faults = scene.faults.filter(({ kind }) => worst.has(kind))
        const report = yield* campaign(
          { ...scene, faults },
          { seed: yield* seed, agents: 16, voters: 10_000, rounds: 1 }
        )
        assertHeld(report, { operations: 150, settled: 3, samples: 5, kinds: worst.size, strikes: 1 })
      }).pipe(Effect.provide(NodeServices.layer)),
    90_000
  )
})

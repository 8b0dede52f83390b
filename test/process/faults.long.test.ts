import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { campaign } from "../support/faults/campaign.ts"
import { oneMachine } from "../support/faults/oneMachine.ts"
import { replicas } from "../support/faults/replicas.ts"
import { assertHeld, seed } from "../support/faults/verdict.ts"

const pause = Duration.seconds(3)
const rule = "loses nothing it has acknowledged, settles everything once, and works again by itself"

describe("one machine under faults", () => {
  it.live(rule, () =>
    Effect.gen(function* () {
      const plan = { seed: yield* seed, agents: 32, voters: 20_000, rounds: 4 }
      const report = yield* campaign(yield* oneMachine({ pause }), plan)
      assertHeld(report, { operations: 2000, settled: 40, samples: 50, kinds: 5, strikes: 4 })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("a server and three runners of jobs under faults", () => {
  it.live(rule, () =>
    Effect.gen(function* () {
      const plan = { seed: yield* seed, agents: 32, voters: 20_000, rounds: 4 }
      const report = yield* campaign(yield* replicas({ pause }), plan)
      assertHeld(report, { operations: 2000, settled: 40, samples: 50, kinds: 8, strikes: 4 })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

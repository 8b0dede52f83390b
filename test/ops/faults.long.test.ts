/** One machine, a first start and several replicas under faults. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Duration, Effect, Random } from "effect"
import { campaign } from "../support/faults/campaign.ts"
import { oneMachine } from "../support/faults/oneMachine.ts"
import { replicas } from "../support/faults/replicas.ts"
import { assertHeld, seed } from "../support/faults/verdict.ts"
import { readyAuspex, startAuspex, stopped, temporaryData, timed } from "../support/process.ts"

const rule = "Auspex under faults loses nothing acknowledged, settles everything once, and works again"
const pause = Duration.seconds(3)

describe("One machine under faults", () => {
  it.live(rule, () =>
    Effect.gen(function* () {
      const plan = { seed: yield* seed, agents: 32, voters: 20_000, rounds: 3 }
      const report = yield* campaign(yield* oneMachine({ pause }), plan)
      assertHeld(report, { operations: 2000, settled: 40, samples: 50, kinds: 5, strikes: 3 })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A first start", () => {
  it.live("A first start that is killed at any moment is made good by the next one", () =>
    Effect.gen(function* () {
      const seedOfRun = yield* seed
      const killed = Effect.gen(function* () {
        const environment = { AUSPEX_DATA_DIR: yield* temporaryData }
        const after = yield* Random.nextIntBetween(300, 2500)
        const first = yield* startAuspex({ environment })
        yield* Effect.sleep(after)
        yield* first.signal("SIGKILL")
        yield* first.ended
        const [millis, second] = yield* timed(readyAuspex({ environment }))
        assert.deepStrictEqual(yield* stopped(second), { code: 0, signal: null })
        return `${after} ms (ready after ${millis} ms)`
      }).pipe(Effect.scoped)
      const report = yield* Effect.replicateEffect(killed, 8).pipe(Random.withSeed(seedOfRun))
      yield* Console.log(`first starts: seed ${seedOfRun}, killed after ${report.join(", ")}`)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A server and three runners of jobs under faults", () => {
  it.live(rule, () =>
    Effect.gen(function* () {
      const plan = { seed: yield* seed, agents: 32, voters: 20_000, rounds: 2 }
      const report = yield* campaign(yield* replicas({ pause }), plan)
      assertHeld(report, { operations: 2000, settled: 40, samples: 50, kinds: 9, strikes: 2 })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

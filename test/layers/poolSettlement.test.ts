/** How credit pools are funded, settled and void. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Credits } from "../../src/services/Credits.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { MacroArena } from "../../src/services/MacroArena.ts"
import { claimedAgents, firstPage, forecast, freshWeek, moveTo, newMacro, plus } from "../support/builders.ts"
import { credits, stateOf } from "../support/ledger.ts"
import { creditFor, stakeOn } from "../support/pools.ts"
import { testServices } from "../support/services.ts"

const checked = Effect.gen(function* () {
  assert.deepStrictEqual((yield* Credits.use((service) => service.check)).differences, [])
})

layer(testServices())("A pool", (it) => {
  it.effect("is funded", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newMacro({ deadline, reward_pool: 1000.5 })
      assert.strictEqual((yield* stateOf(`pool:${challenge.id}`)).posted, 1_250_625_000n)
      const agents = yield* claimedAgents(4)
      yield* creditFor(agents)
      for (const agent of agents) yield* forecast(agent, challenge)
      yield* stakeOn(
        challenge,
        agents.map((agentId, index) => ({ agentId, bin: 2 + (index % 2), amount: credits(100) }))
      )
      yield* moveTo(deadline)
      yield* MacroArena.use((arena) => arena.resolve(challenge.id, 3.1))
      assert.isNotNull((yield* Arenas.use((a) => a.results(challenge.id, firstPage))).pool)
      yield* checked
    })
  )
})

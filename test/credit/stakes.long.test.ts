/** The interleavings of stakesAtOnce.test.ts for as long as it takes to meet what is rare. */
import { assert, layer } from "@effect/vitest"
import { Console, Effect, Random } from "effect"
import { Pools } from "../../src/services/Pools.ts"
import { testServices } from "../support/services.ts"
import { boundsOf, drawn, interleavings, replica } from "../support/stakeWorkload.ts"

layer(testServices())("Two agents that stake at once, for long", (it) => {
  it.effect("never break the 50 % rule, in 500 random interleavings on three replicas", () =>
    Effect.gen(function* () {
      const seed = yield* Random.nextIntBetween(1, 1_000_000)
      const replicas = [yield* Pools, yield* replica({ AUSPEX_LARGEST_BATCH: "1" }), yield* replica()]
      const rounds = yield* drawn(500, seed)
      const { fewest, most } = boundsOf(rounds)
      for (const pair of [replicas.slice(0, 2), replicas.slice(1), [replicas[0], replicas[2]]]) {
        const played = yield* interleavings(
          rounds,
          pair.filter((each) => each !== undefined)
        )
        assert.deepStrictEqual(played.findings, [], `seed ${seed}`)
        const taken = played.outcomes.get("taken") ?? 0
        assert.isTrue(fewest <= taken && taken <= most, `${taken}, not ${fewest} to ${most}; seed ${seed}`)
        assert.isAtLeast(played.outcomes.get("bin_concentration") ?? 0, 50, `seed ${seed}`)
      }
      yield* Console.log(`stakes: seed ${seed}`)
    })
  )
})

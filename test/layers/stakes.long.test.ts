/** The interleavings of stakesAtOnce.test.ts for as long as it takes to meet what is rare. */
import { assert, layer } from "@effect/vitest"
import { Console, Effect, Random } from "effect"
import { Pools } from "../../src/services/Pools.ts"
import { testServices } from "../support/services.ts"
import { interleavings, replica } from "../support/stakePlay.ts"

layer(testServices())("Two agents that stake at once, for long", (it) => {
  it.effect("never break the 50 % rule, in 500 random interleavings on three replicas", () =>
    Effect.gen(function* () {
      const seed = yield* Random.nextIntBetween(1, 1_000_000)
      const replicas = [yield* Pools, yield* replica({ AUSPEX_LARGEST_BATCH: "1" }), yield* replica()]
      for (const pair of [replicas.slice(0, 2), replicas.slice(1), [replicas[0], replicas[2]]]) {
        const played = yield* interleavings(
          500,
          pair.filter((each) => each !== undefined)
        ).pipe(Random.withSeed(seed))
        assert.deepStrictEqual(played.findings, [], `seed ${seed}`)
        assert.isAtLeast(played.outcomes.get("taken") ?? 0, 500, `seed ${seed}`)
        assert.isAtLeast(played.outcomes.get("bin_concentration") ?? 0, 50, `seed ${seed}`)
      }
      yield* Console.log(`stakes: seed ${seed}`)
    })
  )
})

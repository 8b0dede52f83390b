/** The play of ledger.test.ts for as long as it takes to meet what is rare. */
import { assert, layer } from "@effect/vitest"
import { Console, Effect, Random } from "effect"
import { play, refusals } from "../support/ledgerWorkload.ts"
import { testServices } from "../support/services.ts"

layer(testServices())("Any writers at once, for long", (it) => {
  it.effect("keep every invariant at every moment", () =>
    Effect.gen(function* () {
      const from = yield* Random.nextIntBetween(1, 1_000_000)
      for (let seed = from; seed < from + 20; seed++) {
        const played = yield* play({ seed, players: 48, turns: 50 })
        assert.deepStrictEqual(played.violations, [], `seed ${seed}`)
        assert.isAtLeast(played.samples, 10)
        assert.isAtLeast(played.recorded, 400)
        for (const rule of refusals)
          assert.isAtLeast(played.refused.get(rule) ?? 0, 10, `${rule}, seed ${seed}`)
      }
      yield* Console.log(`ledger: seeds from ${from}`)
    })
  )
})

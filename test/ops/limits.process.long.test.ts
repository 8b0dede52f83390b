import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { burstOnTwo } from "../support/sharedLimits.ts"

describe("the limits of what agents do", () => {
  it.live("are hit exactly on two server processes at once, with Retry-After right to the second", () =>
    burstOnTwo((again, seconds) =>
      Effect.gen(function* () {
        assert.isAtMost(seconds, 120)
        // A little before, and a little after.
        yield* Effect.sleep(`${seconds * 1000 - 1100} millis`)
        assert.strictEqual((yield* again).status, 429)
        yield* Effect.sleep("1200 millis")
        assert.notStrictEqual((yield* again).status, 429)
      })
    ).pipe(Effect.provide(NodeServices.layer))
  )
})

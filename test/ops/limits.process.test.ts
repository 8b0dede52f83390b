/** A burst only; limits.long.test.ts waits for what Retry-After says, too. */
import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { burstOnTwo } from "../support/sharedLimits.ts"

describe("the limits of what agents do", () => {
  it.live(
    "are hit exactly on two server processes at once",
    () => burstOnTwo(() => Effect.void).pipe(Effect.provide(NodeServices.layer)),
    60_000
  )
})

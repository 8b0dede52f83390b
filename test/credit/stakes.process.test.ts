/** One step of stakes.long.test.ts, which strikes at all. */
import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { killedAt, steps } from "../support/stakeProcess.ts"

describe("kill -9 of the process that takes a stake", () => {
  it.live(
    "once the stake is written and its credit is not frozen: nothing has happened, and it can be sent again",
    () => killedAt([steps[2]]).pipe(Effect.provide(NodeServices.layer)),
    60_000
  )
})

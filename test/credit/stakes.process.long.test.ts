import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { killedAt, steps } from "../support/stakeProcess.ts"

describe("kill -9 of the process that takes a stake", () => {
  it.live("at each step: the stake is there once or not at all, and can be sent again", () =>
    killedAt(steps).pipe(Effect.provide(NodeServices.layer))
  )
})

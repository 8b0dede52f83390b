import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { killedInCalls } from "../support/gatewayProcess.ts"

describe("kill -9 of the process that calls a model", () => {
  it.live("at each step: after the sweep no credit is lost or made, and the ledger is as it must be", () =>
    killedInCalls.pipe(Effect.provide(NodeServices.layer))
  )
})

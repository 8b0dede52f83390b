import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { hungUpOn, refusedBodies } from "../support/gatewayProcess.ts"

describe("SIGHUP of a process with a gateway", () => {
  it.live("has it read its file again; a bad one keeps the old one in force, and the log says why", () =>
    hungUpOn.pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A process with a gateway", () => {
  it.live.skipIf(process.platform !== "linux")(
    "spends on a refused body of ten mebibytes a bounded number of the smallest requests, and answers others meanwhile",
    () => refusedBodies.pipe(Effect.provide(NodeServices.layer)),
    240_000
  )
})

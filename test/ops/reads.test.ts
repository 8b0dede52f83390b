import { NodeServices } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { longResults } from "../support/readsProcess.ts"

describe("A process that is read by everybody", () => {
  it.live.skipIf(process.platform !== "linux")(
    "makes long results once for all who ask meanwhile, whatever is added to their address",
    () => longResults.pipe(Effect.provide(NodeServices.layer)),
    240_000
  )
})

/** The verifier of the track record: `npm run verify -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { brief, reported } from "./client/failures.ts"
import { verify } from "./verify/command.ts"

Command.run(verify, { version: "0.1.0" }).pipe(
  reported("verify"),
  Effect.provide(Layer.mergeAll(NodeServices.layer, brief)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

/** The verifier of the track record: `npm run verify -- --help`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import manifest from "../package.json" with { type: "json" }
import { brief, reported } from "./client/failures.ts"
import { verify } from "./verify/command.ts"

Command.run(verify, { version: manifest.version }).pipe(
  reported("verify"),
  Effect.provide(Layer.mergeAll(NodeServices.layer, brief)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

/** The demonstration: `npm run demo -- --help`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import manifest from "../package.json" with { type: "json" }
import { brief, reported } from "./client/failures.ts"
import { demo } from "./demo/command.ts"

Command.run(demo, { version: manifest.version }).pipe(
  reported("demo"),
  Effect.provide(Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer, brief)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

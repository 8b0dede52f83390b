/** The administration's command line: `npm run admin -- --help`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import manifest from "../package.json" with { type: "json" }
import { admin } from "./admin/command.ts"
import { brief, reported } from "./client/failures.ts"

Command.run(admin, { version: manifest.version }).pipe(
  reported("admin"),
  Effect.provide(Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer, brief)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

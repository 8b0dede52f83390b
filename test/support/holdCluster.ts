/** A separate program that runs the embedded PostgreSQL, for tests that kill it: node holdCluster.ts DATA_DIR */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"
import { start } from "../../src/layers/embedded/EmbeddedPostgres.ts"

Effect.gen(function* () {
  const postgres = yield* start({ dataDir: process.argv[2] ?? "", settings: { fsync: "off" } })
  yield* Console.log(postgres.pid)
  return yield* Effect.never
}).pipe(Effect.scoped, NodeRuntime.runMain)

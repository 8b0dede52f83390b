/** Starts the baseline and tells it what it needs to know. */
import { Effect } from "effect"
import { planCacheMode } from "../../src/layers/postgres/Database.ts"
import { BenchFailed, module_ } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import { limitPerMinute, site, tokenSecret } from "../world.ts"
import type { BaselineConfig, BaselineReport } from "./config.ts"

export const baseline = Effect.fnUntraced(function* (
  config: Pick<BaselineConfig, "databaseUrl" | "standing" | "limit" | "prediction" | "page">
) {
  const started = yield* module_(new URL("./server.ts", import.meta.url))
  const whole: BaselineConfig = { ...config, tokenSecret, site, limitPerMinute, planCacheMode }
  const port = yield* Effect.callback<number, BenchFailed>((resume) => {
    started.child.once("message", (report: BaselineReport) => resume(Effect.succeed(report.port)))
    started.child.once("exit", () =>
      resume(new BenchFailed({ message: `the baseline did not start: ${started.written()}` }))
    )
    started.child.send(whole)
  })
  const server: Server = { pid: started.pid, port, process: started }
  return server
})

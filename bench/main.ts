/** `npm run bench`: the speed of the service on this machine, beside the best that is possible. */
import { writeFileSync } from "node:fs"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Option, Redacted } from "effect"
import { epochMillis } from "../test/support/growth/identifiers.ts"
import { generator } from "./load/load.ts"
import type { Generator } from "./load/load.ts"
import * as Database from "./machine/database.ts"
import type { Postgres } from "./machine/database.ts"
import { describe } from "./machine/describe.ts"
import { BenchFailed } from "./machine/processes.ts"
import { help, parseOptions } from "./options.ts"
import type { Options, Sizes } from "./options.ts"
import { aimsTable, machineLines, resultText } from "./report.ts"
import type { Result } from "./report.ts"
import { gateway } from "./scenarios/gateway.ts"
import { growth } from "./scenarios/growth.ts"
import { log } from "./scenarios/log.ts"
import { predict } from "./scenarios/predict.ts"
import { settlement } from "./scenarios/settlement.ts"

export interface Bench {
  readonly postgres: Postgres
  readonly load: Generator
  readonly sizes: Sizes
}

const run = { predict, log, settlement, gateway, growth }

const bench = Effect.fnUntraced(function* ({ chosen, json, sizes }: Options) {
  const begun = epochMillis()
  const postgres = yield* Database.start
  const machine = yield* describe.pipe(Effect.provide(Database.seeding(Redacted.value(postgres.url))))
  yield* Console.log(machineLines(machine))
  const load = yield* generator(postgres.pid)
  const results: Array<Result> = []
  for (const scenario of chosen) {
    yield* Console.log(`\n${scenario} ...`)
    const result = yield* run[scenario]({ postgres, load, sizes })
    yield* Console.log(resultText(result))
    results.push(result)
  }
  const seconds = (epochMillis() - begun) / 1000
  yield* Console.log(`\n${aimsTable(results)}\n\n${seconds.toFixed(0)} s in all`)
  if (json !== undefined)
    writeFileSync(json, `${JSON.stringify({ machine, sizes, results, seconds }, null, 2)}\n`)
}, Effect.scoped)

const main = Effect.gen(function* () {
  const options = yield* Effect.try({
    try: () => Option.fromUndefinedOr(parseOptions(process.argv.slice(2))),
    catch: (error) => new BenchFailed({ message: error instanceof Error ? error.message : String(error) })
  })
  return yield* Option.isNone(options) ? Console.log(help) : bench(options.value)
}).pipe(
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Console.error("bench: stopped")
    const error = Cause.squash(cause)
    return Console.error(`bench: ${error instanceof BenchFailed ? error.message : Cause.pretty(cause)}`)
  }),
  Effect.provide(NodeServices.layer)
)

NodeRuntime.runMain(main, { disableErrorReporting: true })

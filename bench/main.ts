/** `npm run bench`: how fast the service is on this machine, beside what could be had at all. */
import { writeFileSync } from "node:fs"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, Effect, Option, Redacted } from "effect"
import { generator } from "./load/load.ts"
import * as Pgbench from "./load/pgbench.ts"
import * as Database from "./machine/database.ts"
import { describe } from "./machine/describe.ts"
import { BenchFailed, plain } from "./machine/processes.ts"
import { help, parseOptions } from "./options.ts"
import type { Options } from "./options.ts"
import { profiled } from "./profile.ts"
import {
  casesTable,
  feedTable,
  growthTable,
  logTable,
  machineLines,
  poolTable,
  ratiosOf,
  ratiosTable,
  settlementSummary,
  settlementTable
} from "./report.ts"
import { feed } from "./scenarios/feed.ts"
import { gatewayTable } from "./gateway/report.ts"
import { gateway } from "./scenarios/gateway.ts"
import { growth } from "./scenarios/growth.ts"
import { leaderboard, leaderboardProfile } from "./scenarios/leaderboard.ts"
import { log } from "./scenarios/log.ts"
import { predict, predictProfile } from "./scenarios/predict.ts"
import { poolSettlement } from "./scenarios/poolSettlement.ts"
import { settlement } from "./scenarios/settlement.ts"
import type { Settled } from "./scenarios/settlement.ts"
import { stakes } from "./scenarios/stakes.ts"
import { epochMillis } from "./world.ts"

const started = Effect.gen(function* () {
  const postgres = yield* Database.start
  const machine = yield* describe.pipe(Effect.provide(Database.patient(Redacted.value(postgres.url))))
  yield* Console.log(machineLines(machine))
  return { postgres, machine, load: yield* generator(postgres.pid) }
})

const bench = Effect.fnUntraced(function* ({ json, only, plan, plans }: Options) {
  const begun = epochMillis()
  const { load, machine, postgres } = yield* started
  const pgbench = Pgbench.find()
  yield* Console.log(
    pgbench === undefined ? "pgbench is left out: none was found\n" : `pgbench: ${pgbench}\n`
  )
  const predicted = only.includes("predict") ? yield* predict(postgres, load, plan, pgbench) : undefined
  const led = only.includes("leaderboard") ? yield* leaderboard(postgres, load, plan, pgbench) : undefined
  const settled: Array<Settled> = []
  if (only.includes("settlement")) {
    for (const predictions of plan.settled) settled.push(yield* settlement(postgres, load, predictions))
  }
  const staked = only.includes("stakes") ? yield* stakes(postgres, load, plan) : undefined
  const pooled = only.includes("pool-settlement") ? yield* poolSettlement(postgres, plan.staked) : undefined
  const logged = only.includes("log") ? yield* log(postgres, load, plan) : undefined
  const gatewayed = only.includes("gateway") ? yield* gateway(postgres, plan) : undefined
  const grown = only.includes("growth") ? yield* growth(postgres, plan.grown, plans) : undefined
  const fed = only.includes("feed") ? yield* feed(postgres, plan) : undefined
  const cases = [...(predicted?.cases ?? []), ...(led?.cases ?? [])]
  const ratios = cases.map(ratiosOf)
  const statements = {
    predict: predicted?.statementsARequest ?? null,
    leaderboard: led?.statementsARequest ?? null
  }
  yield* Console.log("")
  if (cases.length > 0) yield* Console.log(`${casesTable(cases)}\n\n${ratiosTable(ratios)}`)
  for (const [name, count] of Object.entries(statements)) {
    if (count !== null) yield* Console.log(`SQL statements a ${name} request: ${count}`)
  }
  if (predicted !== undefined)
    yield* Console.log(`${predicted.confirmed} confirmed predictions, all stored and counted once`)
  if (staked !== undefined)
    yield* Console.log(
      `\n${casesTable(staked.cases)}\n${staked.confirmed} confirmed stakes, all stored, frozen and in the odds`
    )
  if (settled.length > 0)
    yield* Console.log(`\n${settlementTable(settled)}\n(aim: 1.3)\n${settlementSummary(settled)}`)
  if (pooled !== undefined) yield* Console.log(`\n${poolTable(pooled)}`)
  if (logged !== undefined) yield* Console.log(`\n${logTable(logged)}`)
  if (gatewayed !== undefined) yield* Console.log(`\n${gatewayTable(gatewayed)}`)
  if (grown !== undefined) yield* Console.log(`\n${growthTable(grown)}`)
  if (fed !== undefined) yield* Console.log(`\n${feedTable(fed)}\n(aim: under 6 ms)`)
  const seconds = (epochMillis() - begun) / 1000
  yield* Console.log(`\n${seconds.toFixed(0)} s in all`)
  if (json !== undefined) {
    const everything = {
      machine,
      plan,
      pgbench: pgbench ?? null,
      cases,
      ratios,
      statements,
      settled,
      staked: staked ?? null,
      pooled: pooled ?? null,
      logged: logged ?? null,
      gateway: gatewayed ?? null,
      grown: grown ?? null,
      fed: fed ?? null,
      seconds
    }
    const plainly = (_: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value)
    writeFileSync(json, `${JSON.stringify(everything, plainly, 2)}\n`)
  }
}, Effect.scoped)

const profile = Effect.fnUntraced(function* ({ only, plan }: Options, folder: string) {
  const { load, postgres } = yield* started
  if (only.includes("predict"))
    yield* Console.log(
      yield* profiled(folder, "predict", {}, (start) => predictProfile(postgres, load, plan, start))
    )
  if (only.includes("leaderboard"))
    // Kept for a second, hardly any of what a page costs would be seen.
    yield* Console.log(
      yield* profiled(folder, "leaderboard", plain, (start) =>
        leaderboardProfile(postgres, load, plan, start)
      )
    )
}, Effect.scoped)

const main = Effect.gen(function* () {
  const options = yield* Effect.try({
    try: () => Option.fromUndefinedOr(parseOptions(process.argv.slice(2))),
    catch: (error) => new BenchFailed({ message: error instanceof Error ? error.message : String(error) })
  })
  if (Option.isNone(options)) return yield* Console.log(help)
  const { profile: folder } = options.value
  return yield* folder === undefined ? bench(options.value) : profile(options.value, folder)
}).pipe(
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Console.error("bench: stopped")
    const error = Cause.squash(cause)
    return Console.error(`bench: ${error instanceof BenchFailed ? error.message : Cause.pretty(cause)}`)
  }),
  Effect.provide(NodeServices.layer)
)

NodeRuntime.runMain(main, { disableErrorReporting: true })

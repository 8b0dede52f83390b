/** The caller as the bench uses it: one job at a time, with the processor time that a call cost whom it called. */
import { Effect, Queue } from "effect"
import { BenchFailed, module_, remains } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import { usedByPostgres, usedByProcess } from "../machine/processors.ts"
import type { CallJob, CallOutcome, CallReport } from "./job.ts"

export interface CallMeasurement {
  readonly calls: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly first50: number
  readonly first99: number
  /** Microseconds of processor time a call. */
  readonly serverMicros: number | null
  readonly postgresMicros: number | null
}

const share = (from: number | null, to: number | null, calls: number): number | null =>
  from === null || to === null ? null : (to - from) / calls

/** A process that calls models, ended with the scope. */
export const caller = (postgres: number) =>
  Effect.gen(function* () {
    const { child } = yield* module_(new URL("./caller.ts", import.meta.url))
    const reports = yield* Queue.unbounded<CallReport>()
    child.on("message", (report: CallReport) => Queue.offerUnsafe(reports, report))
    yield* Queue.take(reports)

    return Effect.fnUntraced(function* (job: CallJob, server: Server) {
      const used = () => ({ server: usedByProcess(server.pid), postgres: usedByPostgres(postgres) })
      yield* Effect.sync(() => child.send(job))
      let [from, to] = [used(), used()]
      let outcome: CallOutcome | undefined
      while (outcome === undefined) {
        const report = yield* Queue.take(reports)
        if (report.is === "begun") from = used()
        if (report.is === "ended") to = used()
        if (report.is === "done") outcome = report.outcome
      }
      if (outcome.failure !== null) {
        return yield* new BenchFailed({ message: `a call failed: ${outcome.failure}\n${remains(server)}` })
      }
      const { calls, seconds } = outcome
      const measured: CallMeasurement = {
        ...outcome,
        perSecond: calls / seconds,
        serverMicros: share(from.server, to.server, calls),
        postgresMicros: share(from.postgres, to.postgres, calls)
      }
      return measured
    })
  })

export type Caller = Effect.Success<ReturnType<typeof caller>>

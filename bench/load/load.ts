/** The scenarios' view of the generator: one job at a time, with the processor time of the job. */
import { Effect, Queue } from "effect"
import { BenchFailed, module_, remains } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import { usedByPostgres, usedByProcess } from "../machine/processors.ts"
import type { Measurement } from "../measurement.ts"
import type { Job, Order, Outcome, Report } from "./job.ts"

export interface Measured extends Measurement {
  /** The number of sent requests, each of which was answered with the expected status. */
  readonly sent: number
}

const perRequest = (from: number | null, to: number | null, requests: number): number | null =>
  from === null || to === null ? null : (to - from) / requests

/** A process that generates load; the scope ends it. */
export const generator = (postgres: number) =>
  Effect.gen(function* () {
    const { child, written } = yield* module_(new URL("./generator.ts", import.meta.url))
    const reports = yield* Queue.unbounded<Report>()
    child.on("message", (report: Report) => Queue.offerUnsafe(reports, report))
    child.on("exit", () => Queue.offerUnsafe(reports, { is: "died" }))
    yield* Queue.take(reports)

    const order = (order: Order) => Effect.sync(() => child.send(order))
    const used = (server: Server) => ({
      server: usedByProcess(server.pid),
      postgres: usedByPostgres(postgres)
    })

    /** Runs a job against a server to its end; fails if a single request did. */
    const run = Effect.fnUntraced(function* (job: Job, server: Server) {
      yield* order({ do: "run", job })
      let [from, to] = [used(server), used(server)]
      let outcome: Outcome | undefined
      while (outcome === undefined) {
        const report = yield* Queue.take(reports)
        if (report.is === "begun") from = used(server)
        if (report.is === "ended") to = used(server)
        if (report.is === "died")
          return yield* new BenchFailed({ message: `the generator died: ${written()}` })
        if (report.is === "done") outcome = report.outcome
      }
      const { failures, firstByte, firstFailure, p50, p99, requests, seconds, sent } = outcome
      if (failures > 0) {
        return yield* new BenchFailed({
          message: `${failures} of ${sent} requests failed; the first: ${firstFailure ?? ""}\n${remains(server)}`
        })
      }
      const measured: Measured = {
        requests,
        perSecond: requests / seconds,
        p50,
        p99,
        firstByte,
        sent,
        serverMicros: perRequest(from.server, to.server, requests),
        postgresMicros: perRequest(from.postgres, to.postgres, requests)
      }
      return measured
    })

    return { run, stop: order({ do: "stop" }) }
  })

export type Generator = Effect.Success<ReturnType<typeof generator>>

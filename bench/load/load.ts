/** The generator as the bench uses it: one job at a time, with the processor time that the job cost. */
import { Effect, Queue } from "effect"
import { BenchFailed, module_, remains } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import { usedByPostgres, usedByProcess } from "../machine/processors.ts"
import type { Measurement } from "../measurement.ts"
import type { Job, Order, Outcome, Report } from "./job.ts"

export interface Measured extends Measurement {
  /** All that were sent, each of which has been answered as it must. */
  readonly sent: number
}

const difference = (from: number | null, to: number | null, requests: number): number | null =>
  from === null || to === null ? null : (to - from) / requests

/** A process that generates load, ended with the scope. */
export const generator = (postgres: number) =>
  Effect.gen(function* () {
    const { child, pid } = yield* module_(new URL("./generator.ts", import.meta.url))
    const reports = yield* Queue.unbounded<Report>()
    child.on("message", (report: Report) => Queue.offerUnsafe(reports, report))
    child.on("exit", () =>
      Queue.offerUnsafe(reports, {
        is: "done",
        outcome: {
          requests: 0,
          seconds: 0,
          mean: 0,
          p50: 0,
          p99: 0,
          longest: 0,
          sent: 0,
          failures: 1,
          firstFailure: "the generator ended"
        }
      })
    )
    yield* Queue.take(reports)

    const order = (order: Order) => Effect.sync(() => child.send(order))
    const used = (server: Server) => ({
      server: usedByProcess(server.pid),
      postgres: usedByPostgres(postgres),
      generator: usedByProcess(pid)
    })

    /** Runs a job against a server to its end; fails when a single request did. */
    const run = Effect.fnUntraced(function* (job: Job, server: Server) {
      yield* order({ do: "run", job })
      let [from, to] = [used(server), used(server)]
      let outcome: Outcome | undefined
      while (outcome === undefined) {
        const report = yield* Queue.take(reports)
        if (report.is === "begun") from = used(server)
        if (report.is === "ended") to = used(server)
        if (report.is === "done") outcome = report.outcome
      }
      if (outcome.failures > 0) {
        return yield* new BenchFailed({
          message: `${outcome.failures} of ${outcome.sent} requests failed; the first: ${outcome.firstFailure ?? ""}\n${remains(server)}`
        })
      }
      const { longest, mean, p50, p99, requests, seconds, sent } = outcome
      const measured: Measured = {
        requests,
        perSecond: requests / seconds,
        mean,
        p50,
        p99,
        longest,
        sent,
        serverMicros: difference(from.server, to.server, requests),
        postgresMicros: difference(from.postgres, to.postgres, requests),
        generatorMicros: difference(from.generator, to.generator, requests)
      }
      return measured
    })

    return { run, stop: order({ do: "stop" }) }
  })

export type Generator = Effect.Success<ReturnType<typeof generator>>

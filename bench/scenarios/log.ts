/**
 * What the public log adds to the processor time of a prediction. One server has the role `api` and records; another also
 * has the role `jobs` and is stopped meanwhile (SIGSTOP). Then it goes on, and sequences what was recorded, hashes it into the
 * tree and signs checkpoints. Counted are both servers and PostgreSQL. The insert of an entry is part of the statement that
 * records; the other jobs, which have nothing to do here, count as the log's.
 */
import { Console, Effect, Schedule } from "effect"
import { logPaths } from "../../src/http/routes.ts"
import * as Database from "../machine/database.ts"
import { BenchFailed, auspex } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import { usedByPostgres, usedByProcess } from "../machine/processors.ts"
import type { Bench } from "../main.ts"
import { median } from "../measurement.ts"
import { fixed } from "../report.ts"
import type { Result } from "../report.ts"
import * as Seed from "../seed.ts"
import { spreadChallenges } from "../world.ts"

const connections = 64
const challenges = { first: 0, count: spreadChallenges }
/** Longer than elsewhere, so that what waits for the log is many times what it takes in one pass. */
const secondsARound = 4

/** The size that the newest checkpoint states on its second line; 0 before the first. */
const logSize = (server: Server) =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}${logPaths.checkpoint}`)
    return response.status === 200 ? Number((await response.text()).split("\n")[1]) : 0
  })

/** Waits until a checkpoint covers so many entries. */
const covered = (server: Server, entries: number) =>
  logSize(server).pipe(
    Effect.repeat({ until: (size) => size >= entries, schedule: Schedule.spaced("250 millis") }),
    Effect.timeoutOrElse({
      duration: "60 seconds",
      orElse: () => new BenchFailed({ message: "the log did not catch up within a minute" })
    })
  )

/** Waits until the log has taken in the entries of the seeded agents; answers its size then. */
const seeded = Effect.fnUntraced(function* (server: Server) {
  let [before, size] = [-1, 0]
  while (size === 0 || size !== before) {
    before = size
    yield* Effect.sleep("3 seconds")
    size = yield* logSize(server)
  }
  return size
})

/** Microseconds of processor time a prediction. */
interface Cost {
  readonly server: number
  readonly postgres: number
}

const total = ({ postgres, server }: Cost) => server + postgres

export const log = Effect.fnUntraced(function* ({ load, postgres, sizes }: Bench) {
  const url = yield* Database.create(postgres, "bench_log")
  yield* Seed.predictWorld.pipe(Effect.provide(Database.seeding(url)))
  const api = yield* auspex(url)
  const jobs = yield* auspex(url, { AUSPEX_ROLES: "api,jobs" })
  const first = yield* seeded(api)
  let confirmed = 0

  /** What the effect costs this server and PostgreSQL for each of the predictions that it answers. */
  const costOf = Effect.fnUntraced(function* <E, R>(server: Server, effect: Effect.Effect<number, E, R>) {
    const used = () => [usedByProcess(server.pid), usedByPostgres(postgres.pid)] as const
    const [serverFrom, postgresFrom] = used()
    const count = yield* effect
    const [serverTo, postgresTo] = used()
    if (serverFrom === null || postgresFrom === null || serverTo === null || postgresTo === null) {
      return yield* new BenchFailed({
        message: "processor times are read from /proc, which this system lacks"
      })
    }
    const cost: Cost = {
      server: (serverTo - serverFrom) / count,
      postgres: (postgresTo - postgresFrom) / count
    }
    return cost
  })

  const round = Effect.fnUntraced(function* (seconds: number) {
    const requests = { kind: "predict", challenges, from: confirmed } as const
    const job = { port: api.port, connections, rampSeconds: 0.1, seconds, requests, rate: null }
    process.kill(jobs.pid, "SIGSTOP")
    let sent = 0
    const recording = load.run(job, api).pipe(Effect.map((measured) => (sent = measured.sent)))
    const recorded = yield* costOf(api, recording).pipe(
      Effect.ensuring(Effect.sync(() => process.kill(jobs.pid, "SIGCONT")))
    )
    confirmed += sent
    const logged = yield* costOf(jobs, Effect.as(covered(api, first + confirmed), sent))
    return { recorded, logged }
  })

  yield* round(sizes.warmSeconds)
  const rounds: Array<{ readonly recorded: Cost; readonly logged: Cost }> = []
  for (let number = 1; number <= sizes.rounds; number++) {
    const { logged, recorded } = yield* round(secondsARound)
    rounds.push({ recorded, logged })
    yield* Console.log(
      `  log, round ${number}: ${fixed(total(recorded), 0)} us to record a prediction, ${fixed(total(logged), 1)} us to log it`
    )
  }
  const row = (name: string, costs: ReadonlyArray<Cost>) => [
    name,
    fixed(median(costs.map(({ server }) => server)), 1),
    fixed(median(costs.map((cost) => cost.postgres)), 1)
  ]
  const share = median(
    rounds.map(({ logged, recorded }) => total(logged) / (total(recorded) + total(logged)))
  )
  const result: Result = {
    scenario: "log",
    tables: [
      [
        ["CPU us a prediction", "server", "postgres"],
        row(
          "recorded",
          rounds.map(({ recorded }) => recorded)
        ),
        row(
          "logged",
          rounds.map(({ logged }) => logged)
        )
      ]
    ],
    aims: [{ what: "log: share of a prediction's processor time", ratio: share, bound: "at most", aim: 0.1 }],
    remarks: [],
    measured: rounds
  }
  return result
}, Effect.scoped)

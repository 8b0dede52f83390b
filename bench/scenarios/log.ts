/**
 * Measures the processor time that the public log adds to a prediction. One server has the role `api` and records; another also has the
 * role `jobs` and is stopped meanwhile (SIGSTOP). Then it continues: it sequences the recorded entries, hashes them into the tree and
 * signs checkpoints. The measurement counts both servers and PostgreSQL. The insert of an entry is part of the recording statement; the
 * other jobs, which have no work here, count as the log's.
 */
import { Console, Effect, Schedule } from "effect"
import { logPaths } from "../../src/http/routes.ts"
import * as Database from "../machine/database.ts"
import { BenchFailed, auspex } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import { usedByPostgres, usedByProcess } from "../machine/processors.ts"
import type { Bench } from "../main.ts"
import { median } from "../measurement.ts"
import { atMost, fixed } from "../report.ts"
import type { Result } from "../report.ts"
import * as Seed from "../seed.ts"
import { spreadChallenges } from "../world.ts"

const connections = 64
const challenges = { first: 0, count: spreadChallenges }
/** The time is longer than elsewhere, so that the waiting entries are many times those of one pass. */
const secondsARound = 4

/** The size in the newest checkpoint, on its second line; 0 before the first. */
const logSize = (server: Server) =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}${logPaths.checkpoint}`)
    return response.status === 200 ? Number((await response.text()).split("\n")[1]) : 0
  })

/** Waits until a checkpoint covers this many entries. */
const covered = (server: Server, entries: number) =>
  logSize(server).pipe(
    Effect.repeat({ until: (size) => size >= entries, schedule: Schedule.spaced("250 millis") }),
    Effect.timeoutOrElse({
      duration: "60 seconds",
      orElse: () => new BenchFailed({ message: "the log did not catch up within a minute" })
    })
  )

/** Waits until the log contains the entries of the seeded agents; the result is its size then. */
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

  const used = (): Cost => ({
    server: usedByProcess(jobs.pid) ?? Number.NaN,
    postgres: usedByPostgres(postgres.pid) ?? Number.NaN
  })

  const round = Effect.fnUntraced(function* (seconds: number) {
    const requests = { kind: "predict", challenges, from: confirmed, size: 1 } as const
    const job = { port: api.port, connections, rampSeconds: 0.1, seconds, requests, rate: null }
    process.kill(jobs.pid, "SIGSTOP")
    const { postgresMicros, sent, serverMicros } = yield* load
      .run(job, api)
      .pipe(Effect.ensuring(Effect.sync(() => process.kill(jobs.pid, "SIGCONT"))))
    confirmed += sent
    const from = used()
    yield* covered(api, first + confirmed)
    const to = used()
    const recorded: Cost = { server: serverMicros ?? Number.NaN, postgres: postgresMicros ?? Number.NaN }
    const logged: Cost = {
      server: (to.server - from.server) / sent,
      postgres: (to.postgres - from.postgres) / sent
    }
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
  const row = (name: "recorded" | "logged") => [
    name,
    fixed(median(rounds.map((each) => each[name].server)), 1),
    fixed(median(rounds.map((each) => each[name].postgres)), 1)
  ]
  const share = median(
    rounds.map(({ logged, recorded }) => total(logged) / (total(recorded) + total(logged)))
  )
  const result: Result = {
    scenario: "log",
    tables: [[["CPU us a prediction", "server", "postgres"], row("recorded"), row("logged")]],
    aims: [atMost(0.1, "log: share of a prediction's processor time", share)],
    remarks: [],
    measured: rounds
  }
  return result
}, Effect.scoped)

/** What the public log costs: predicting with it and without it in turn, in one process, and how fast what waits is sequenced. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Console, Duration, Effect, Redacted, Schedule, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { makeSequence } from "../../src/layers/postgres/log/sequencer.ts"
import { client } from "../../src/layers/postgres/Database.ts"
import type { Generator } from "../load/load.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { BenchFailed, auspex } from "../machine/processes.ts"
import { usedByPostgres } from "../machine/processors.ts"
import { median, medians } from "../measurement.ts"
import type { Measurement } from "../measurement.ts"
import type { Plan } from "../options.ts"
import * as Seed from "../seed.ts"
import { agentPrefix, challengePrefix, epochMillis, reasoning, spreadChallenges, uuidText } from "../world.ts"

const connections = 64
/**
 * Turns are short and many: what a machine is capable of drifts by more than the log costs within the minute, and two
 * turns that follow each other see about the same of it.
 */
const turnSeconds = 2
const turnRampSeconds = 0.5
const pairsPerRound = 3
/** Until a signal has arrived. */
const switching = Duration.millis(100)
const turns = ["on", "off"] as const
type Turn = (typeof turns)[number]

export interface LogCase {
  readonly load: string
  readonly rounds: Readonly<Record<Turn, ReadonlyArray<Measurement>>>
}

export interface Sequenced {
  readonly entries: number
  readonly perSecond: number
  /** Microseconds of processor time an entry. */
  readonly sequencerMicros: number
  readonly postgresMicros: number | null
}

export interface Logged {
  readonly cases: ReadonlyArray<LogCase>
  /** Seconds from the last request of a round at full load until everything had its index. */
  readonly caughtUpSeconds: number
  readonly sequenced: Sequenced
}

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "auspex-bench-log-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** Waits until nothing waits for its index; the seconds that it took. */
const emptied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const from = epochMillis()
  const isEmpty = Effect.map(sql`select 1 from log_waiting limit 1`, (rows) => rows.length === 0)
  yield* isEmpty.pipe(Effect.repeat({ until: (empty) => empty, schedule: Schedule.spaced("50 millis") }))
  return (epochMillis() - from) / 1000
})

/** Predictions of their own, as the service leaves them to the sequencer. */
const queue = Effect.fnUntraced(function* (entries: number) {
  const sql = yield* SqlClient.SqlClient
  yield* Seed.predictWorld
  yield* sql`
    insert into predictions
      (challenge_id, agent_id, revision, id, direction, confidence, reasoning, received_at, deadline, salt, body, commit,
       entry, queue_id)
    select c.id, a.id, 0, uuidv7(), 'bullish', 0.7, ${reasoning}, c.created_at, c.deadline, salt, body, commit,
           log_commit_entry(c.id, commit), nextval('log_pending_id_seq')
      from generate_series(0, ${entries - 1}::int) as n
     cross join lateral (
       select sha256(int4send(n)) as salt, convert_to(repeat('{"bench":"body"}', 20) || n, 'UTF8') as body) as s
     cross join lateral (
       select sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body) as commit) as k
      join challenges c on c.id = ${sql.literal(uuidText(challengePrefix, `n % ${spreadChallenges}`))}::uuid
      join agents a on a.id = ${sql.literal(uuidText(agentPrefix, `n / ${spreadChallenges}`))}::uuid
     order by n`
  yield* sql`vacuum (analyze) predictions`
})

/** The sequencer of the service, in this process, on a database that does nothing else. */
const sequencing = Effect.fnUntraced(function* (postgres: Postgres, url: string, entries: number) {
  yield* queue(entries).pipe(Effect.provide(Database.patient(url)))
  return yield* Effect.gen(function* () {
    const { sequence } = yield* makeSequence
    const before = { at: epochMillis(), own: process.cpuUsage(), postgres: usedByPostgres(postgres.pid) }
    let done = 0
    for (let passed = yield* sequence; passed > 0; passed = yield* sequence) done += passed
    if (done !== entries) {
      return yield* new BenchFailed({ message: `${entries} entries waited and ${done} were sequenced` })
    }
    const seconds = (epochMillis() - before.at) / 1000
    const own = process.cpuUsage(before.own)
    const after = usedByPostgres(postgres.pid)
    const sequenced: Sequenced = {
      entries,
      perSecond: entries / seconds,
      sequencerMicros: (own.user + own.system) / entries,
      postgresMicros: before.postgres === null || after === null ? null : (after - before.postgres) / entries
    }
    return sequenced
  }).pipe(Effect.provide(client(Redacted.make(url))))
})

/** As many entries in the log as predictions that were recorded with it, each of a prediction. */
const verified = Effect.fnUntraced(function* (expected: number) {
  const counts = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ logged: Schema.Int }),
    execute: () =>
      SqlClient.SqlClient.use(
        (sql) => sql`
          select ((select count(*) from log_entries e
                     join predictions p on p.commit = e.commit where e.type = 'prediction.commit')
                  + (select count(*) from log_runs r
                      cross join lateral unnest(r.ids) as part
                       join predictions p on p.queue_id >= lower(part) and p.queue_id < upper(part)))::int as logged`
      )
  })
  const { logged } = yield* counts()
  if (logged !== expected) {
    return yield* new BenchFailed({
      message: `${expected} predictions were confirmed with the log on, and ${logged} are in it`
    })
  }
})

export const log = Effect.fnUntraced(function* (postgres: Postgres, generator: Generator, plan: Plan) {
  const url = yield* Database.create(postgres, "bench_log")
  yield* Seed.predictWorld.pipe(Effect.provide(Database.patient(url)))
  const roles = { AUSPEX_ROLES: "api,jobs", AUSPEX_DATA_DIR: yield* temporary }
  const server = yield* auspex(url, ["--import", "./bench/log/switch.ts"], roles)
  const { rounds, warmSeconds } = plan
  let first = 0
  let confirmed = 0
  let switched: Turn = "on"
  const serve = Effect.fnUntraced(function* (turn: Turn, rate: number | null, counted: number) {
    if (switched !== turn) {
      process.kill(server.pid, "SIGUSR2")
      switched = turn
      yield* Effect.sleep(switching)
    }
    const requests = { kind: "predict", pairs: { kind: "spread" }, first } as const
    const job = {
      port: server.port,
      connections,
      rampSeconds: turnRampSeconds,
      seconds: counted,
      requests,
      rate
    }
    const measured = yield* generator.run(job, server)
    first += measured.sent
    if (turn === "on") confirmed += measured.sent
    return measured
  })

  /** One after the other, each first in every second pair of turns; what is still to be sequenced is waited for, not measured. */
  const inTurn = Effect.fnUntraced(function* (load: string, rate: number | null) {
    const measured: Record<Turn, Array<Measurement>> = { on: [], off: [] }
    const waits: Array<number> = []
    for (let round = 1; round <= rounds; round++) {
      for (let pair = 1; pair <= pairsPerRound; pair++) {
        for (const turn of (round * pairsPerRound + pair) % 2 === 1 ? turns : turns.toReversed()) {
          measured[turn].push(yield* serve(turn, rate, turnSeconds))
          if (turn === "on") waits.push(yield* emptied)
          // Whoever comes next begins after a pause as long, whose turn it was before.
          else yield* Effect.sleep(Duration.seconds(waits.at(-1) ?? 0))
        }
      }
      const said = turns.map((turn) => {
        const { mean, p50, perSecond } = medians(measured[turn].slice(-pairsPerRound))
        return `${turn} ${perSecond.toFixed(0)}/s mean ${mean.toFixed(2)} p50 ${p50.toFixed(2)} ms`
      })
      yield* Console.log(`  log, ${load}, round ${round}: ${said.join("; ")}`)
    }
    const result: LogCase = { load, rounds: measured }
    return { result, waits }
  })

  return yield* Effect.gen(function* () {
    for (const turn of turns.toReversed()) yield* serve(turn, null, warmSeconds)
    yield* emptied
    const full = yield* inTurn("full load", null)
    const capacity = median(full.result.rounds.off.map(({ perSecond }) => perSecond))
    const paced = Effect.fnUntraced(function* (share: number) {
      const rate = Math.round((capacity * share) / 100) * 100
      return (yield* inTurn(`${rate}/s`, rate)).result
    })
    const cases = [yield* paced(0.1), yield* paced(0.25), full.result]
    yield* verified(confirmed)
    const other = yield* Database.create(postgres, "bench_sequence")
    const sequenced = yield* sequencing(postgres, other, plan.sequenced)
    const logged: Logged = {
      cases,
      caughtUpSeconds: median(full.waits),
      sequenced
    }
    return logged
  }).pipe(Effect.provide(Database.patient(url)))
}, Effect.scoped)

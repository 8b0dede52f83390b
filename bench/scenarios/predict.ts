/** POST /eval/challenges/{id}/predict: the service, Fastify + pg, and the statement alone by pgbench, on one database. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { planCacheMode } from "../../src/layers/postgres/Database.ts"
import * as Pgbench from "../load/pgbench.ts"
import * as Database from "../machine/database.ts"
import { BenchFailed, auspex, listening } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Bench } from "../main.ts"
import { inTurn, ratio } from "../measurement.ts"
import type { Case } from "../measurement.ts"
import { casesTable } from "../report.ts"
import type { Aim, Result } from "../report.ts"
import * as Seed from "../seed.ts"
import { pgbenchScript, recordPrediction } from "../statements.ts"
import { agentCount, agentStride, spreadChallenges } from "../world.ts"
import type { FastifyOptions } from "../yardsticks/fastify.ts"

/** `spread` is 1 024 open challenges, `hot` is everybody on one. */
const loads = ["spread", "hot"] as const
type Load = (typeof loads)[number]

const connections = 64

/** Fresh pairs for every round of every contender. */
const freshPairs = () => {
  let nextSpread = 0
  let nextHot = spreadChallenges
  return {
    take: (load: Load) =>
      load === "spread"
        ? { challenges: { first: 0, count: spreadChallenges }, from: nextSpread }
        : { challenges: { first: nextHot++, count: 1 }, from: 0 },
    used: (load: Load, count: number) => {
      if (load === "spread") nextSpread += count
    }
  }
}

/** `pairAt` in the language of pgbench. */
const pairScript = [
  "\\set turn :turn + 1",
  "\\set index :start + :turn * :clients + :client_id",
  "\\set challenge :first + :index % :count",
  `\\set agent (:index / :count + :challenge * ${agentStride}) % ${agentCount}`
]

/** Every request that was answered 201 is stored and counted exactly once. */
const verified = Effect.fnUntraced(function* (expected: number) {
  const sql = yield* SqlClient.SqlClient
  const counts = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ stored: Schema.Int, counted: Schema.Int }),
    execute: () => sql`
      select (select count(*) from predictions)::int as stored,
             (select sum(bullish + bearish + neutral) from prediction_counts)::int as counted`
  })
  const { counted, stored } = yield* counts()
  if (stored !== expected || counted !== expected) {
    return yield* new BenchFailed({
      message: `${expected} predictions were confirmed, but ${stored} are stored and ${counted} counted`
    })
  }
})

const aimsOf = ({ load, rounds: { auspex, fastify, pgbench } }: Case): ReadonlyArray<Aim> => {
  const what = `predict ${load}:`
  const perSecond = (others: typeof auspex) => ratio(auspex, others, "perSecond")
  return [
    { what: `${what} requests/s to Fastify + pg`, ratio: perSecond(fastify), bound: "at least", aim: 1.8 },
    { what: `${what} requests/s to pgbench`, ratio: perSecond(pgbench), bound: "at least", aim: 0.9 },
    {
      what: `${what} p99 to Fastify + pg`,
      ratio: ratio(auspex, fastify, "p99"),
      bound: "at most",
      aim: 1
    }
  ]
}

export const predict = Effect.fnUntraced(function* ({ load: generator, postgres, sizes }: Bench) {
  const url = yield* Database.create(postgres, "bench_predict")
  yield* Seed.predictWorld.pipe(Effect.provide(Database.seeding(url)))
  const statement = yield* recordPrediction(url)
  const options: FastifyOptions = { databaseUrl: url, planCacheMode, statement }
  const servers = {
    auspex: yield* auspex(url),
    fastify: yield* listening(new URL("../yardsticks/fastify.ts", import.meta.url), { message: options })
  }
  const pgbench = Pgbench.find()
  const fresh = freshPairs()
  const { rampSeconds, rounds, seconds, warmSeconds } = sizes
  // The sample that was recorded.
  let confirmed = 1

  const serve = (server: Server, load: Load, counted = seconds) =>
    Effect.gen(function* () {
      const requests = { kind: "predict", ...fresh.take(load) } as const
      const job = { port: server.port, connections, rampSeconds, seconds: counted, requests, rate: null }
      const measured = yield* generator.run(job, server)
      fresh.used(load, measured.sent)
      confirmed += measured.sent
      return measured
    })

  const alone = (path: string, load: Load) =>
    Effect.gen(function* () {
      const { challenges, from } = fresh.take(load)
      const { measurement, sent } = yield* Pgbench.run({
        path,
        databaseUrl: url,
        script: pgbenchScript(statement, pairScript),
        variables: { turn: -1, clients: connections, start: from, ...challenges },
        connections,
        seconds: seconds + rampSeconds
      })
      // No session has done more transactions than all of them together.
      fresh.used(load, (sent + 1) * connections)
      confirmed += sent
      return measurement
    })

  for (const server of Object.values(servers)) yield* serve(server, "spread", warmSeconds)
  const cases: Array<Case> = []
  for (const load of loads) {
    cases.push(
      yield* inTurn(load, connections, rounds, {
        auspex: serve(servers.auspex, load),
        fastify: serve(servers.fastify, load),
        ...(pgbench !== undefined && { pgbench: alone(pgbench, load) })
      })
    )
  }
  yield* verified(confirmed).pipe(Effect.provide(Database.seeding(url)))
  const result: Result = {
    scenario: "predict",
    tables: [casesTable(cases)],
    aims: cases.flatMap(aimsOf),
    remarks: [
      `${confirmed} confirmed predictions, all stored and counted once`,
      ...(pgbench === undefined ? ["pgbench is left out: none was found"] : [])
    ],
    measured: cases
  }
  return result
}, Effect.scoped)

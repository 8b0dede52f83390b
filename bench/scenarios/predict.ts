/** POST /eval/challenges/{id}/predict: the service, Fastify + pg, and the statement alone with pgbench, on one database. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { planCacheMode } from "../../src/layers/postgres/Database.ts"
import type { Requests } from "../load/job.ts"
import * as Pgbench from "../load/pgbench.ts"
import * as Database from "../machine/database.ts"
import { BenchFailed, auspex, listening } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Bench } from "../main.ts"
import { inTurn, ratio } from "../measurement.ts"
import type { Case } from "../measurement.ts"
import { atLeast, atMost, casesTable } from "../report.ts"
import type { Aim, Result } from "../report.ts"
import * as Seed from "../seed.ts"
import { pgbenchScript, recordPrediction } from "../statements.ts"
import { agentCount, agentStride, hotChallenges, spreadChallenges } from "../world.ts"
import type { FastifyOptions } from "../yardsticks/fastify.ts"

/** `spread` has 1 024 open challenges; in `hot` everybody predicts one. */
const loads = ["spread", "hot"] as const
type Load = (typeof loads)[number]

const connections = 64

/** The predictions of one agent in a request; each batch has its own challenges. */
const batchSize = 20
const batches = { first: 0, count: Math.floor(spreadChallenges / batchSize) }

const firstPast = spreadChallenges + hotChallenges + 1

/** Each round of each contender gets fresh pairs. */
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

/** `pairAt` in pgbench's language. */
const pairScript = [
  "\\set turn :turn + 1",
  "\\set index :start + :turn * :clients + :client_id",
  "\\set challenge :first + :index % :count",
  `\\set agent (:index / :count + :challenge * ${agentStride}) % ${agentCount}`
]

/** Checks that every confirmed prediction is stored and counted exactly once. */
const verified = Effect.fnUntraced(function* (expected: number) {
  const sql = yield* SqlClient.SqlClient
  const [found = []] = yield* sql`
    select (select count(*) from predictions)::int, (select sum(bullish + bearish + neutral) from prediction_counts)::int`
    .values
  if (found.some((count) => count !== expected)) {
    return yield* new BenchFailed({
      message: `${expected} predictions were confirmed, but ${found.join(" are stored and ")} counted`
    })
  }
})

const aimsOf = ({ load, rounds: { auspex, fastify, pgbench } }: Case): ReadonlyArray<Aim> => {
  const what = `predict ${load}:`
  return [
    atLeast(1.8, `${what} requests/s to Fastify + pg`, ratio(auspex, fastify, "perSecond")),
    atLeast(0.9, `${what} requests/s to pgbench`, ratio(auspex, pgbench, "perSecond")),
    atMost(1, `${what} p99 to Fastify + pg`, ratio(auspex, fastify, "p99"))
  ]
}

export const predict = Effect.fnUntraced(function* ({ load: generator, postgres, sizes }: Bench) {
  const url = yield* Database.create(postgres, "bench_predict")
  yield* Effect.andThen(Seed.predictWorld, Seed.leaderboard).pipe(Effect.provide(Database.seeding(url)))
  const statement = yield* recordPrediction(url)
  const options: FastifyOptions = { databaseUrl: url, planCacheMode, statement }
  const servers = {
    auspex: yield* auspex(url),
    fastify: yield* listening(new URL("../yardsticks/fastify.ts", import.meta.url), { message: options })
  }
  const pgbench = Pgbench.find()
  const fresh = freshPairs()
  const { past, rampSeconds, rounds, seconds, warmSeconds } = sizes
  // The recorded sample counts.
  let confirmed = 1

  const ask = (server: Server, requests: Requests, counted = seconds) =>
    generator.run(
      { port: server.port, connections, rampSeconds, seconds: counted, requests, rate: null },
      server
    )

  const serve = (server: Server, load: Load, counted = seconds) =>
    Effect.gen(function* () {
      const measured = yield* ask(server, { kind: "predict", size: 1, ...fresh.take(load) }, counted)
      fresh.used(load, measured.sent)
      confirmed += measured.sent
      return measured
    })

  // Batches use agents that single predictions do not reach.
  let nextBatch = batches.count * (agentCount / 2)
  const batched = Effect.gen(function* () {
    const batch = { kind: "predict", challenges: batches, from: nextBatch, size: batchSize } as const
    const measured = yield* ask(servers.auspex, batch)
    nextBatch += measured.sent
    confirmed += measured.sent * batchSize
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
      // No session has made more transactions than all of them together.
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
  // Batches run apart from the loads, whose next rounds would pay for the batches' pending writes.
  const batching = yield* inTurn("batches", connections, rounds, {
    single: serve(servers.auspex, "spread"),
    batched
  })
  yield* verified(confirmed).pipe(Effect.provide(Database.seeding(url)))
  // Without a cache, each page is made anew for every request.
  const uncached = yield* auspex(url, { AUSPEX_PUBLIC_CACHE: "off" })
  const read = (path: string, counted = seconds) => ask(uncached, { kind: "read", path }, counted)
  const pages = { open: "/api/v1/eval/open", leaderboard: "/api/v1/eval/leaderboard" }
  for (const path of Object.values(pages)) yield* read(path, warmSeconds)
  const reads = yield* inTurn("pages", connections, rounds, {
    open: read(pages.open),
    leaderboard: read(pages.leaderboard)
  })
  yield* Seed.pastChallenges(firstPast, past).pipe(Effect.provide(Database.seeding(url)))
  const beside = yield* inTurn("pages, later", connections, rounds, { open: read(pages.open) })
  const { leaderboard, open } = reads.rounds
  const { batched: inBatches, single } = batching.rounds
  const perRequest = ratio(inBatches, single, "perSecond")
  const result: Result = {
    scenario: "predict",
    tables: [casesTable([...cases, batching, reads, beside])],
    aims: [
      ...cases.flatMap(aimsOf),
      atLeast(
        2.5,
        `predictions/s in batches of ${batchSize} to single ones`,
        perRequest === null ? null : perRequest * batchSize
      ),
      atMost(1.3, "a page of open questions, to the leaderboard's", ratio(leaderboard, open, "perSecond")),
      atMost(1.1, `its p99 beside ${past} past ones, to that without`, ratio(beside.rounds.open, open, "p99"))
    ],
    remarks: [
      `${confirmed} confirmed predictions, all stored and counted once`,
      ...(pgbench === undefined ? ["pgbench is left out: none was found"] : [])
    ],
    measured: [...cases, batching, reads, beside]
  }
  return result
}, Effect.scoped)

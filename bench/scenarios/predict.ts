/** POST /eval/challenges/{id}/predict: the service, Fastify + pg, and the insert alone by pgbench, on one database. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { baseline } from "../baseline/start.ts"
import type { Generator } from "../load/load.ts"
import * as Pgbench from "../load/pgbench.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { BenchFailed, auspex, plain } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Plan } from "../options.ts"
import * as Seed from "../seed.ts"
import { predictionScript } from "../statements/pgbench.ts"
import { predict as recordPredict } from "../statements/record.ts"
import type { PredictStatements, Recorded } from "../statements/record.ts"
import { keyPattern, limitRoles, predictionRoles, typedText } from "../statements/roles.ts"
import { agentCount, busyAgents, hotChallenges, spreadChallenges, spreadStride } from "../world.ts"
import type { Pairs } from "../world.ts"
import type { Case } from "./rounds.ts"
import { inTurn } from "./rounds.ts"

/** More than any contender uses up in a round. */
const challengesARound = 2

const pick = (what: string, statements: ReadonlyArray<Recorded>, holding: string) => {
  const found = statements.find(({ text }) => text.includes(holding))
  return found === undefined
    ? Effect.fail(new BenchFailed({ message: `the service sent no statement for ${what}` }))
    : Effect.succeed(found)
}

/** Fastify + pg with the statements that the service sent. */
const yardstick = Effect.fnUntraced(function* (databaseUrl: string, statements: PredictStatements) {
  const { limit, prediction, standing } = statements
  const insert = yield* pick("a prediction", prediction.sent, "insert into predictions")
  const [counting] = limit.sent
  return yield* baseline({
    databaseUrl,
    standing: standing.sent.map(typedText).at(0) ?? null,
    limit:
      counting === undefined
        ? null
        : {
            statement: yield* limitRoles(counting, limit.result),
            keyPattern: keyPattern(counting, limit.result)
          },
    prediction: yield* predictionRoles(insert, prediction.result),
    page: null
  })
})

/** Fresh pairs for every round, whoever needs them. */
const freshPairs = () => {
  let nextSpread = 0
  let nextHot = spreadChallenges
  return {
    spread: {
      pairs: { kind: "spread" } as const,
      from: () => nextSpread,
      used: (count: number) => (nextSpread += count)
    },
    hot: (): Effect.Effect<Pairs & { kind: "hot" }, BenchFailed> => {
      const first = nextHot
      nextHot += challengesARound
      return nextHot > spreadChallenges + hotChallenges
        ? Effect.fail(new BenchFailed({ message: "no fresh hot challenge is left: fewer rounds, please" }))
        : Effect.succeed({
            kind: "hot",
            challenges: Array.from({ length: challengesARound }, (_, index) => first + index)
          })
    }
  }
}

const index = ["\\set turn :turn + 1", "\\set index :first + :turn * :clients + :client_id"]

const scripts = {
  spread: [
    ...index,
    `\\set challenge :index % ${spreadChallenges}`,
    `\\set pass :index / ${spreadChallenges}`,
    `\\set agent :pass - :pass % ${busyAgents} + (:pass + :challenge * ${spreadStride}) % ${busyAgents}`
  ],
  hot: [...index, `\\set challenge :hot + :index / ${agentCount}`, `\\set agent :index % ${agentCount}`]
} as const

/** Every request that was answered 201 stands in the database, exactly once. */
const verified = Effect.fnUntraced(function* (expected: number) {
  const sql = yield* SqlClient.SqlClient
  const counts = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ written: Schema.Int, counted: Schema.Int }),
    execute: () => sql`
      select (select count(*) from predictions)::int as written,
             (select sum(bullish + bearish + neutral) from prediction_counts)::int as counted`
  })
  const { counted, written } = yield* counts()
  if (written !== expected || counted !== expected) {
    return yield* new BenchFailed({
      message: `${expected} predictions were confirmed, but ${written} are stored and ${counted} counted`
    })
  }
})

/** The servers on a seeded database. */
const prepare = Effect.fnUntraced(function* (postgres: Postgres, name: string) {
  const url = yield* Database.create(postgres, name)
  yield* Seed.predictWorld.pipe(Effect.provide(Database.patient(url)))
  return url
})

export const predict = Effect.fnUntraced(function* (
  postgres: Postgres,
  generator: Generator,
  plan: Plan,
  pgbench: string | undefined
) {
  const url = yield* prepare(postgres, "bench_predict")
  const statements = yield* recordPredict(url)
  const servers = {
    auspex: yield* auspex(url),
    plain: yield* auspex(url, [], plain),
    fastify: yield* yardstick(url, statements)
  }
  const insert = yield* pick("a prediction", statements.prediction.sent, "insert into predictions")
  const { hot, spread } = freshPairs()
  const { rampSeconds, seconds } = plan
  // The sample that was recorded.
  let confirmed = 1

  const serve = (server: Server, kind: keyof typeof scripts, connections: number, counted = seconds) =>
    Effect.gen(function* () {
      const pairs = kind === "spread" ? spread.pairs : yield* hot()
      const first = kind === "spread" ? spread.from() : 0
      const requests = { kind: "predict", pairs, first } as const
      const job = { port: server.port, connections, rampSeconds, seconds: counted, requests, rate: null }
      const measured = yield* generator.run(job, server)
      if (kind === "spread") spread.used(measured.sent)
      confirmed += measured.sent
      return measured
    })

  const alone = (path: string, kind: keyof typeof scripts, connections: number) =>
    Effect.gen(function* () {
      const pairs = kind === "spread" ? spread.pairs : yield* hot()
      const first = pairs.kind === "hot" ? (pairs.challenges[0] ?? 0) : 0
      const { furthest, measurement, sent } = yield* Pgbench.run({
        path,
        databaseUrl: url,
        postgres: postgres.pid,
        script: predictionScript(insert, statements.prediction.result, scripts[kind]),
        variables: {
          turn: -1,
          clients: connections,
          first: kind === "spread" ? spread.from() : 0,
          hot: first
        },
        connections,
        rampSeconds,
        seconds
      })
      if (kind === "spread") spread.used(furthest * connections)
      confirmed += sent
      return measurement
    })

  for (const server of Object.values(servers)) yield* serve(server, "spread", 64, plan.warmSeconds)

  const cases: Array<Case> = []
  for (const kind of ["spread", "hot"] as const) {
    for (const connections of plan.connections) {
      cases.push(
        yield* inTurn("predict", kind, connections, plan.rounds, {
          auspex: serve(servers.auspex, kind, connections),
          plain: serve(servers.plain, kind, connections),
          fastify: serve(servers.fastify, kind, connections),
          ...(pgbench !== undefined && { pgbench: alone(pgbench, kind, connections) })
        })
      )
    }
  }
  yield* verified(confirmed).pipe(Effect.provide(Database.patient(url)))
  const sent = [statements.standing, statements.limit, statements.prediction].map((part) => part.sent.length)
  return { cases, confirmed, statementsARequest: sent.reduce((sum, count) => sum + count, 0) }
}, Effect.scoped)

/** Load for a profile: the server runs with these arguments and is ended by the caller. */
export const predictProfile = Effect.fnUntraced(function* (
  postgres: Postgres,
  generator: Generator,
  plan: Plan,
  start: (url: string) => ReturnType<typeof auspex>
) {
  const url = yield* prepare(postgres, "profile_predict")
  const server = yield* start(url)
  const requests = (first: number) => ({ kind: "predict", pairs: { kind: "spread" }, first }) as const
  const job = { port: server.port, connections: 64, rampSeconds: plan.rampSeconds, rate: null }
  const warm = yield* generator.run({ ...job, seconds: plan.warmSeconds, requests: requests(0) }, server)
  const measured = yield* generator.run(
    { ...job, seconds: plan.seconds * 2, requests: requests(warm.sent) },
    server
  )
  return { server, measured }
})

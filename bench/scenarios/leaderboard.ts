/** GET /eval/leaderboard, first page of 50 among 100 000 agents. */
import { Effect } from "effect"
import { baseline } from "../baseline/start.ts"
import type { Generator } from "../load/load.ts"
import * as Pgbench from "../load/pgbench.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { BenchFailed, auspex, plain } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Plan } from "../options.ts"
import * as Seed from "../seed.ts"
import { constantScript } from "../statements/pgbench.ts"
import { leaderboard as recordLeaderboard } from "../statements/record.ts"
import type { LeaderboardStatements } from "../statements/record.ts"
import { keyPattern, limitRoles, typedText, valueOf } from "../statements/roles.ts"
import { agentCount } from "../world.ts"
import type { Case } from "./rounds.ts"
import { inTurn } from "./rounds.ts"

const limit = 50
const path = `/api/v1/eval/leaderboard?limit=${limit}`

const prepare = Effect.fnUntraced(function* (postgres: Postgres, name: string) {
  const url = yield* Database.create(postgres, name)
  yield* Effect.gen(function* () {
    yield* Seed.agents(agentCount)
    yield* Seed.standings(agentCount)
  }).pipe(Effect.provide(Database.patient(url)))
  return url
})

const yardstick = Effect.fnUntraced(function* (databaseUrl: string, statements: LeaderboardStatements) {
  const [counting] = statements.limit.sent
  return yield* baseline({
    databaseUrl,
    standing: null,
    limit:
      counting === undefined
        ? null
        : {
            statement: yield* limitRoles(counting, statements.limit.result),
            keyPattern: keyPattern(counting, statements.limit.result)
          },
    prediction: null,
    page: statements.page.sent.map((recorded) => ({
      text: typedText(recorded),
      values: recorded.params.map(valueOf)
    }))
  })
})

interface Page {
  readonly items: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly total: number
}

const isPage = (value: unknown): value is Page =>
  typeof value === "object" && value !== null && "items" in value && Array.isArray(value.items)

const pageOf = (port: number) =>
  Effect.promise(async () => {
    const answer: unknown = await (await fetch(`http://127.0.0.1:${port}${path}`)).json()
    return isPage(answer) ? answer : { items: [], total: 0 }
  })

/** Ranks, names and figures to nine digits: doubles add up a little differently than exact decimals. */
const gist = ({ items, total }: Page) =>
  JSON.stringify({ items, total }, (_, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(9)) : value
  )

/** A ratio says something only if both do the same. */
const sameAnswers = Effect.fnUntraced(function* (one: Server, other: Server) {
  const pages = [yield* pageOf(one.port), yield* pageOf(other.port)] as const
  if (pages[0].items.length !== limit || gist(pages[0]) !== gist(pages[1])) {
    return yield* new BenchFailed({
      message: `the leaderboards differ:\n${gist(pages[0]).slice(0, 900)}\n${gist(pages[1]).slice(0, 900)}`
    })
  }
})

export const leaderboard = Effect.fnUntraced(function* (
  postgres: Postgres,
  generator: Generator,
  plan: Plan,
  pgbench: string | undefined
) {
  const url = yield* prepare(postgres, "bench_leaderboard")
  const statements = yield* recordLeaderboard(url, limit)
  const servers = {
    auspex: yield* auspex(url),
    plain: yield* auspex(url, [], plain),
    fastify: yield* yardstick(url, statements)
  }
  yield* sameAnswers(servers.auspex, servers.fastify)
  const { rampSeconds, seconds } = plan

  const serve = (server: Server, connections: number, counted = seconds) =>
    generator.run(
      {
        port: server.port,
        connections,
        rampSeconds,
        seconds: counted,
        requests: { kind: "get", path },
        rate: null
      },
      server
    )

  const alone = (program: string, connections: number) =>
    Effect.map(
      Pgbench.run({
        path: program,
        databaseUrl: url,
        postgres: postgres.pid,
        script: constantScript(statements.page.sent),
        variables: {},
        connections,
        rampSeconds,
        seconds
      }),
      ({ measurement }) => measurement
    )

  for (const server of Object.values(servers)) yield* serve(server, 64, plan.warmSeconds)
  const cases: Array<Case> = []
  for (const connections of plan.connections) {
    cases.push(
      yield* inTurn("leaderboard", "first page of 50", connections, plan.rounds, {
        auspex: serve(servers.auspex, connections),
        plain: serve(servers.plain, connections),
        fastify: serve(servers.fastify, connections),
        ...(pgbench !== undefined && { pgbench: alone(pgbench, connections) })
      })
    )
  }
  return { cases, statementsARequest: statements.limit.sent.length + statements.page.sent.length }
}, Effect.scoped)

/** Load for a profile: the server is started as the caller says, and ended by it. */
export const leaderboardProfile = Effect.fnUntraced(function* (
  postgres: Postgres,
  generator: Generator,
  plan: Plan,
  start: (url: string) => ReturnType<typeof auspex>
) {
  const url = yield* prepare(postgres, "profile_leaderboard")
  const server = yield* start(url)
  const job = { port: server.port, connections: 64, rampSeconds: plan.rampSeconds, rate: null }
  const requests = { kind: "get", path } as const
  yield* generator.run({ ...job, seconds: plan.warmSeconds, requests }, server)
  const measured = yield* generator.run({ ...job, seconds: plan.seconds * 2, requests }, server)
  return { server, measured }
})

/** POST /eval/macro/challenges/{id}/stake: on one hot pool and on a hundred, with stakes in company and each alone. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Generator } from "../load/load.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { BenchFailed, auspex, plain } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Plan } from "../options.ts"
import * as Seed from "../seed.ts"
import { spreadPools, spreadStakers, stakerCount } from "../world.ts"
import type { Pairs } from "../world.ts"
import { inTurn } from "./rounds.ts"

const connections = 32

/** Every stake that was answered 201 stands in the database, froze its credit, and is in the odds, exactly once. */
const verified = Effect.fnUntraced(function* (expected: number) {
  const sql = yield* SqlClient.SqlClient
  const counts = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ written: Schema.Int, frozen: Schema.Int, shown: Schema.Int }),
    execute: () => sql`
      select (select count(*) from stakes)::int as written,
             (select sum(held) / 50000000 from accounts)::int as frozen,
             (select sum(stakers) from pool_bins)::int as shown`
  })
  const { frozen, shown, written } = yield* counts()
  if (written !== expected || frozen !== expected || shown !== expected) {
    return yield* new BenchFailed({
      message: `${expected} stakes were confirmed, but ${written} are stored, ${frozen} frozen and ${shown} in the odds`
    })
  }
})

export const stakes = Effect.fnUntraced(function* (postgres: Postgres, generator: Generator, plan: Plan) {
  const { rampSeconds, rounds, seconds, warmSeconds } = plan
  const url = yield* Database.create(postgres, "bench_stakes")
  // Each round on a hot pool takes a fresh one.
  const hotPools = 2 * rounds
  yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Seed.agents(stakerCount)
    yield* Seed.credit
    yield* Seed.pools(0, spreadPools, spreadStakers)
    yield* Seed.pools(spreadPools, hotPools, stakerCount)
    yield* sql`vacuum (analyze)`
  }).pipe(Effect.provide(Database.patient(url)))
  const servers = { auspex: yield* auspex(url), plain: yield* auspex(url, [], plain) }
  let nextSpread = 0
  let nextHot = spreadPools
  let confirmed = 0

  const run = Effect.fnUntraced(function* (server: Server, pairs: Pairs, first: number, counted: number) {
    const requests = { kind: "stake", pairs, first } as const
    const job = { port: server.port, connections, rampSeconds, seconds: counted, requests, rate: null }
    const measured = yield* generator.run(job, server)
    confirmed += measured.sent
    return measured
  })
  const spread = (server: Server, counted: number) =>
    Effect.suspend(() => {
      const pairs = { kind: "pools", first: 0, count: spreadPools, agents: spreadStakers } as const
      return run(server, pairs, nextSpread, counted)
    }).pipe(Effect.tap(({ sent }) => Effect.sync(() => (nextSpread += sent))))
  const hot = (server: Server) =>
    Effect.suspend(() => {
      const pairs = { kind: "pools", first: nextHot, count: 1, agents: stakerCount } as const
      nextHot += 1
      return run(server, pairs, 0, seconds)
    })

  for (const server of Object.values(servers)) yield* spread(server, warmSeconds)
  const cases = [
    yield* inTurn("stakes", "one pool", connections, rounds, {
      auspex: hot(servers.auspex),
      plain: hot(servers.plain)
    }),
    yield* inTurn("stakes", `${spreadPools} pools`, connections, rounds, {
      auspex: spread(servers.auspex, seconds),
      plain: spread(servers.plain, seconds)
    })
  ]
  yield* verified(confirmed).pipe(Effect.provide(Database.patient(url)))
  return { cases, confirmed }
}, Effect.scoped)

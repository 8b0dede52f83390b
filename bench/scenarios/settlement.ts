/** Settling one challenge that everybody predicted, beside the bare statements, and what others notice of it. */
import { Console, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Generator } from "../load/load.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { BenchFailed, auspex, busyLoop, remains } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import * as Seed from "../seed.ts"
import { adminToken, agentCount, challengeId, epochMillis } from "../world.ts"

/** What the service keeps figures on of this challenge: over all, its category, its target. */
const serviceBoards = ["global", "commodities", "GC"] as const
const floors = { one: serviceBoards.slice(0, 1), all: serviceBoards } as const
type Floor = keyof typeof floors

/** Others' predictions beside it. */
const besideRate = 200
const besideConnections = 16
const warmSeconds = 5
const aloneSeconds = 8
const openChallenge = 1000

/** Settled first, so that the one that is measured is not the first one of the process. */
const smallChallenge = 2
const smallPredictions = 100

interface Noticed {
  readonly p99: number
  readonly longest: number
  readonly requests: number
}

export interface Settled {
  readonly predictions: number
  /** Agents having no figures so far, but for a few; the service beside predictions of others. */
  readonly seconds: Readonly<Record<"service" | Floor, number>>
  /** Milliseconds that predictions of others take: alone, beside a processor busy with nothing, and beside a settlement. */
  readonly alone: Noticed
  readonly loop: Noticed
  readonly beside: Noticed
}

const noticed = ({ longest, p99, requests }: Noticed): Noticed => ({ p99, longest, requests })

/** Tables of the same shape, indexes and storage, without triggers and foreign keys. */
const floorTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const fillfactor = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ options: Schema.String }),
    execute: () =>
      sql`select coalesce('with (' || array_to_string(reloptions, ', ') || ')', '') as options
            from pg_class where oid = 'agent_figures'::regclass`
  })
  const { options } = yield* fillfactor()
  for (const floor of Object.keys(floors)) {
    yield* sql`create schema ${sql(floor)}`
    yield* sql`create table ${sql(`${floor}.prediction_scores`)} (like prediction_scores including all)`
    yield* sql`
      create table ${sql(`${floor}.agent_figures`)} (like agent_figures including all) ${sql.literal(options)}`
  }
})

const timed = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const from = epochMillis()
  yield* effect
  return (epochMillis() - from) / 1000
})

/** The bare statements in one transaction: score rows in the order of their key, figures by one upsert. */
const bare = Effect.fnUntraced(function* (challenge: number, floor: Floor) {
  const sql = yield* SqlClient.SqlClient
  const scores = sql(`${floor}.prediction_scores`)
  const figures = sql(`${floor}.agent_figures`)
  const id = challengeId(challenge)
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`
        insert into ${scores} (challenge_id, version, agent_id, revision, is_correct, score)
        select challenge_id, 1, agent_id, revision, direction = 'bullish',
               case when direction = 'bullish' then 50 + 50 * confidence else 50 - 50 * confidence end
          from predictions where challenge_id = ${id}::uuid order by agent_id`
      yield* sql`
        insert into ${figures} as f
          (board, agent_id, verified, scored, score_sum, binary_scored, correct, brier_sum, last_day, day_count, day_sum)
        select b.board, s.agent_id, true, 1, s.score, 1, s.is_correct::int,
               (1 - s.score * 0.01) * (1 - s.score * 0.01), current_date, 1, s.score
          from ${scores} s cross join unnest(${[...floors[floor]]}::text[]) as b (board)
         where s.challenge_id = ${id}::uuid
         order by s.agent_id, b.board
        on conflict (agent_id, board) do update set
          scored = f.scored + excluded.scored, score_sum = f.score_sum + excluded.score_sum,
          binary_scored = f.binary_scored + excluded.binary_scored, correct = f.correct + excluded.correct,
          brier_sum = f.brier_sum + excluded.brier_sum, day_count = f.day_count + excluded.day_count,
          day_sum = f.day_sum + excluded.day_sum, last_day = excluded.last_day`
    })
  )
})

const administrate = (server: Server, method: string, path: string) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(`http://127.0.0.1:${server.port}/api/v1/admin/${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}` }
      })
      return { status: response.status, text: await response.text() }
    },
    catch: (error) => new BenchFailed({ message: `${String(error)}\n${remains(server)}` })
  })

/** The real service, asked as an administrator does; demands that exactly this challenge was settled. */
const settle = Effect.fnUntraced(function* (server: Server, challenge: number) {
  const answer = yield* administrate(server, "POST", "settle")
  if (answer.status !== 200 || !answer.text.includes(`"resolved":["${challengeId(challenge)}"]`)) {
    return yield* new BenchFailed({ message: `the settlement failed: ${answer.status} ${answer.text}` })
  }
})

/** The kept figures equal a recomputation from the scores. */
const audited = Effect.fnUntraced(function* (server: Server, agents: number) {
  const answer = yield* administrate(server, "GET", "figures/check")
  if (answer.status !== 200 || !answer.text.includes(`"agents":${agents},"differences":[]`)) {
    return yield* new BenchFailed({ message: `the figures are wrong: ${answer.text.slice(0, 500)}` })
  }
})

const load = (server: Server, first: number, seconds: number) => ({
  port: server.port,
  connections: besideConnections,
  rampSeconds: 0.5,
  seconds,
  requests: {
    kind: "predict",
    pairs: { kind: "hot", challenges: [openChallenge, openChallenge + 1] },
    first
  } as const,
  rate: besideRate
})

export const settlement = Effect.fnUntraced(function* (
  postgres: Postgres,
  generator: Generator,
  predictions: number
) {
  const url = yield* Database.create(postgres, `bench_settlement_${predictions}`)
  const server = yield* auspex(url)
  return yield* Effect.gen(function* () {
    yield* Seed.agents(Math.max(predictions, agentCount))
    yield* Seed.closingPrice
    yield* Seed.challenges(openChallenge, openChallenge + 1, "open")
    yield* floorTables

    const due = Effect.fnUntraced(function* (challenge: number, count: number) {
      yield* Seed.challenges(challenge, challenge, "due")
      yield* Seed.predictionsOn(challenge, count)
      yield* (yield* SqlClient.SqlClient)`vacuum (analyze)`
    })

    yield* due(smallChallenge, smallPredictions)
    yield* settle(server, smallChallenge)
    yield* due(1, predictions)
    const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.andThen(Database.checkpoint(postgres), effect)
    // The floors go first: whoever comes later finds the predictions in memory.
    const one = yield* quietly(timed(bare(1, "one")))
    const all = yield* quietly(timed(bare(1, "all")))
    // Nothing of the floors is analyzed or written out beside what comes now.
    yield* (yield* SqlClient.SqlClient)`drop schema "one", "all" cascade`
    // A server that has just started takes several times as long for its slowest requests.
    const warm = yield* generator.run({ ...load(server, 0, warmSeconds), rate: null }, server)
    const alone = yield* quietly(generator.run(load(server, warm.sent, aloneSeconds), server))
    const others = warm.sent + alone.sent
    const besideLoop = Effect.andThen(busyLoop, generator.run(load(server, others, aloneSeconds), server))
    const loop = yield* quietly(Effect.scoped(besideLoop))
    const [beside, service] = yield* Effect.all(
      [
        generator.run(load(server, others + loop.sent, 900), server),
        timed(settle(server, 1)).pipe(Effect.delay("1 second"), Effect.ensuring(generator.stop))
      ],
      { concurrency: 2 }
    )
    yield* Console.log(
      `  settlement of ${predictions}: service ${service.toFixed(2)} s; bare statements ${one.toFixed(2)} s on one board, ${all.toFixed(2)} s on three`
    )
    yield* Console.log(
      `  predictions of others at ${besideRate}/s: p99 ${alone.p99.toFixed(1)} ms alone, ${loop.p99.toFixed(1)} ms beside a loop that does nothing, ${beside.p99.toFixed(1)} ms beside it`
    )
    yield* audited(server, predictions)
    const settled: Settled = {
      predictions,
      seconds: { service, one, all },
      alone: noticed(alone),
      loop: noticed(loop),
      beside: noticed(beside)
    }
    return settled
  }).pipe(Effect.provide(Database.patient(url)))
}, Effect.scoped)

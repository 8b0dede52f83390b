/** Measures the settlement of one challenge that everybody predicted, beside the bare statements, and its effect on other requests. */
import { Console, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { agents } from "../../test/support/growth/agents.ts"
import { challengeId, epochMillis } from "../../test/support/growth/identifiers.ts"
import * as Database from "../machine/database.ts"
import { BenchFailed, auspex, remains } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Bench } from "../main.ts"
import { atMost, fixed } from "../report.ts"
import type { Result } from "../report.ts"
import * as Seed from "../seed.ts"
import { adminToken, agentCount } from "../world.ts"

/** The leaderboards of this challenge: all, its category, its target. */
const boards = ["global", "commodities", "GC"] as const

/** The rate of other agents' predictions during the settlement. */
const besideRate = 200
const besideConnections = 16
const aloneSeconds = 8
/** The time exceeds any settlement. */
const maxBesideSeconds = 900
const openChallenge = 1000
const settledChallenge = 1

/** Tables of the same shape, indexes and storage, but without triggers and foreign keys. */
const bareTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const storage = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ options: Schema.String }),
    execute: () =>
      sql`select coalesce('with (' || array_to_string(reloptions, ', ') || ')', '') as options
            from pg_class where oid = 'agent_stats'::regclass`
  })
  const { options } = yield* storage()
  yield* sql`create schema bare`
  yield* sql`create table bare.prediction_scores (like prediction_scores including all)`
  yield* sql`create table bare.agent_stats (like agent_stats including all) ${sql.literal(options)}`
})

const timed = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const from = epochMillis()
  yield* effect
  return (epochMillis() - from) / 1000
})

/** The minimum that a settlement writes, in one transaction: scores in the order of their key, sums by one upsert. */
const bareSettlement = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const id = challengeId(settledChallenge)
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`
        insert into bare.prediction_scores (challenge_id, version, agent_id, revision, is_correct, score)
        select challenge_id, 1, agent_id, revision, direction = 'bullish',
               case when direction = 'bullish' then 50 + 50 * confidence else 50 - 50 * confidence end
          from predictions where challenge_id = ${id}::uuid order by agent_id`
      yield* sql`
        insert into bare.agent_stats as f
          (board, agent_id, verified, scored, score_sum, binary_scored, correct, brier_sum, last_day, day_count, day_sum)
        select b.board, s.agent_id, true, 1, s.score, 1, s.is_correct::int,
               (1 - s.score * 0.01) * (1 - s.score * 0.01), current_date, 1, s.score
          from bare.prediction_scores s cross join unnest(${[...boards]}::text[]) as b (board)
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

/** Requires that the service settles exactly this challenge. */
const settle = Effect.fnUntraced(function* (server: Server, challenge: number) {
  const answer = yield* administrate(server, "POST", "settle")
  if (answer.status !== 200 || !answer.text.includes(`"resolved":["${challengeId(challenge)}"]`)) {
    return yield* new BenchFailed({ message: `the settlement failed: ${answer.status} ${answer.text}` })
  }
})

/** Checks that the sums on the leaderboards equal a recomputation from the scores. */
const checked = Effect.fnUntraced(function* (server: Server, expected: number) {
  const answer = yield* administrate(server, "GET", "figures/check")
  if (answer.status !== 200 || !answer.text.includes(`"agents":${expected},"differences":[]`)) {
    return yield* new BenchFailed({ message: `the sums are wrong: ${answer.text.slice(0, 500)}` })
  }
})

const predicting = (server: Server, from: number, seconds: number) => ({
  port: server.port,
  connections: besideConnections,
  rampSeconds: 2,
  seconds,
  requests: { kind: "predict", challenges: { first: openChallenge, count: 1 }, from, size: 1 } as const,
  rate: besideRate
})

export const settlement = Effect.fnUntraced(function* ({ load, postgres, sizes }: Bench) {
  const predictions = sizes.settled
  const url = yield* Database.create(postgres, "bench_settlement")
  const server = yield* auspex(url)
  return yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* agents(Math.max(predictions, agentCount))
    yield* Seed.closingPrice
    yield* Seed.challenges(openChallenge, openChallenge, "open")
    yield* bareTables

    yield* Seed.challenges(settledChallenge, settledChallenge, "due")
    yield* Seed.predictionsOn(settledChallenge, predictions)
    yield* sql`vacuum (analyze)`
    yield* Console.log(`  ${predictions} predictions are seeded`)
    const afterCheckpoint = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.andThen(Database.checkpoint(postgres), effect)
    // The bare statements go first: later ones find the predictions in memory.
    const bare = yield* afterCheckpoint(timed(bareSettlement))
    yield* sql`drop schema bare cascade`
    const warm = yield* load.run({ ...predicting(server, 0, sizes.warmSeconds), rate: null }, server)
    const alone = yield* afterCheckpoint(load.run(predicting(server, warm.sent, aloneSeconds), server))
    const [beside, service] = yield* Effect.all(
      [
        load.run(predicting(server, warm.sent + alone.sent, maxBesideSeconds), server),
        timed(settle(server, settledChallenge)).pipe(Effect.delay("3 seconds"), Effect.ensuring(load.stop))
      ],
      { concurrency: 2 }
    )
    yield* checked(server, predictions)
    const result: Result = {
      scenario: "settlement",
      tables: [
        [
          ["predictions", "service s", "bare s", "others' p99 alone ms", "p99 beside ms"],
          [String(predictions), fixed(service, 2), fixed(bare, 2), fixed(alone.p99, 1), fixed(beside.p99, 1)]
        ]
      ],
      aims: [
        atMost(1.4, "settlement: seconds to bare", service / bare),
        atMost(3, "settlement: others' p99 to alone", beside.p99 / alone.p99)
      ],
      remarks: [],
      measured: { predictions, service, bare, alone, beside }
    }
    return result
  }).pipe(Effect.provide(Database.seeding(url)))
}, Effect.scoped)

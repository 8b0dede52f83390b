/** Finds settlements under way, so that faults can be aimed at them. */
import { DateTime, Effect, Option, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { many, maybe } from "../../../src/layers/postgres/query.ts"
import { until } from "../process.ts"
import type { Query } from "./database.ts"
import { makeDueChallenge } from "./population.ts"

const Backend = Schema.Struct({ pid: Schema.Int, client_port: Schema.Int })

/** The backend that has been writing scores for a while, which only a large settlement does. */
const settling = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* maybe(Backend)(sql`
    select pid, client_port from pg_stat_activity
     where datname = current_database() and application_name = 'auspex' and state = 'active'
       and query ~ 'insert into (prediction_scores|agent_figures)'
       and clock_timestamp() - query_start > interval '25 ms'`)
})

const Settled = Schema.Struct({ settled_at: Schema.DateTimeUtcFromDate })

export interface Target {
  readonly challengeId: string
  /** The settling backend, and the port that its client connects from. */
  readonly pid: number
  readonly clientPort: number
}

/** Makes a large settlement due and answers somewhere within it. */
export const withinSettlement = Effect.fnUntraced(function* (query: Query) {
  const offset = yield* Random.nextIntBetween(0, 200)
  const challengeId = yield* query(makeDueChallenge)
  let found: Option.Option<typeof Backend.Type> = Option.none()
  yield* until(
    "a large settlement is under way",
    "20 seconds",
    Effect.map(query(settling), (row) => {
      found = row
      return Option.isSome(row)
    })
  )
  const { client_port, pid } = yield* Effect.orDie(Effect.fromOption(found))
  yield* Effect.sleep(offset)
  const target: Target = { challengeId, pid, clientPort: client_port }
  return target
})

/** Whether the settlement that counts began after the strike, so that the one under way then was undone whole. */
export const wasUndone = Effect.fnUntraced(function* (query: Query, challengeId: string, at: number) {
  const settledAt = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* many(Settled)(
      sql`select settled_at from settlements where challenge_id = ${challengeId}::uuid`
    )
    return rows.map((row) => DateTime.toEpochMillis(row.settled_at))
  })
  let times: ReadonlyArray<number> = []
  yield* until(
    "the large challenge is settled in the end",
    "60 seconds",
    Effect.map(query(settledAt), (found) => {
      times = found
      return found.length > 0
    })
  )
  return times.every((time) => time > at)
})

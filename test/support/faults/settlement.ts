/** Finds settlements in progress, so that faults can strike them. */
import { Effect, Option, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findOne, findOption } from "../../../src/layers/postgres/sql.ts"
import { until } from "../process.ts"
import type { Query } from "./database.ts"
import { makeDueChallenge } from "./population.ts"

const Backend = Schema.Struct({ pid: Schema.Int, client_port: Schema.Int, xid: Schema.String })

/** The backend that has been writing scores for a while, which only a large settlement does. */
const settling = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* findOption(Backend)(sql`
    select pid, client_port, backend_xid::text as xid from pg_stat_activity
     where datname = current_database() and application_name like 'auspex/%' and state = 'active'
       and query ~ '(insert into|from) prediction_scores'
       and backend_xid is not null and clock_timestamp() - query_start > interval '50 ms'`)
})

const State = Schema.Struct({ settled: Schema.Boolean, status: Schema.NullOr(Schema.String) })

export interface Target {
  readonly challengeId: string
  /** The id of its transaction. */
  readonly xid: string
  /** The settling backend, and the port that its client connects from. */
  readonly pid: number
  readonly clientPort: number
}

/** Makes a large settlement due and returns at a moment within it. */
export const withinSettlement = Effect.fnUntraced(function* (query: Query) {
  const offset = yield* Random.nextIntBetween(0, 200)
  const challengeId = yield* query(makeDueChallenge)
  let found: Option.Option<typeof Backend.Type> = Option.none()
  yield* until(
    "a large settlement is under way",
    Effect.map(query(settling), (row) => {
      found = row
      return Option.isSome(row)
    })
  )
  const { client_port, pid, xid } = yield* Effect.orDie(Effect.fromOption(found))
  yield* Effect.sleep(offset)
  const target: Target = { challengeId, xid, pid, clientPort: client_port }
  return target
})

/** True if the transaction was rolled back, after another one has settled the challenge. */
export const wasUndone = Effect.fnUntraced(function* (query: Query, { challengeId, xid }: Target) {
  const state = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* findOne(State)(sql`
      select exists (select from settlements where challenge_id = ${challengeId}::uuid) as settled,
             pg_xact_status(${xid}::xid8) as status`)
  })
  let status: string | null = null
  yield* until(
    "the large challenge is settled in the end",
    Effect.map(query(state), (found) => {
      status = found.status
      return found.settled && status !== "in progress"
    })
  )
  return status === "aborted"
})

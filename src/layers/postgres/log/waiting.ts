/**
 * Looks at what waits at a cost that is bounded by ids, whatever waits there, and however many rows that were taken
 * vacuum has not been at: there is no index but that of the ids, and one of agents, for predicting would pay for every other.
 */
import { Clock, Effect, Option, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findOne } from "../sql.ts"

/** Where there is a standstill, what waits is the newest, too. */
const newest = 1024

/**
 * How much waits, counted up to so many; without predictions whose transactions have just ended late, which the next pass
 * takes. They are read between two bounds, too.
 */
export const waitingCount = (sql: SqlClient.SqlClient, most: number) => sql`
  (select least(${most}::int, count(*)::int)
     from ((select 1 from log_pending limit ${most})
           union all
           (select 1 from predictions
             where queue_id > (select taken from log_state)
               and queue_id <= (select last_value from log_pending_id_seq)
             limit ${most})) waiting)`

/**
 * Whether anything waits, among the newest. The planner takes what lies between two bounds for little, and so reads it by
 * the key.
 */
const anyWaits = (sql: SqlClient.SqlClient) => sql`
  (select true from log_waiting
    where id > (select last_value from log_pending_id_seq) - ${newest}::int8
      and id <= (select last_value from log_pending_id_seq)
    order by id desc limit 1)`

const Look = Schema.Struct({
  size: Schema.NullOr(Schema.Finite),
  fault: Schema.NullOr(Schema.String),
  waiting: Schema.Boolean
})

/**
 * Whether the log stands still: the fault that keeps it so, and for how many seconds something has waited while nothing
 * got its place, as far as those who asked here have seen. Entries of the queue have no time, which predicting would pay
 * for, so it is the size of the log that is watched.
 */
export const makeStandstill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const look = findOne(Look)
  const seen = yield* Ref.make(Option.none<{ readonly size: number | null; readonly since: number }>())

  const standstill = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const { fault, size, waiting } = yield* look(sql`
      select (select size::float8 from log_state) as size, (select fault from log_state) as fault,
             ${anyWaits(sql)} is not null as waiting`)
    const before = yield* Ref.get(seen)
    if (!waiting) {
      yield* Ref.set(seen, Option.none())
      return { fault, seconds: 0 }
    }
    if (Option.isSome(before) && before.value.size === size) {
      return { fault, seconds: Math.max(0, (now - before.value.since) / 1000) }
    }
    yield* Ref.set(seen, Option.some({ size, since: now }))
    return { fault, seconds: 0 }
  })
  return { standstill }
})

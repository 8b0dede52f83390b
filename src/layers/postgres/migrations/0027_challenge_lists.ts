import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const ends = [
  ["unended", "resolved_at is null and cancelled_at is null"],
  ["resolved", "resolved_at is not null"],
  ["cancelled", "cancelled_at is not null"]
] as const

/**
 * Every list of challenges is of one type, and so are its indexes: a price event that is open for a year stands between
 * thousands that have ended, and between the challenges of the other types. An index that began with the type would do,
 * too, but the planner takes it for less orderly than the primary key, and would rather pass over all other rows.
 */
export const challengeLists = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  for (const name of ["resolved", "cancelled", "target_open", "target_resolved", "target_cancelled"]) {
    yield* sql`drop index ${sql(`challenges_${name}`)}`
  }
  yield* sql`create index challenges_directional on challenges (id desc) where type = 'directional'`
  yield* sql`create index challenges_target_directional on challenges (target, id desc) where type = 'directional'`
  for (const [end, condition] of ends) {
    for (const type of ["directional", "macro", "price_event"]) {
      yield* sql`
        create index ${sql(`challenges_${type}_${end}`)} on challenges (id desc)
          where type = ${sql.literal(`'${type}' and ${condition}`)}`
    }
    yield* sql`
      create index ${sql(`challenges_target_${end}`)} on challenges (target, id desc)
        where type = 'directional' and ${sql.literal(condition)}`
  }
  // What is open is counted, and what is due is looked for, by its deadline.
  yield* sql`
    create index challenges_unended_deadline on challenges (type, deadline) include (target)
      where resolved_at is null and cancelled_at is null`
})

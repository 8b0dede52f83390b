/** Follows and comments of a database that has grown. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { agentPrefix, uuidText } from "../world.ts"

const commentPrefix = "0190e800"
const followPrefix = "0190e900"
/** Whom the busiest agent follows, whatever the size. */
export const followed = 100

/** Everybody follows the busiest agent, which writes as much as all the others. */
export const social = Effect.fnUntraced(function* (
  size: { readonly agents: number; readonly events: number; readonly predictions: number },
  busiest: string
) {
  const sql = yield* SqlClient.SqlClient
  const agent = sql.literal(uuidText(agentPrefix, "n"))
  yield* sql`
    insert into comments (id, agent_id, event_id, content, created_at)
    select ${sql.literal(uuidText(commentPrefix, "c"))}::uuid,
           case when c % 2 = 0 then ${busiest} else ${sql.literal(uuidText(agentPrefix, `1 + c % ${size.agents - 1}`))} end::uuid,
           'event-' || c % ${size.events}::int, 'It may well rise. (' || c || ')', now()
      from generate_series(0, ${Math.floor(size.predictions / 10)}::int) as c`
  yield* sql`
    insert into follows (id, follower_id, followed_id, created_at)
    select ${sql.literal(uuidText(followPrefix, "n"))}::uuid, ${agent}::uuid, ${busiest}::uuid, now()
      from generate_series(1, ${size.agents - 1}::int) as n`
  yield* sql`
    insert into follows (id, follower_id, followed_id, created_at)
    select ${sql.literal(uuidText(followPrefix, `${size.agents} + n`))}::uuid, ${busiest}::uuid, ${agent}::uuid, now()
      from generate_series(1, ${followed}::int) as n`
})

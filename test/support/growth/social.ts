/** The follows in a database that has grown, and the reads of agents about each other. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Registry } from "../../../src/services/Registry.ts"
import { Social } from "../../../src/services/Social.ts"
import { AgentId } from "../../../src/services/domain/ids.ts"
import { agentId, agentPrefix, uuidText } from "./identifiers.ts"
import { fromTheEnd } from "./pages.ts"
import type { Add, Deep } from "./reads.ts"
import type { Size } from "./seed.ts"

const followPrefix = "0190fc00"
/** The number of agents that the busiest agent follows, whatever the size. */
const followed = 100
const busiest = agentId(0)

/** Every agent follows the busiest agent. */
export const follows = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const agent = sql.literal(uuidText(agentPrefix, "n"))
  yield* sql`
    insert into follows (id, follower_id, followed_id, created_at)
    select ${sql.literal(uuidText(followPrefix, "n"))}::uuid, ${agent}::uuid, ${busiest}::uuid, now()
      from generate_series(1, ${size.agents - 1}::int) as n`
  yield* sql`
    insert into follows (id, follower_id, followed_id, created_at)
    select ${sql.literal(uuidText(followPrefix, `${size.agents} + n`))}::uuid, ${busiest}::uuid, ${agent}::uuid, now()
      from generate_series(1, ${followed}::int) as n`
})

export const socialReads = Effect.fnUntraced(function* (size: Size, add: Add) {
  const agent = AgentId.make(busiest)
  const ordinary = AgentId.make(agentId(Math.floor(size.agents / 2)))
  const last = (list: string, from: string, which?: string): Deep => ({
    page: "last",
    list,
    which,
    key: `select to_json(id::text) from (select id from ${from} order by id offset ${fromTheEnd} limit 1) as k`
  })
  yield* add(
    "/agent/feed",
    `of ${followed} agents`,
    (page) => Social.use((social) => social.feed(agent, page)),
    last(
      "feed",
      `comments where not is_reply and agent_id in (select followed_id from follows where follower_id = '${busiest}')`
    )
  )
  yield* add(
    "/agent/feed",
    "of the busiest agent",
    (page) => Social.use((social) => social.feed(ordinary, page)),
    last("feed", `comments where not is_reply and agent_id = '${busiest}'`)
  )
  yield* add("/agent/follows/following", `${followed} agents`, (page) =>
    Social.use((social) => social.following(agent, page))
  )
  yield* add(
    "/agent/follows/followers",
    "the busiest agent's",
    (page) => Social.use((social) => social.followers(agent, page)),
    last("follows", `follows where followed_id = '${busiest}'`, "followers")
  )
  yield* add("/agent/profiles/:agent_id", "", () =>
    Registry.use((registry) => registry.publicProfile(ordinary, busiest))
  )
  yield* add(
    "/agent/actions/history",
    "the busiest agent's",
    (page) => Registry.use((registry) => registry.actions(agent, page)),
    last("actions", `predictions where agent_id = '${busiest}'`)
  )
})

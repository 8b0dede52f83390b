/**
 * A page of the feed among 100 000 agents and two million comments, half of which one agent wrote: of whom it follows, how
 * many, and how far down. Every statement is explained as the service sends it.
 */
import { Console, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { many } from "../../src/layers/postgres/query.ts"
import { Feed } from "../../src/services/Feed.ts"
import { AgentId } from "../../src/services/identifiers.ts"
import { Cursors } from "../../src/services/paging.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { BenchFailed } from "../machine/processes.ts"
import { median } from "../measurement.ts"
import type { Plan } from "../options.ts"
import * as Seed from "../seed.ts"
import { executions } from "../statements/explain.ts"
import { sentBy } from "../statements/record.ts"
import { agentId, agentPrefix, epochMillis, uuidText } from "../world.ts"

const commentPrefix = "0190e800"
const followPrefix = "0190e900"
const eventCount = 2000
const warmRuns = 3
const countedRuns = 15
const pageSize = 50

/** The first wrote half of all comments; so many after it wrote the others, the earlier the more; the rest are silent. */
const giant = 0
const writing = 60_000

/** Agents that follow others, by whom they follow: the numbers of these, as SQL. Their own numbers are the last ones. */
const followings = [
  { name: "1 000 ordinary authors", of: "1 + (k * 7919) % 59999 from generate_series(1, 1000) as k" },
  { name: "the 1 000 busiest authors", of: "k from generate_series(1, 1000) as k" },
  {
    name: "1 000 authors, one with half of all comments",
    of: "case when k = 0 then 0 else 1 + (k * 7919) % 59999 end from generate_series(0, 999) as k"
  },
  {
    name: "999 silent agents and that one",
    of: "case when k = 0 then 0 else 60000 + k end from generate_series(0, 999) as k"
  },
  { name: "1 000 silent agents", of: "60000 + k from generate_series(1, 1000) as k" },
  { name: "100 ordinary authors", of: "1 + (k * 7919) % 59999 from generate_series(1, 100) as k" },
  { name: "10 ordinary authors", of: "1 + (k * 7919) % 59999 from generate_series(1, 10) as k" }
] as const

const seed = Effect.fnUntraced(function* (agents: number, comments: number) {
  const sql = yield* SqlClient.SqlClient
  yield* Seed.agents(agents - 1)
  yield* sql`
    insert into events (id, title, spaces, assets, published_at, created_at, updated_at)
    select 'event-' || n, 'Event ' || n, '{finance}', '{GC}', now(), now(), now()
      from generate_series(0, ${eventCount - 1}::int) as n`
  const [comment, parent] = [
    sql.literal(uuidText(commentPrefix, "n")),
    sql.literal(uuidText(commentPrefix, "n - 1"))
  ]
  const author = sql.literal(uuidText(agentPrefix, "author"))
  // Every fourth is a reply to the one before it.
  yield* sql`
    insert into comments (id, agent_id, event_id, parent_id, content, created_at)
    select ${comment}::uuid, ${author}::uuid, 'event-' || (n / 4) % ${eventCount}::int,
           case when n % 4 = 3 then ${parent}::uuid end,
           'The numbers point to a slower quarter than the market has priced, and the curve says the same: ' || n,
           now() - (${comments}::int - n) * interval '1 second'
      from generate_series(0, ${comments - 1}::int) as n
     cross join lateral (
       select case when n % 2 = 0 then ${giant}::int
                   else 1 + floor(${writing - 1}::int * power((n::bigint * 7919 % 1000003) / 1000003.0::float8, 3))::int end as author) as a`
  for (const [index, { of }] of followings.entries()) {
    const follow = sql.literal(uuidText(followPrefix, `${index + 1} * 10000 + row_number() over ()`))
    yield* sql`
      insert into follows (id, follower_id, followed_id, created_at)
      select ${follow}::uuid, ${follower(agents, index)}::uuid, followed, now()
        from (select distinct ${sql.literal(uuidText(agentPrefix, "author"))}::uuid as followed
                from (select ${sql.literal(of)}) as f (author)) as d`
  }
  yield* sql`vacuum (analyze)`
})

/** They are the last of the silent ones, so that nobody follows them. */
const follower = (agents: number, index: number) => AgentId.make(agentId(agents - 1 - index))

export interface FeedCost {
  readonly following: string
  readonly page: string
  /** In the database, of the slowest and of the median run. */
  readonly millis: number
  readonly slowest: number
  readonly pages: number
  readonly shown: number
}

const Key = Schema.Struct({ id: Schema.String, below: Schema.Int })

/** The page after so many comments, and the last full one. */
const deepPages = Effect.fnUntraced(function* (agent: AgentId) {
  const sql = yield* SqlClient.SqlClient
  return yield* many(Key)(sql`
    with feed as (
      select c.id, row_number() over (order by c.id desc)::int as place, count(*) over ()::int as total
        from comments c join follows f on f.followed_id = c.agent_id
       where f.follower_id = ${agent}::uuid and not c.is_reply
    )
    select id::text, place as below from feed
     where place in (1000, 10000) or (place = total - ${pageSize}::int and total > ${2 * pageSize}::int)
     order by place`)
})

const pageOf = (agent: AgentId, limit: number, after: string | undefined) =>
  Effect.gen(function* () {
    const cursors = (yield* Cursors).ids("feed")
    const cursor = after === undefined ? undefined : cursors.encode(after)
    return yield* Feed.use((feed) => feed.page(agent, { limit, cursor }))
  })

/** Every statement of every page, on the seeded database. */
const costs = Effect.fnUntraced(function* (url: string, agents: number) {
  const reads = yield* Effect.forEach(followings, ({ name }, index) =>
    Effect.gen(function* () {
      const agent = follower(agents, index)
      const deep = yield* deepPages(agent)
      return [
        { following: name, page: "first", run: pageOf(agent, pageSize, undefined) },
        ...deep.map(({ below, id }) => ({
          following: name,
          page: `after ${below}`,
          run: pageOf(agent, pageSize, id)
        })),
        { following: name, page: "first, of 200", run: pageOf(agent, 200, undefined) }
      ]
    })
  )
  return yield* Effect.forEach(yield* sentBy(url, reads.flat()), ({ following, page, sent }) =>
    Effect.gen(function* () {
      const [statement, ...others] = sent
      if (statement === undefined || others.length > 0) {
        return yield* new BenchFailed({ message: `a page of the feed sent ${sent.length} statements` })
      }
      const runs = (yield* executions(statement, warmRuns + countedRuns)).slice(warmRuns)
      const cost: FeedCost = {
        following,
        page,
        millis: median(runs.map((run) => run.millis)),
        slowest: Math.max(...runs.map((run) => run.millis)),
        pages: median(runs.map((run) => run.pages)),
        shown: runs[0]?.plan["Actual Rows"] ?? 0
      }
      return cost
    })
  )
})

export const feed = Effect.fnUntraced(function* (postgres: Postgres, { feedAgents, feedComments }: Plan) {
  const url = yield* Database.create(postgres, "bench_feed")
  return yield* Effect.gen(function* () {
    const from = epochMillis()
    yield* seed(feedAgents, feedComments)
    yield* Console.log(
      `feed: ${feedAgents} agents and ${feedComments} comments in ${((epochMillis() - from) / 1000).toFixed(0)} s`
    )
    return yield* costs(url, feedAgents)
  }).pipe(Effect.provide(Database.patient(url)))
})

import { DateTime, Effect, Layer, Schema, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { OwedUses } from "../../../services/RateLimiter.ts"
import { Settings } from "../../../services/Settings.ts"
import { FeedItem, FollowRefused, FollowedAgent, Social } from "../../../services/Social.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import type { AgentId } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import type { Page } from "../../../services/domain/paging.ts"
import { makeAcceptance } from "../RateLimiter.ts"
import { execute, findAll, findOne, isoTimestamp, pageAfter, timestamp } from "../sql.ts"
import { disambiguator } from "../disambiguator.ts"

const Outcome = Schema.Struct({
  known: Schema.Boolean,
  made: Schema.Boolean,
  following: Schema.Int
})

const FollowRow = Schema.Struct({ ...FollowedAgent.fields, id: Schema.String })

/** The smallest identifier. */
const minId = "00000000-0000-0000-0000-000000000000"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const outcomeRow = findOne(Outcome)
  const followRow = findOne(Schema.Struct({ exists: Schema.Boolean }))
  const followRows = findAll(FollowRow)
  const accept = yield* makeAcceptance
  const cursors = yield* Cursors
  const pages = cursors.listById("follows")
  const feedItems = findAll(FeedItem)
  const feedPages = cursors.listById("feed")
  const lists = {
    following: { own: sql.literal("follower_id"), other: sql.literal("followed_id") },
    followers: { own: sql.literal("followed_id"), other: sql.literal("follower_id") }
  }

  const follow: Social["Service"]["follow"] = Effect.fn("Social.follow")(function* (agentId, targetId) {
    if (!isUuid(targetId)) return yield* NotFound.agent(targetId)
    const target = targetId.toLowerCase()
    if (target === agentId) {
      return yield* new FollowRefused({ detail: "An agent cannot follow itself.", code: "self_follow" })
    }
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    const owed = yield* OwedUses
    const accepted = yield* accept({
      owed: [owed],
      recorded: sql`select 1 from own where count < ${settings.followsPerAgent}`
    })
    // Locks the row of its own count first, so that concurrent follows of one agent are counted one after another.
    const { following, known, made } = yield* outcomeRow(sql`
      with target as (
        select id from agents where id = ${target}::uuid
      ),
      own as (
        insert into follow_counts as n (agent_id, side, count)
        select ${agentId}::uuid, 'following', 0 from target
        on conflict (agent_id, side) do update set count = n.count
        returning count
      ),
      made as (
        insert into follows (id, follower_id, followed_id, created_at)
        select ${id}::uuid, ${agentId}::uuid, target.id, ${timestamp(now)}
          from target cross join own
         where own.count < ${settings.followsPerAgent}
        on conflict (follower_id, followed_id) do nothing
        returning 1
      ),
      accepted as (${accepted})
      select exists (select from target) as known, exists (select from made) as made,
             coalesce((select count from own), 0)::int as following
        from accepted`)
    if (!known) return yield* NotFound.agent(targetId)
    if (made || following < settings.followsPerAgent) return
    // This second statement sees a follow that committed while the first one waited for the count.
    const { exists } = yield* followRow(sql`
      with followed as (
        select from follows where follower_id = ${agentId}::uuid and followed_id = ${target}::uuid
      ),
      accepted as (${yield* accept({ owed: [owed], recorded: sql`select 1 from followed` })})
      select exists (select from followed) as exists from accepted`)
    if (!exists) {
      return yield* new FollowRefused({
        detail: `An agent follows at most ${settings.followsPerAgent} others: end another follow first.`,
        code: "follow_limit"
      })
    }
  })

  /** Locks in the order of `follow`: the agent's own count, the follow, and (by the trigger) the other's count. */
  const unfollow: Social["Service"]["unfollow"] = Effect.fn("Social.unfollow")(function* (agentId, targetId) {
    if (!isUuid(targetId)) return
    yield* execute(sql`
      with own as materialized (
        select agent_id from follow_counts where agent_id = ${agentId}::uuid and side = 'following'
           for no key update
      )
      delete from follows f using own
       where f.follower_id = own.agent_id and f.followed_id = ${targetId}::uuid`)
  })

  const list = Effect.fnUntraced(function* (side: keyof typeof lists, agentId: AgentId, page: Page) {
    const { other, own } = lists[side]
    const { after, toPage, limit } = yield* pages.decode(page, side)
    const rows = yield* followRows(sql`
      select f.id::text, a.id::text as agent_id, a.name as agent_name, ${disambiguator(sql)} as name_tag, a.model_provider, a.model_name,
             a.claimed_at is not null as verified, ${isoTimestamp(sql, "f.created_at")} as followed_at
        from (
          select id, ${other} as agent_id, created_at from follows
           where ${own} = ${agentId}::uuid ${pageAfter(sql, "id <", after)}
           order by id desc
           limit ${limit}) f
       cross join lateral (select * from agents where id = f.agent_id limit 1) a
       order by f.id desc`)
    const { items, next_cursor } = toPage(rows, (last) => last.id)
    return { items: items.map((row) => Struct.omit(row, ["id"])), next_cursor }
  })

  const feed: Social["Service"]["feed"] = Effect.fn("Social.feed")(function* (agentId, page) {
    const { after, toPage, limit } = yield* feedPages.decode(page)
    const before = pageAfter(sql, "id <", after)
    // One index probe finds the newest comment of each followed agent. Only the agents with the newest of these can be on the page,
    // with no comment older than the last of them, and the n-th of these agents with at most limit + 1 - n comments. So the cost
    // depends neither on the number of comments nor on their authors.
    const rows = yield* feedItems(sql`
      with authors as materialized (
        select agent_id, id, row_number() over (order by id desc) as place
          from (
            select f.followed_id as agent_id, newest.id
              from follows f
             cross join lateral (
               select id from comments
                where agent_id = f.followed_id and not is_reply ${before}
                order by id desc limit 1) newest
             where f.follower_id = ${agentId}::uuid
             order by newest.id desc
             limit ${limit}) a
      ),
      page as materialized (
        select c.id
          from authors a
         cross join lateral (
           select id from comments
            where agent_id = a.agent_id and not is_reply ${before}
              and id >= coalesce((select id from authors where place = ${limit}), ${minId}::uuid)
            order by id desc limit ${limit} + 1 - a.place) c
         order by c.id desc
         limit ${limit}
      )
      select 'comment' as type, c.agent_id::text, a.name as agent_name, ${disambiguator(sql)} as name_tag, c.event_id, e.title as event_title,
             c.id::text as comment_id, c.content, n.like_count, ${isoTimestamp(sql, "c.created_at")} as created_at
        from page p
       cross join lateral (select * from comments where id = p.id limit 1) c
       cross join lateral (select id, name, held_name from agents where id = c.agent_id limit 1) a
       cross join lateral (select title from events where id = c.event_id limit 1) e
       cross join lateral (select like_count from comment_counts where comment_id = c.id limit 1) n
       order by p.id desc`)
    return toPage(rows, (last) => last.comment_id)
  })

  return Social.of({
    follow,
    unfollow,
    feed,
    following: Effect.fn("Social.following")((agentId, page) => list("following", agentId, page)),
    followers: Effect.fn("Social.followers")((agentId, page) => list("followers", agentId, page))
  })
})

export const layer = Layer.effect(Social, make)

import { DateTime, Effect, Layer, Option, Schema, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../services/errors.ts"
import { FollowedAgent, FollowRefused, Follows } from "../../services/Follows.ts"
import { isUuid } from "../../services/identifiers.ts"
import type { AgentId } from "../../services/identifiers.ts"
import { Cursors, cutPage, invalidCursor } from "../../services/paging.ts"
import type { Page } from "../../services/paging.ts"
import { Settings } from "../../services/Settings.ts"
import { at, many, one, run } from "./query.ts"
import { iso } from "./wire.ts"

const Outcome = Schema.Struct({
  known: Schema.Boolean,
  made: Schema.Boolean,
  following: Schema.Int
})

const FollowRow = Schema.Struct({ ...FollowedAgent.fields, id: Schema.String })

const unknownAgent = (id: string) => new NotFound({ detail: `There is no agent ${id.slice(0, 64)}.` })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const outcomeRow = one(Outcome)
  const standing = one(Schema.Struct({ stands: Schema.Boolean }))
  const followRows = many(FollowRow)
  const cursor = (yield* Cursors).ids("follows")
  const lists = {
    following: { own: sql.literal("follower_id"), other: sql.literal("followed_id") },
    followers: { own: sql.literal("followed_id"), other: sql.literal("follower_id") }
  }

  const follow: Follows["Service"]["follow"] = Effect.fn("Follows.follow")(function* (agentId, asked) {
    if (!isUuid(asked)) return yield* unknownAgent(asked)
    const target = asked.toLowerCase()
    if (target === agentId) {
      return yield* new FollowRefused({ detail: "An agent cannot follow itself.", code: "self_follow" })
    }
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    // The row of its own count is locked first, so what an agent begins to follow at once is counted one after another.
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
        select ${id}::uuid, ${agentId}::uuid, target.id, ${at(now)}
          from target cross join own
         where own.count < ${settings.followsPerAgent}
        on conflict (follower_id, followed_id) do nothing
        returning 1
      )
      select exists (select from target) as known, exists (select from made) as made,
             coalesce((select count from own), 0)::int as following`)
    if (!known) return yield* unknownAgent(asked)
    if (made || following < settings.followsPerAgent) return
    // Asked by itself: the statement above has not seen a follow that was made while it waited for the count.
    const { stands } = yield* standing(sql`
      select exists (select from follows
                      where follower_id = ${agentId}::uuid and followed_id = ${target}::uuid) as stands`)
    if (!stands) {
      return yield* new FollowRefused({
        detail: `An agent follows at most ${settings.followsPerAgent} others: end another follow first.`,
        code: "follow_limit"
      })
    }
  })

  /** Locks in the order in which following does: the agent's own count, the follow, and the other's count by the trigger. */
  const unfollow: Follows["Service"]["unfollow"] = Effect.fn("Follows.unfollow")(function* (agentId, asked) {
    if (!isUuid(asked)) return
    yield* run(sql`
      with own as materialized (
        select agent_id from follow_counts where agent_id = ${agentId}::uuid and side = 'following'
           for no key update
      )
      delete from follows f using own
       where f.follower_id = own.agent_id and f.followed_id = ${asked}::uuid`)
  })

  const list = Effect.fnUntraced(function* (side: keyof typeof lists, agentId: AgentId, page: Page) {
    const { other, own } = lists[side]
    const after = Option.getOrNull(cursor.decode(page.cursor, side))
    if (after === null) return yield* invalidCursor()
    const rows = yield* followRows(sql`
      select f.id::text, a.id::text as agent_id, a.name as agent_name, a.model_provider, a.model_name,
             a.claimed_at is not null as verified, ${iso(sql, "f.created_at")} as followed_at
        from (
          select id, ${other} as agent_id, created_at from follows
           where ${own} = ${agentId}::uuid ${after === undefined ? sql`` : sql`and id < ${after}::uuid`}
           order by id desc
           limit ${page.limit + 1}) f
       cross join lateral (select * from agents where id = f.agent_id limit 1) a
       order by f.id desc`)
    const { items, next_cursor } = cutPage(rows, page.limit, (last) => cursor.encode(last.id, side))
    return { items: items.map((row) => Struct.omit(row, ["id"])), next_cursor }
  })

  return Follows.of({
    follow,
    unfollow,
    following: Effect.fn("Follows.following")((agentId, page) => list("following", agentId, page)),
    followers: Effect.fn("Follows.followers")((agentId, page) => list("followers", agentId, page))
  })
})

export const layer = Layer.effect(Follows, make)

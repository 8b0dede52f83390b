/** Agents' relations: follows, and posts written without the service, so that a test can hold their transaction. */
import { DateTime, Effect, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Social } from "../../src/services/Social.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import type { Page } from "../../src/services/domain/paging.ts"

export const follow = (agentId: AgentId, target: string) =>
  Social.use((social) => social.follow(agentId, target))

export const unfollow = (agentId: AgentId, target: string) =>
  Social.use((social) => social.unfollow(agentId, target))

export const feedOf = (agentId: AgentId, page: Page) => Social.use((social) => social.feed(agentId, page))

/** The events of these tests' comments. */
export const makeEvent = SqlClient.SqlClient.use(
  (sql) => sql`
    insert into events (id, title, published_at, spaces, assets, created_at, updated_at)
    select id, 'A ' || id, to_timestamp(0), '{}', '{}', to_timestamp(0), to_timestamp(0)
      from unnest(array['storm', 'calm']) as e (id)
    on conflict do nothing`
)

export interface Post {
  readonly content?: string
  readonly parent?: string
  readonly event?: "storm" | "calm"
}

/** Writes a comment, or a reply to `parent`; returns its id. */
export const writeComment = Effect.fnUntraced(function* (agentId: AgentId, post: Post = {}) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const id = yield* SecureRandom.SecureRandom.use((random) => random.uuidV7())
  yield* sql`
    insert into comments (id, agent_id, event_id, parent_id, content, created_at)
    values (${id}::uuid, ${agentId}::uuid, ${post.event ?? "storm"}, ${post.parent ?? null}::uuid, ${post.content ?? "a comment"},
            ${DateTime.toDateUtc(now)})`
  return id
})

/** Makes `agentId` like a post of `authorId`. */
export const writeLike = Effect.fnUntraced(function* (agentId: AgentId, postId: string, authorId: AgentId) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const id = yield* SecureRandom.SecureRandom.use((random) => random.uuidV7())
  yield* sql`
    insert into comment_likes (comment_id, agent_id, author_id, id, created_at)
    values (${postId}::uuid, ${agentId}::uuid, ${authorId}::uuid, ${id}::uuid, ${DateTime.toDateUtc(now)})`
})

/** Cursors made of a real one, each with one change. */
export const tamperedCursors = (cursor: string): ReadonlyArray<string> => {
  const middle = Math.floor(cursor.length / 2)
  const changed = (at: number) =>
    cursor.slice(0, at) + (cursor[at] === "A" ? "B" : "A") + cursor.slice(at + 1)
  return [
    ...[0, middle, cursor.length - 2].map(changed),
    cursor.slice(0, -1),
    cursor.slice(1),
    `${cursor}A`,
    cursor + cursor,
    "",
    "x",
    "\u0000",
    "é".repeat(40)
  ]
}

export const nextOf = (page: { readonly next_cursor: string | null }): string =>
  Option.getOrThrow(Option.fromNullishOr(page.next_cursor))

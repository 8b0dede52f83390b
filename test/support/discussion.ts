/** Short constructors of discussions. */
import { DateTime, Effect } from "effect"
import { Discussion } from "../../src/services/Discussion.ts"
import type { NewPost, PostKind } from "../../src/services/Discussion.ts"
import { Events } from "../../src/services/Events.ts"
import type { EventImport } from "../../src/services/Events.ts"
import type { AgentId, EventId } from "../../src/services/domain/ids.ts"

/** An event, published now unless the fields set another time. */
export const newEvent = Effect.fnUntraced(function* (fields: Partial<EventImport> = {}) {
  const published_at = yield* DateTime.now
  const [event] = yield* Events.use((events) =>
    events.importAll([{ title: "An event", published_at, ...fields }])
  )
  if (event === undefined) return yield* Effect.die(new Error("no event was imported"))
  return event
})

export const comment = (
  agentId: AgentId,
  event: { readonly event_id: EventId },
  sent: Partial<NewPost> = {}
) =>
  Discussion.use((discussion) =>
    discussion.post(agentId, { news_id: event.event_id, content: "A comment.", ...sent })
  )

export const reply = (
  agentId: AgentId,
  parent: { readonly comment_id: string },
  content: string = "A reply."
) => Discussion.use((discussion) => discussion.reply(agentId, parent.comment_id, { content }))

export const like = (agentId: AgentId, post: { readonly comment_id: string }, kind: PostKind = "comment") =>
  Discussion.use((discussion) => discussion.like({ agentId, kind, id: post.comment_id }))

export const unlike = (agentId: AgentId, post: { readonly comment_id: string }, kind: PostKind = "comment") =>
  Discussion.use((discussion) => discussion.unlike({ agentId, kind, id: post.comment_id }))

/**
 * What an agent did, newest first: what it submitted, staked, wrote, liked and followed. It shows what stands: a like or a
 * follow that was taken back is no longer in it.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { Direction } from "./Challenges.ts"
import type { InvalidRequest } from "./errors.ts"
import { AgentId, ChallengeId, EventId } from "./identifiers.ts"
import { pageSchema } from "./paging.ts"
import type { Page, PageOf } from "./paging.ts"
import { Timestamp } from "./text.ts"

const action = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({
    type: Schema.Literal(type),
    action_id: Schema.String.annotate({ description: "identifier of what was done (UUIDv7)" }),
    created_at: Timestamp,
    ...fields
  })

export const Action = Schema.Union([
  action("prediction", {
    challenge_id: ChallengeId,
    revision: Schema.Int.annotate({ description: "0 for the first prediction of the challenge" }),
    direction: Schema.NullOr(Direction),
    confidence: Schema.NullOr(Schema.Finite),
    predicted_value: Schema.NullOr(Schema.Finite),
    predicted_std: Schema.NullOr(Schema.Finite)
  }),
  action("paper_signal", { challenge_id: ChallengeId, direction: Direction, confidence: Schema.Finite }),
  action("stake", {
    challenge_id: ChallengeId,
    bin: Schema.Int,
    amount: Schema.Finite.annotate({ description: "credits" })
  }),
  action("comment", { comment_id: Schema.String, event_id: EventId, content: Schema.String }),
  action("reply", {
    comment_id: Schema.String,
    parent_comment_id: Schema.String,
    event_id: EventId,
    content: Schema.String
  }),
  action("like", {
    comment_id: Schema.String.annotate({ description: "the comment or the reply" }),
    author_id: AgentId
  }),
  action("follow", { target_agent_id: AgentId })
]).annotate({ identifier: "Action" })
export type Action = typeof Action.Type

export const Actions = pageSchema(Action).annotate({ identifier: "Actions" })

export class ActionHistory extends Context.Service<
  ActionHistory,
  {
    readonly list: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<Action>, InvalidRequest>
  }
>()("auspex/services/ActionHistory") {}

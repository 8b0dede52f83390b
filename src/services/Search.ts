/** Finds assets, agents and events by words, also by words with mistakes in them. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./domain/errors.ts"
import { AgentId, EventId } from "./domain/ids.ts"
import { text, Timestamp } from "./domain/text.ts"
import { Target } from "./Targets.ts"

/** What is searched for: a name, a model, a word of a headline. */
export const SearchText = text({ minimum: 2, maximum: 100 })

export const FoundAgent = Schema.Struct({
  agent_id: AgentId,
  name: Schema.String,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean
})
export type FoundAgent = typeof FoundAgent.Type

export const FoundEvent = Schema.Struct({
  event_id: EventId,
  title: Schema.String,
  published_at: Timestamp
})

/** Of each kind at most twenty. */
export interface Found {
  /** What is most like the text first. */
  readonly assets: ReadonlyArray<Target>
  /** What is most like the text first, of equals the oldest; without suspended ones. */
  readonly agents: ReadonlyArray<FoundAgent>
  /** The newest first. */
  readonly events: ReadonlyArray<typeof FoundEvent.Type>
}

export class Search extends Context.Service<
  Search,
  { readonly find: (text: string) => Effect.Effect<Found, InvalidRequest> }
>()("auspex/services/Search") {}

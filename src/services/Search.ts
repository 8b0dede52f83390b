/** Finds assets, agents, events and questions by words, in any script, also if words have mistakes in them. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./domain/errors.ts"
import { AgentId, ChallengeId, EventId } from "./domain/ids.ts"
import { isWordByItself, text, Timestamp } from "./domain/text.ts"
import type { Target } from "./Targets.ts"

/** The search text: a name, a model, words of a headline or of a question. */
export const SearchText = text({ minimum: 1, maximum: 100 }).check(
  Schema.makeFilter((value) => [...value].length > 1 || isWordByItself(value))
)

export const FoundAgent = Schema.Struct({
  agent_id: AgentId,
  name: Schema.String,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean,
  /** True if it is one of the instance's own. */
  reference: Schema.Boolean
})
export type FoundAgent = typeof FoundAgent.Type

export const FoundEvent = Schema.Struct({
  event_id: EventId,
  title: Schema.String,
  published_at: Timestamp
})

/** Finds at most twenty results of each kind with every word of the text; if there are none, similar ones. */
export interface Found {
  /** The best match is first. */
  readonly assets: ReadonlyArray<Target>
  /** Agents whose name is or begins with the text come first, then the oldest; suspended ones are left out. */
  readonly agents: ReadonlyArray<FoundAgent>
  /** The newest event is first. */
  readonly events: ReadonlyArray<typeof FoundEvent.Type>
  /** Questions whose own text has the words: those that have not ended come first, then the newest. */
  readonly questions: ReadonlyArray<ChallengeId>
}

export class Search extends Context.Service<
  Search,
  {
    readonly find: (text: string) => Effect.Effect<Found, InvalidRequest>
    /** Finds assets alone, as `find` does. */
    readonly assets: (text: string) => Effect.Effect<Found["assets"], InvalidRequest>
  }
>()("auspex/services/Search") {}

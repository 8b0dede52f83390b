/** Finds assets, agents, events and questions by words, in any script, and by words with mistakes in them. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./domain/errors.ts"
import { AgentId, ChallengeId, EventId } from "./domain/ids.ts"
import { isWordByItself, text, Timestamp } from "./domain/text.ts"
import type { Target } from "./Targets.ts"

/** What is searched for: a name, a model, words of a headline or of a question. */
export const SearchText = text({ minimum: 1, maximum: 100 }).check(
  Schema.makeFilter((value) => [...value].length > 1 || isWordByItself(value))
)

export const FoundAgent = Schema.Struct({
  agent_id: AgentId,
  name: Schema.String,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean,
  /** Whether it is one of the instance's own. */
  reference: Schema.Boolean
})
export type FoundAgent = typeof FoundAgent.Type

export const FoundEvent = Schema.Struct({
  event_id: EventId,
  title: Schema.String,
  published_at: Timestamp
})

/** At most twenty of each kind, with every word of the text; if nothing has them, what is nearly like the text. */
export interface Found {
  /** The best match first. */
  readonly assets: ReadonlyArray<Target>
  /** Those whose name is or begins with the text first, then the oldest; without suspended ones. */
  readonly agents: ReadonlyArray<FoundAgent>
  /** The newest first. */
  readonly events: ReadonlyArray<typeof FoundEvent.Type>
  /** Questions whose own text has the words, open and ended: those that have not ended first, then the newest. */
  readonly questions: ReadonlyArray<ChallengeId>
}

export class Search extends Context.Service<
  Search,
  {
    readonly find: (text: string) => Effect.Effect<Found, InvalidRequest>
    /** Assets alone, as `find` has them. */
    readonly assets: (text: string) => Effect.Effect<Found["assets"], InvalidRequest>
  }
>()("auspex/services/Search") {}

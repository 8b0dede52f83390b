/**
 * Agents of the instance itself, which answer every question by a fixed method that an agent should beat. They predict
 * before the deadline like all others, sealed and logged, and have no owner, no rank and no credentials.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"

export const ReferenceMethod = Schema.Literals([
  "random walk",
  "climatology",
  "always neutral",
  "momentum",
  "contrarian",
  "last print"
])
export type ReferenceMethod = typeof ReferenceMethod.Type

export class ReferenceAgents extends Context.Service<
  ReferenceAgents,
  {
    /** Answers open questions by each method that has an answer and has not given it yet. Returns the number of answers. */
    readonly predictDue: Effect.Effect<number>
    /** Pools the answers of all claimed agents to settled questions, one voice an owner. Returns the number of questions. */
    readonly poolDue: Effect.Effect<number>
  }
>()("auspex/services/ReferenceAgents") {}

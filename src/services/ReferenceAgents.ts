/**
 * Agents of the instance itself, which answer every question by a fixed method: what an agent should beat. They
 * predict before the deadline like all others, sealed and logged, and have no owner, no rank and no credentials.
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
    /** Answers what is open and not answered yet, by each method that has an answer. Returns how many answers it sent. */
    readonly predictDue: Effect.Effect<number>
    /** What all claimed agents said together of questions that were settled, one voice an owner. Returns of how many. */
    readonly poolDue: Effect.Effect<number>
  }
>()("auspex/services/ReferenceAgents") {}

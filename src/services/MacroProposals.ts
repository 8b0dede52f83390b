/** First prints that a source shows for macro challenges: proposals, until an administrator records a value. */
import { Context, Schema } from "effect"
import type { DateTime, Effect } from "effect"
import { ChallengeId } from "./identifiers.ts"
import type { FirstPrint, MacroQuestion } from "./MacroSource.ts"
import { Timestamp } from "./text.ts"

export const MacroProposal = Schema.Struct({
  challenge_id: ChallengeId,
  asset: Schema.String,
  period: Schema.String,
  unit: Schema.NullOr(Schema.String),
  value: Schema.Finite,
  source: Schema.String.annotate({ description: "series and transformation, for example FRED CPIAUCNS pc1" }),
  released_on: Schema.String.annotate({ format: "date", description: "the day of the first print" }),
  fetched_at: Timestamp
}).annotate({ identifier: "MacroProposal" })
export type MacroProposal = typeof MacroProposal.Type

/** A challenge whose figure should be published by now. */
export interface Unresolved extends MacroQuestion {
  readonly challengeId: string
  readonly deadline: DateTime.Utc
}

export class MacroProposals extends Context.Service<
  MacroProposals,
  {
    /** Past their release and without a value or a proposal, oldest first. */
    readonly due: Effect.Effect<ReadonlyArray<Unresolved>>
    /** The first one of a challenge stays. */
    readonly record: (challengeId: string, print: FirstPrint) => Effect.Effect<void>
    /** Of challenges that wait for their value, oldest first. */
    readonly waiting: Effect.Effect<ReadonlyArray<MacroProposal>>
  }
>()("auspex/services/MacroProposals") {}

/**
 * First prints of macro series: their look-up in the unit of a challenge, and the proposals made of them until an administrator
 * records a value.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect, Option } from "effect"
import type { SourceFailed } from "./PriceSource.ts"
import { ChallengeId } from "./domain/ids.ts"
import { Timestamp } from "./domain/text.ts"

interface MacroQuestion {
  readonly asset: string
  readonly period: string
  readonly unit: string | null
}

/** The first published value of a period, despite later revisions. */
interface FirstPrint {
  readonly value: number
  /** The source, for example `FRED CPIAUCNS pc1`. */
  readonly source: string
  /** The first day of the period. */
  readonly observation: string
  readonly releasedOn: string
  readonly fetchedAt: DateTime.Utc
  /** SHA-256 of the bytes of the answers. */
  readonly payloadHash: Uint8Array
}

export class MacroSource extends Context.Service<
  MacroSource,
  {
    /** None before it is published, and if the source does not have this unit. */
    readonly firstPrint: (question: MacroQuestion) => Effect.Effect<Option.Option<FirstPrint>, SourceFailed>
  }
>()("auspex/services/MacroSource") {}

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

/** A challenge whose value should be published by now. */
interface Unresolved extends MacroQuestion {
  readonly challengeId: string
  readonly deadline: DateTime.Utc
}

export class MacroProposals extends Context.Service<
  MacroProposals,
  {
    /** Challenges past their release without a value or a proposal, oldest first. */
    readonly due: Effect.Effect<ReadonlyArray<Unresolved>>
    /** Stores the first proposal of a challenge. */
    readonly record: (challengeId: string, print: FirstPrint) => Effect.Effect<void>
    /** Proposals for challenges that wait for their value, oldest first. */
    readonly waiting: Effect.Effect<ReadonlyArray<MacroProposal>>
  }
>()("auspex/services/MacroProposals") {}

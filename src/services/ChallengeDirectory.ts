/** Challenges of every type in one list, as people look through them: what is asked, until when, and how it ended. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { AnyStatus, ChallengeType, Direction } from "./Challenges.ts"
import type { InvalidRequest } from "./errors.ts"
import { ChallengeId } from "./identifiers.ts"
import type { EventId } from "./identifiers.ts"
import type { Page, PageOf } from "./paging.ts"
import { Timestamp } from "./text.ts"

export const ChallengeSummary = Schema.Struct({
  id: ChallengeId,
  type: ChallengeType,
  kind: Schema.String,
  asset: Schema.String,
  question: Schema.String,
  status: AnyStatus,
  deadline: Timestamp,
  resolve_at: Timestamp,
  ended_at: Schema.NullOr(Timestamp).annotate({ description: "when it was settled or cancelled" }),
  prediction_count: Schema.Int,
  result: Schema.NullOr(Direction).annotate({ description: "null for numeric questions" }),
  actual_value: Schema.NullOr(Schema.Finite).annotate({ description: "of numeric questions" }),
  unit: Schema.NullOr(Schema.String)
})
export type ChallengeSummary = typeof ChallengeSummary.Type

/** `ended`: without a result, which is called cancelled of a directional challenge and void of the others. */
export const DirectoryStatus = Schema.Literals(["open", "closed", "resolved", "ended"])
export type DirectoryStatus = typeof DirectoryStatus.Type

export interface DirectoryFilter {
  readonly status: DirectoryStatus
  readonly type?: typeof ChallengeType.Type | undefined
}

export class ChallengeDirectory extends Context.Service<
  ChallengeDirectory,
  {
    /** The open ones by what closes next, those that wait for their end by what closed last, the others newest first. */
    readonly list: (
      filter: DirectoryFilter,
      page: Page
    ) => Effect.Effect<PageOf<ChallengeSummary>, InvalidRequest>
    /** Those with a result, by when they were settled, the latest first. */
    readonly settledLast: (limit: number) => Effect.Effect<ReadonlyArray<ChallengeSummary>>
    /** The newest that refer to an event, whatever their status. */
    readonly ofEvent: (eventId: EventId) => Effect.Effect<ReadonlyArray<ChallengeSummary>>
  }
>()("auspex/services/ChallengeDirectory") {}

/** Challenges of every type in one list, as people look through them: what is asked, until when, and how it ended. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./errors.ts"
import type { EventId } from "./identifiers.ts"
import type { Page, PageOf } from "./paging.ts"
import type { ChallengeSummary, DirectoryFilter } from "./domain/Challenge.ts"

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

/** What is due now, and how it is made. */
import { Data, Effect } from "effect"
import type { ChallengeId } from "../../../../services/identifiers.ts"
import type { Scheduled } from "../../../../services/Schedules.ts"

/** It is due, and cannot be made for a reason that may pass. */
export class NotYet extends Data.TaggedError("NotYet")<{ readonly reason: string }> {}

export interface Plan extends Scheduled {
  /** The event that a flash challenge is made of. */
  readonly eventId: string | null
  readonly make: Effect.Effect<{ readonly id: ChallengeId }, NotYet>
}

/** What an arena refuses is said in its words. */
export const made = (
  create: Effect.Effect<{ readonly id: ChallengeId }, { readonly detail: string }>
): Plan["make"] => Effect.mapError(create, ({ detail }) => new NotYet({ reason: detail }))

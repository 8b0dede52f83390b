/**
 * The instances on one database, by their heartbeats. Nothing that an older program could not read is written until every known
 * instance can read it, whether an instance or an agent would cause it: so an upgrade may go in any order, and can be undone until it
 * is complete.
 */
import { Context } from "effect"
import type { Effect } from "effect"

export interface Instance {
  /** A UUID, new at each start: an instance that returns as another version does not hide its predecessor. */
  readonly id: string
  readonly name: string
  readonly version: string
  readonly roles: ReadonlyArray<string>
}

/**
 * The first program, by the newest migration it knows, that reads answers in forms and questions in categories, the ladder, equal
 * quantiles, counts of days by daily candles, and ranges. A trigger of the migration excludes older programs at the first use.
 */
export const firstProgram = { forms: 14, ladder: 19, ties: 29, dailyCounts: 30, range: 35 } as const

export class Instances extends Context.Service<
  Instances,
  {
    /** Writes the heartbeat of this instance, and those of connected programs that write none. */
    readonly beat: (self: Instance) => Effect.Effect<void>
    /** True if every instance that was seen lately reads this, or the database rejects those that do not. */
    readonly allRead: (what: keyof typeof firstProgram) => Effect.Effect<boolean>
    /** Deletes instances that were not seen for long. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Instances") {}

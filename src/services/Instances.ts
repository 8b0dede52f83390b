/**
 * The instances on one database, by their heartbeats. Neither an instance by itself nor an agent writes what a program of before
 * could not read until each one that was seen can: so an upgrade may go in any order, and can be undone until it is over.
 */
import { Context } from "effect"
import type { Effect } from "effect"

export interface Instance {
  /** A UUID, new at each start: an instance that comes back as another version does not hide the one it was. */
  readonly id: string
  readonly name: string
  readonly version: string
  readonly roles: ReadonlyArray<string>
}

/**
 * The first program, by the newest migration it knows, that reads answers in forms and questions in categories, the ladder,
 * equal quantiles, and counts of days by daily candles. A trigger of the migration ends older programs at the first one.
 */
export const firstProgram = { forms: 14, ladder: 19, ties: 29, dailyCounts: 30 } as const

export class Instances extends Context.Service<
  Instances,
  {
    /** Writes the heartbeat of this instance, and that of programs whose sessions are there and that write none. */
    readonly beat: (self: Instance) => Effect.Effect<void>
    /** Whether every instance that was seen lately reads this, or the database refuses those that do not. */
    readonly allRead: (what: keyof typeof firstProgram) => Effect.Effect<boolean>
    /** Forgets instances that were not seen for long. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Instances") {}

/**
 * Challenges that make themselves: a session a target and trading day, a flash hour after an event that names a target,
 * questions on the week of a crypto asset, and a macro challenge before each planned release. Each is made once, in one
 * transaction with the record that it was made, so any number of replicas may look at any time. What was missed is not
 * made up for: predictions could not be in time.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { ChallengeId } from "./identifiers.ts"

/** What an operator switches on and off. */
export const scheduleNames = ["session", "flash", "price_event", "macro"] as const
export type ScheduleName = (typeof scheduleNames)[number]

/** What is made at most once a target and period: a schedule, or one of the questions that it asks. */
export type ScheduledKind =
  | "session"
  | "flash"
  | "numeric_close"
  | "threshold"
  | "count_days"
  | "barrier_up"
  | "barrier_down"
  | "macro"

export interface Scheduled {
  readonly kind: ScheduledKind
  readonly target: string
  /** A trading day, an hour, a Monday, or the period of a figure with its unit. */
  readonly period: string
}

/** What a run did. */
export interface ScheduleReport {
  readonly made: ReadonlyArray<Scheduled & { readonly challengeId: ChallengeId }>
  /** Due, and not made for a reason that may pass; tried again at the next run. */
  readonly waiting: ReadonlyArray<Scheduled & { readonly reason: string }>
}

export class Schedules extends Context.Service<
  Schedules,
  {
    /** Makes what is due now, of the schedules that are on. */
    readonly makeDue: Effect.Effect<ScheduleReport>
  }
>()("auspex/services/Schedules") {}

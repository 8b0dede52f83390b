/**
 * Challenges that the server makes itself: sessions, flash hours after events, a ladder of 1, 4 and 24 hours, questions
 * on the week of a crypto asset, and a macro challenge before each planned release. Each is made once, in one
 * transaction with the record that it was made, so any number of replicas may run it. A missed period is not made up
 * for: predictions could not be in time.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect, Option } from "effect"
import type { InvalidRequest } from "./domain/errors.ts"
import { ChallengeId, TargetKey } from "./domain/ids.ts"
import { list, Term, text, Timestamp } from "./domain/text.ts"
import type { ladderHours } from "./domain/Challenge.ts"
import {
  categoriesOrBins,
  NewMacroChallenge,
  OrderedCategory,
  OutcomeName,
  scaleBounds
} from "./domain/Challenge.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page } from "./domain/paging.ts"
import type { QuestionFilter } from "./OpenQuestions.ts"
import type { WeeklyName } from "../scoring/kinds/facts.ts"

/** The schedules that an operator switches on and off. */
export const scheduleNames = ["session", "flash", "ladder", "price_event", "macro"] as const
export type ScheduleName = (typeof scheduleNames)[number]

/** A kind of scheduled challenge, which is made at most once for a target and a period. */
export type ScheduledKind = "session" | "flash" | keyof typeof ladderHours | WeeklyName | "macro"

export interface Scheduled {
  readonly kind: ScheduledKind
  readonly target: string
  /** A trading day, an hour, a Monday, or the period of a value with its unit. */
  readonly period: string
}

/** The report of a run. */
export interface ScheduleReport {
  readonly made: ReadonlyArray<Scheduled & { readonly challengeId: ChallengeId }>
  /** Due challenges that were not made for a reason that may pass; the next run tries them again. */
  readonly waiting: ReadonlyArray<Scheduled & { readonly reason: string }>
}

export class Schedules extends Context.Service<
  Schedules,
  {
    /** Makes the challenges that are due now by the enabled schedules. */
    readonly makeDue: Effect.Effect<ScheduleReport>
    /** The time of the next challenge that can be foretold: flash hours follow events, which nobody foresees. */
    readonly nextExpected: (
      filter: Pick<QuestionFilter, "asset" | "category" | "type" | "kind">
    ) => Effect.Effect<Option.Option<DateTime.Utc>>
  }
>()("auspex/services/Schedules") {}

const scale = Schema.Finite.check(Schema.isBetween(scaleBounds))

/** A release as an administrator plans it. */
export const PlannedRelease = Schema.Struct({
  asset: TargetKey.annotate({ description: "a macro series, for example CPI" }),
  period: text({ minimum: 1, maximum: 40 }).annotate({
    description: "the period of the value, for example 2026-03"
  }),
  unit: Schema.optionalKey(text({ minimum: 1, maximum: 40 })),
  release_at: Term.annotate({ description: "when the value is published" }),
  deadline: Schema.optionalKey(Term).annotate({
    description: "when predictions end; default: AUSPEX_RELEASE_CLOSE before release_at"
  }),
  question: Schema.optionalKey(text({ minimum: 1, maximum: 500 })),
  reference_scale: Schema.optionalKey(scale).annotate({
    description:
      "default: computed from the series' earlier first prints in this unit, of which 25 must be known"
  }),
  decimal_step: Schema.optionalKey(scale).annotate({
    description: "default: that of the earlier first prints"
  }),
  bin_edges: NewMacroChallenge.fields.bin_edges.annotate({
    description: "default: six edges around the last first print, a reference scale apart"
  }),
  categories: NewMacroChallenge.fields.categories,
  reward_pool: Schema.optionalKey(NewMacroChallenge.fields.reward_pool).annotate({
    description: "credits; default: 0"
  })
})
  .check(categoriesOrBins)
  .annotate({ identifier: "PlannedRelease" })
export type PlannedRelease = typeof PlannedRelease.Type

/** The whole calendar, which replaces the one before. */
export const NewReleaseCalendar = Schema.Struct({
  releases: list(PlannedRelease, { maximum: 10_000 })
})

/** A planned release without the keys that were left out, so that it can be sent back. */
export const Release = Schema.Struct({
  asset: Schema.String,
  period: Schema.String,
  unit: Schema.optionalKey(Schema.String),
  release_at: Timestamp,
  deadline: Schema.optionalKey(Timestamp),
  question: Schema.optionalKey(Schema.String),
  reference_scale: Schema.optionalKey(Schema.Finite),
  decimal_step: Schema.optionalKey(Schema.Finite),
  bin_edges: Schema.optionalKey(Schema.Array(Schema.Finite)),
  categories: Schema.optionalKey(Schema.Array(OrderedCategory)),
  reward_pool: Schema.Finite.annotate({ description: "credits" }),
  challenge_id: Schema.optionalKey(ChallengeId).annotate({
    description: "the challenge that was made of it, if one was; it keeps the terms that it was made with"
  })
}).annotate({ identifier: "Release" })

export const Releases = Schema.Struct({ releases: Schema.Array(Release) }).annotate({
  identifier: "ReleaseCalendar"
})
export type Releases = typeof Releases.Type

/** A public release: planned, or with its published value. */
export const PublishedRelease = Schema.Struct({
  asset: Schema.String,
  period: Schema.String,
  unit: Schema.NullOr(Schema.String),
  release_at: Timestamp,
  challenge_id: Schema.NullOr(ChallengeId).annotate({ description: "null before the challenge is made" }),
  deadline: Schema.NullOr(Timestamp).annotate({
    description: "when predictions end; null before the challenge is made"
  }),
  actual_value: Schema.NullOr(Schema.Finite).annotate({ description: "null before the settlement" }),
  outcome_name: Schema.optionalKey(OutcomeName),
  source: Schema.NullOr(Schema.String).annotate({ description: "of the value" }),
  settled_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "PublishedRelease" })

export const PublishedReleases = pageSchema(PublishedRelease)

/** Releases from a time on, and before another. */
export interface ReleaseFilter {
  readonly asset?: string | undefined
  readonly from?: DateTime.Utc | undefined
  readonly before?: DateTime.Utc | undefined
}

/**
 * The macro releases that administrators expect. The schedule makes one challenge of each release, some days before it.
 * The calendar is a plan: a challenge that was made of a release stays as it was made, whatever becomes of the release.
 */
export class ReleaseCalendar extends Context.Service<
  ReleaseCalendar,
  {
    /** The calendar, in the order of release. */
    readonly list: Effect.Effect<Releases>
    /** Replaces the whole calendar; releases that are left out are no longer planned. No challenge changes. */
    readonly replace: (releases: ReadonlyArray<PlannedRelease>) => Effect.Effect<Releases, InvalidRequest>
    /** Planned releases, and every macro challenge that is not void, with its value; the last release first. */
    readonly published: (
      filter: ReleaseFilter,
      page: Page
    ) => Effect.Effect<typeof PublishedReleases.Type, InvalidRequest>
  }
>()("auspex/services/ReleaseCalendar") {}

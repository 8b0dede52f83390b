/**
 * The macro releases that administrators expect: of each a schedule makes one challenge, some days before. The calendar is
 * a plan. A challenge that was made of a release stays as it was made, whatever becomes of the plan.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./errors.ts"
import { ChallengeId } from "./identifiers.ts"
import { list, Term, text, Timestamp } from "./text.ts"
import { NewMacroChallenge, scaleBounds } from "./domain/Challenge.ts"

const scale = Schema.Finite.check(Schema.isBetween(scaleBounds))

/** A release as an administrator plans it. */
export const PlannedRelease = Schema.Struct({
  asset: text({ minimum: 1, maximum: 20 }).annotate({ description: "a macro series, for example CPI" }),
  period: text({ minimum: 1, maximum: 40 }).annotate({
    description: "what the figure is of, for example 2026-03"
  }),
  unit: Schema.optionalKey(text({ minimum: 1, maximum: 40 })),
  release_at: Term.annotate({ description: "when the figure is published" }),
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
  bin_edges: Schema.optionalKey(NewMacroChallenge.fields.bin_edges).annotate({
    description: "default: six edges around the last first print, a reference scale apart"
  }),
  reward_pool: Schema.optionalKey(NewMacroChallenge.fields.reward_pool).annotate({
    description: "credits; default: 0"
  })
}).annotate({ identifier: "PlannedRelease" })
export type PlannedRelease = typeof PlannedRelease.Type

/** The whole calendar, as it is replaced. */
export const NewReleaseCalendar = Schema.Struct({
  releases: list(PlannedRelease, { maximum: 10_000 })
})

/** As it is planned, without what was left out; so it can be sent back. */
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
  reward_pool: Schema.Finite.annotate({ description: "credits" }),
  challenge_id: Schema.optionalKey(ChallengeId).annotate({
    description: "the challenge that was made of it, if one was; it keeps the terms that it was made with"
  })
}).annotate({ identifier: "Release" })

export const Releases = Schema.Struct({ releases: Schema.Array(Release) }).annotate({
  identifier: "ReleaseCalendar"
})
export type Releases = typeof Releases.Type

export class ReleaseCalendar extends Context.Service<
  ReleaseCalendar,
  {
    /** In the order of release. */
    readonly list: Effect.Effect<Releases>
    /** Replaces the whole calendar: what is not named is not planned any more. Changes no challenge. */
    readonly replace: (releases: ReadonlyArray<PlannedRelease>) => Effect.Effect<Releases, InvalidRequest>
  }
>()("auspex/services/ReleaseCalendar") {}

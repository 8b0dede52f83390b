/**
 * The macro releases that administrators expect: of each a schedule makes one challenge, some days before. The calendar is
 * a plan. A challenge that was made of a release stays as it was made, whatever becomes of the plan.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./errors.ts"
import { ChallengeId } from "./identifiers.ts"
import { MacroValueField, NewMacroChallenge, scaleBounds } from "./MacroArena.ts"
import { Term, text, Timestamp } from "./text.ts"

const scale = Schema.Finite.check(Schema.isBetween(scaleBounds))

/** A field that is absent, or null as the calendar shows it. */
const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A release as an administrator plans it. */
export const PlannedRelease = Schema.Struct({
  asset: text({ minimum: 1, maximum: 20 }).annotate({ description: "a macro series, for example CPI" }),
  period: text({ minimum: 1, maximum: 40 }).annotate({
    description: "what the figure is of, for example 2026-03"
  }),
  unit: optional(text({ minimum: 1, maximum: 40 })),
  release_at: Term.annotate({ description: "when the figure is published" }),
  deadline: optional(Term).annotate({
    description: "when predictions end; default: AUSPEX_RELEASE_CLOSE before release_at"
  }),
  question: optional(text({ minimum: 1, maximum: 500 })),
  reference_scale: optional(scale).annotate({
    description:
      "default: computed from the series' earlier first prints in this unit, of which 25 must be known"
  }),
  decimal_step: optional(scale).annotate({ description: "default: that of the earlier first prints" }),
  bin_edges: optional(NewMacroChallenge.fields.bin_edges).annotate({
    description: "default: six edges around the last first print, a reference scale apart"
  }),
  reward_pool: Schema.optionalKey(NewMacroChallenge.fields.reward_pool).annotate({
    description: "credits; default: 0"
  })
}).annotate({ identifier: "PlannedRelease" })
export type PlannedRelease = typeof PlannedRelease.Type

/** The whole calendar, as it is replaced. */
export const NewReleaseCalendar = Schema.Struct({
  releases: Schema.Array(PlannedRelease).check(Schema.isMaxLength(2000))
})

export const Release = Schema.Struct({
  asset: Schema.String,
  period: Schema.String,
  unit: Schema.NullOr(Schema.String),
  release_at: Timestamp,
  deadline: Schema.NullOr(Timestamp),
  question: Schema.NullOr(Schema.String),
  reference_scale: Schema.NullOr(Schema.Finite),
  decimal_step: Schema.NullOr(Schema.Finite),
  bin_edges: Schema.NullOr(Schema.Array(MacroValueField)),
  reward_pool: Schema.Finite.annotate({ description: "credits" }),
  challenge_id: Schema.NullOr(ChallengeId).annotate({
    description: "the challenge that was made of it; it keeps the terms that it was made with"
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

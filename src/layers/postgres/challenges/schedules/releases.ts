/** Macro challenges of planned releases. */
import { BigDecimal, DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { decimalStep, minSurprises, referenceScale } from "../../../../scoring/macro.ts"
import { edgesAround } from "../../../../scoring/schedules.ts"
import { Arenas } from "../../../../services/Arenas.ts"
import { Settings } from "../../../../services/Settings.ts"
import { makeEarlierPrints } from "../earlierPrints.ts"
import { findAll, timestamp } from "../../sql.ts"
import { made, NotYet } from "./plan.ts"
import type { Plan } from "./plan.ts"

const Due = Schema.Struct({
  target: Schema.String,
  period: Schema.String,
  unit: Schema.NullOr(Schema.String),
  release_at: Schema.DateTimeUtcFromDate,
  deadline: Schema.NullOr(Schema.DateTimeUtcFromDate),
  question: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.Finite),
  reference_scale: Schema.NullOr(Schema.Finite),
  bin_edges: Schema.NullOr(Schema.Array(Schema.Finite)),
  reward_pool: Schema.Finite
})
type Due = typeof Due.Type

/** The period of a release among what was made: one figure may be published in several units. */
export const releasePeriod = "period || case when unit = '' then '' else ' ' || unit end"

const known = <Value>(value: Value | null): Value | undefined => value ?? undefined

const exact = (value: number): BigDecimal.BigDecimal => BigDecimal.fromStringUnsafe(String(value))

export const makeReleasePlans = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const { macro } = yield* Arenas
  const due = findAll(Due)
  const earlierPrints = yield* makeEarlierPrints

  const deadlineOf = ({ deadline, release_at }: Due) =>
    deadline ?? DateTime.subtractDuration(release_at, settings.releaseClose)

  /** Not those of a paused series, nor those that an administrator has made the challenge of. */
  const releases = (now: DateTime.Utc) =>
    due(sql`
      select r.target, r.period, nullif(r.unit, '') as unit, r.release_at, r.deadline, r.question,
             r.decimal_step::float8 as decimal_step, r.reference_scale::float8 as reference_scale,
             r.bin_edges::float8[] as bin_edges, r.reward_pool::float8 / 1000000 as reward_pool
        from release_calendar r join targets t on t.key = r.target and not t.paused
       where r.release_at > ${timestamp(now)}
         and r.release_at <= ${timestamp(DateTime.addDuration(now, settings.releaseLead))}
         -- Looked up release by release: as an anti join it would read every macro challenge there ever was.
         and (select true from challenges c
               where c.type = 'macro' and c.target = r.target and c.period = r.period
                 and c.unit is not distinct from nullif(r.unit, '') and c.cancelled_at is null
               limit 1) is null
       order by r.release_at, r.target, r.period, r.unit`)

  const edgesOf = Effect.fnUntraced(function* (release: Due) {
    if (release.bin_edges !== null) return release.bin_edges
    const prints = yield* earlierPrints(release.target, known(release.unit))
    const step = release.decimal_step === null ? decimalStep(prints) : exact(release.decimal_step)
    const scale =
      release.reference_scale === null ? referenceScale(prints, step) : exact(release.reference_scale)
    const last = prints.at(-1)
    if (last !== undefined && scale !== undefined) return edgesAround(last, scale, step)
    return yield* new NotYet({
      reason: `the bins of ${release.target} for ${release.period} are not in the release calendar, and are computed from ${minSurprises + 1} or more first prints in this unit, of which ${prints.length} are known`
    })
  })

  const make = (release: Due): Plan["make"] =>
    Effect.flatMap(edgesOf(release), (bin_edges) => {
      const { decimal_step, period, question, reference_scale, release_at, reward_pool, target, unit } =
        release
      return made(
        macro.create({
          asset: target,
          period,
          deadline: deadlineOf(release),
          release_at,
          bin_edges,
          reward_pool,
          ...(question !== null && { question }),
          ...(unit !== null && { unit }),
          ...(decimal_step !== null && { decimal_step }),
          ...(reference_scale !== null && { reference_scale })
        })
      )
    })

  return Effect.fnUntraced(function* (now: DateTime.Utc) {
    const lastCall = DateTime.addDuration(now, settings.scheduleNotice)
    return (yield* releases(now))
      .filter((release) => DateTime.isGreaterThanOrEqualTo(deadlineOf(release), lastCall))
      .map((release): Plan => {
        const period = release.unit === null ? release.period : `${release.period} ${release.unit}`
        return { kind: "macro", target: release.target, period, eventId: null, make: make(release) }
      })
  })
})

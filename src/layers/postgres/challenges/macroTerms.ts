/** Makes the terms of a new macro challenge: the requested ones, or terms computed from the earlier first prints of the series. */
import { BigDecimal, DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { decimalStep, edgesOfCategories, minSurprises, referenceScale } from "../../../scoring/macro.ts"
import { expectedRps } from "../../../scoring/ordered.ts"
import { plainDecimal, roundedScale } from "../../../scoring/wording.ts"
import { scaleBounds } from "../../../services/domain/Challenge.ts"
import type { NewMacroChallenge } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { wholeSecond, wholeSeconds } from "../../../services/domain/text.ts"
import { Settings } from "../../../services/Settings.ts"
import { decimal, exact, findAll, findOne } from "../sql.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { scoringScale } from "./challengeRows.ts"
import type { DraftOf } from "./rows.ts"
import { exactList } from "./rows.ts"

const Printed = Schema.Struct({
  bin_edges: Schema.Array(Schema.String),
  reference_scale: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.String),
  scale: Schema.String
})

export const makeMacroTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const earlierPrints = yield* makeEarlierPrints
  const printed = findOne(Printed)

  const orderedTerms = (categories: NonNullable<NewMacroChallenge["categories"]>) => {
    // The expected score of the reference is the scale of an ordered question, as the reference scale is that of a
    // series.
    const scale = decimal(expectedRps(categories.map(({ probability }) => probability)))
    return {
      bin_edges: edgesOfCategories(categories.length).map(decimal),
      reference_scale: scale,
      decimal_step: null,
      categories: categories.map(({ name }) => name),
      reference: categories.map(({ probability }) => plainDecimal(probability)),
      scale
    }
  }

  const scaleOf = Effect.fnUntraced(function* (wanted: NewMacroChallenge) {
    const given = wanted.decimal_step === undefined ? null : plainDecimal(wanted.decimal_step)
    if (wanted.reference_scale !== undefined) {
      const scale = wanted.reference_scale === null ? null : plainDecimal(wanted.reference_scale)
      return { reference_scale: scale, decimal_step: given }
    }
    const known = yield* earlierPrints(wanted.asset, wanted.unit)
    const step = given === null ? decimalStep(known) : BigDecimal.fromStringUnsafe(given)
    const scale = referenceScale(known, step)
    if (scale === undefined) {
      return yield* InvalidRequest.of(
        "reference_scale",
        `Expected a value: it is computed from ${minSurprises + 1} or more first prints of ${wanted.asset} in this unit, of which ${known.length} are known`
      )
    }
    const rounded = roundedScale(BigDecimal.toNumberUnsafe(scale))
    return { reference_scale: plainDecimal(rounded), decimal_step: BigDecimal.format(step) }
  })

  const binsOf = Effect.fnUntraced(function* (wanted: NewMacroChallenge) {
    const common = {
      period: wanted.period,
      unit: wanted.unit ?? null,
      reward_pool: BigDecimal.format(BigDecimal.fromNumberUnsafe(wanted.reward_pool))
    }
    if (wanted.categories !== undefined) return { ...common, ...orderedTerms(wanted.categories) }
    const edges = (wanted.bin_edges ?? []).map(plainDecimal)
    const scale = yield* scaleOf(wanted)
    if (scale.reference_scale === null && edges.length < 2) {
      return yield* InvalidRequest.of(
        "bin_edges",
        "Expected two edges or more, since there is no reference scale"
      )
    }
    // Exact decimals as PostgreSQL prints them: the form in the criteria text and the log.
    const { scale: scoredWith, ...terms } = yield* printed(sql`
      with given as (
        select ${`{${edges.join(",")}}`}::numeric[] as bin_edges, ${scale.reference_scale}::numeric as reference_scale
      )
      select ${exactList(sql, "c.bin_edges")} as bin_edges, ${exact(sql, "c.reference_scale")} as reference_scale,
             trim_scale(${scale.decimal_step}::numeric)::text as decimal_step,
             trim_scale(${scoringScale(sql)})::text as scale
        from given c`)
    const isUsable = Number(scoredWith) >= scaleBounds.minimum && Number(scoredWith) <= scaleBounds.maximum
    if (!isUsable) {
      return yield* terms.reference_scale === null
        ? InvalidRequest.of(
            "bin_edges",
            `Expected outermost edges that are at least ${4 * scaleBounds.minimum} apart, since forecasts are scored with a quarter of that`
          )
        : InvalidRequest.of(
            "reference_scale",
            `Expected a value: what the earlier prints give, ${scoredWith}, is not between ${scaleBounds.minimum} and ${scaleBounds.maximum}`
          )
    }
    return { ...common, ...terms, categories: null, reference: null, scale: scoredWith }
  })

  const draft: DraftOf<"macro"> = Effect.fnUntraced(function* (wanted, target) {
    if (target.kind !== "macro") {
      return yield* InvalidRequest.of("asset", `${target.key} is not a macro series`)
    }
    const releaseAt = wholeSecond(wanted.release_at ?? wanted.deadline)
    if (DateTime.isLessThan(releaseAt, wanted.deadline)) {
      return yield* InvalidRequest.of("release_at", "Expected a time at or after the deadline")
    }
    const cancelAt = DateTime.addDuration(releaseAt, wholeSeconds(settings.macroVoidAfter))
    return {
      ...(yield* binsOf(wanted)),
      kind: "macro",
      resolve_at: releaseAt,
      close_price_until: cancelAt,
      cancel_at: cancelAt,
      pool_owner_rule: settings.poolOwnerRule
    }
  })

  return draft
})

/** Five years of a monthly series: earlier surprises say little about those to come. */
const maxPrints = 61

const Print = Schema.Struct({ actual_value: Schema.BigDecimalFromString })

/** The first prints by which earlier challenges of a series were settled. */
export const makeEarlierPrints = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prints = findAll(Print)

  /** First prints of the series in this unit, in the order of their release. */
  return Effect.fnUntraced(function* (asset: string, unit: string | undefined) {
    const newestFirst = yield* prints(sql`
      select s.actual_value::text
        from challenges c
       cross join ${latestSettlement(sql)} s
       where c.target = ${asset} and c.type = 'macro' and c.resolved_at is not null and c.categories is null
         and c.unit is not distinct from ${unit ?? null}
       order by c.resolve_at desc, c.id desc
       limit ${maxPrints}`)
    return newestFirst.map(({ actual_value }) => actual_value).toReversed()
  })
})

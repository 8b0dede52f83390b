/** The terms of a new macro challenge: as they were asked for, or computed from the earlier prints of the series. */
import { BigDecimal, DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { decimalStep, minSurprises, referenceScale } from "../../../scoring/macro.ts"
import { macroCriteria, macroCriteriaChinese } from "../../../scoring/macroCriteria.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import { scaleBounds } from "../../../services/domain/Challenge.ts"
import type { NewMacroChallenge } from "../../../services/domain/Challenge.ts"
import type { Target } from "../../../services/Targets.ts"
import { decimal, findOne } from "../sql.ts"
import { makeEarlierPrints } from "./earlierPrints.ts"
import { scoringScale } from "./macroRows.ts"

const Printed = Schema.Struct({
  bin_edges: Schema.Array(Schema.String),
  reference_scale: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.String),
  scale: Schema.String
})

export const makeMacroTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const earlierPrints = yield* makeEarlierPrints
  const printed = findOne(Printed)

  const scaleOf = Effect.fnUntraced(function* (wanted: NewMacroChallenge) {
    const given = wanted.decimal_step === undefined ? null : decimal(wanted.decimal_step)
    if (wanted.reference_scale !== undefined) {
      const scale = wanted.reference_scale === null ? null : decimal(wanted.reference_scale)
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
    return { reference_scale: BigDecimal.format(scale), decimal_step: BigDecimal.format(step) }
  })

  return Effect.fnUntraced(function* (
    wanted: NewMacroChallenge,
    target: Target,
    times: { readonly releaseAt: DateTime.Utc; readonly cancelAt: DateTime.Utc }
  ) {
    const edges = wanted.bin_edges.map(decimal)
    const scale = yield* scaleOf(wanted)
    if (scale.reference_scale === null && edges.length < 2) {
      return yield* InvalidRequest.of(
        "bin_edges",
        "Expected two edges or more, since there is no reference scale"
      )
    }
    // As PostgreSQL prints exact decimals, which is how the criteria text and the log show them.
    const { scale: scoredWith, ...terms } = yield* printed(sql`
      with given as (
        select ${`{${edges.join(",")}}`}::numeric[] as bin_edges, ${scale.reference_scale}::numeric as reference_scale
      )
      select (select array_agg(trim_scale(e.edge)::text order by e.position)
                from unnest(c.bin_edges) with ordinality as e (edge, position)) as bin_edges,
             trim_scale(c.reference_scale)::text as reference_scale,
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
    const texts = {
      seriesName: target.name,
      series: target.key,
      period: wanted.period,
      unit: wanted.unit ?? null,
      releaseAt: DateTime.formatIso(times.releaseAt),
      voidAt: DateTime.formatIso(times.cancelAt),
      scale: scoredWith,
      scaleIsFrozen: terms.reference_scale !== null
    }
    return {
      ...terms,
      period: wanted.period,
      unit: wanted.unit ?? null,
      reward_pool: BigDecimal.format(BigDecimal.fromNumberUnsafe(wanted.reward_pool)),
      resolution_criteria: macroCriteria(texts),
      resolution_criteria_zh: macroCriteriaChinese(texts)
    }
  })
})

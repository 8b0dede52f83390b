/** Proves numeric scores and the figures of calibration by computing them anew from forecasts and settlements. */
import { BigDecimal, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { pitBuckets } from "../../../scoring/calibration.ts"
import { findAll } from "../sql.ts"
import { calibrationOf, numericScore } from "./numericScores.ts"

const page = 5000

const Row = Schema.Struct({
  challenge_id: Schema.String,
  agent_id: Schema.String,
  predicted_value: Schema.String,
  predicted_std: Schema.String,
  actual_value: Schema.String,
  reference_scale: Schema.String,
  decimal_step: Schema.NullOr(Schema.String),
  is_frozen: Schema.Boolean,
  is_last_revision: Schema.Boolean,
  score: Schema.NullOr(Schema.Finite),
  crps: Schema.NullOr(Schema.Finite),
  skill: Schema.NullOr(Schema.Finite)
})

/** Decimal texts, which PostgreSQL compares. */
const Kept = Schema.Struct({
  agent_id: Schema.NullOr(Schema.String),
  figures: Schema.Array(Schema.BigDecimalFromString)
})

const zero = BigDecimal.fromBigInt(0n)

/** Count, buckets, coverage, sums: in the order in which they are selected. */
const noFigures = Array.from({ length: pitBuckets + 6 }, () => zero)

const isSame = (one: ReadonlyArray<BigDecimal.BigDecimal>, other: ReadonlyArray<BigDecimal.BigDecimal>) =>
  one.every((value, index) => BigDecimal.Equivalence(value, other[index] ?? zero))

export const numericDifferences = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, most: number) {
  const rows = findAll(Row)
  const kept = findAll(Kept)
  const differences: Array<string> = []
  const sums = new Map<string | null, ReadonlyArray<BigDecimal.BigDecimal>>()

  const read = (after: typeof Row.Type | undefined) =>
    rows(sql`
      select f.challenge_id::text, f.agent_id::text, f.predicted_value::text, f.predicted_std::text,
             t.actual_value::text, t.reference_scale::text, c.decimal_step::text,
             c.reference_scale is not null as is_frozen, s.revision is not distinct from f.revision as is_last_revision,
             s.score::float8 as score, s.crps::float8 as crps, s.skill::float8 as skill
        from (
          select distinct on (p.challenge_id, p.agent_id) p.* from predictions p
           where p.challenge_id in (
             select id from challenges where type <> 'directional' and level is null and resolved_at is not null)
             ${after === undefined ? sql`` : sql`and (p.challenge_id, p.agent_id) > (${after.challenge_id}::uuid, ${after.agent_id}::uuid)`}
           order by p.challenge_id, p.agent_id, p.revision desc
           limit ${page}) f
        join challenges c on c.id = f.challenge_id
        join lateral (
          select * from settlements where challenge_id = f.challenge_id order by version desc limit 1) t on true
        left join prediction_scores s
               on s.challenge_id = f.challenge_id and s.version = t.version and s.agent_id = f.agent_id
       order by f.challenge_id, f.agent_id`)

  let last: typeof Row.Type | undefined
  let found = yield* read(last)
  while (found.length > 0) {
    for (const row of found) {
      const earned = numericScore(row, row)
      const holds =
        row.is_last_revision &&
        row.score === Number(earned.score) &&
        row.crps === Number(earned.crps) &&
        row.skill === Number(earned.skill)
      if (!holds) differences.push(`score in challenge ${row.challenge_id}: ${row.agent_id}`)
      if (row.is_frozen) {
        const { absZ, pit, sharpness, within50, within80, within95 } = calibrationOf(
          row,
          row,
          row.decimal_step
        )
        const added = [1, ...pit, Number(within50), Number(within80), Number(within95), absZ, sharpness].map(
          BigDecimal.fromNumberUnsafe
        )
        for (const whose of [row.agent_id, null]) {
          const before = sums.get(whose) ?? noFigures
          sums.set(
            whose,
            before.map((sum, index) => BigDecimal.sum(sum, added[index] ?? zero))
          )
        }
      }
    }
    last = found.at(-1)
    found = found.length < page ? [] : yield* read(last)
  }

  const stored = yield* kept(sql`
    select agent_id::text, (count::numeric || pit || array[within_50, within_80, within_95]::numeric[]
                            || array[abs_z_sum, sharpness_sum])::text[] as figures
      from calibration_stats`)
  const figures = new Map(stored.map((row) => [row.agent_id, row.figures]))
  for (const agent of new Set([...figures.keys(), ...sums.keys()])) {
    if (!isSame(sums.get(agent) ?? noFigures, figures.get(agent) ?? noFigures)) {
      differences.push(`calibration: ${agent ?? "over all"}`)
    }
  }
  return differences.slice(0, most)
})

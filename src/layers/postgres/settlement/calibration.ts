/** The stored sums of calibration, of each agent and of all together. */
import { BigDecimal, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { minCalibrated, pitBand, pitBuckets, wilsonInterval } from "../../../scoring/calibration.ts"
import type { CalibrationRow } from "../../../scoring/calibration.ts"
import type { Calibration } from "../../../services/Scoring.ts"
import { floatOf } from "../challenges/challengeRows.ts"
import { decimal, execute, rowsOf } from "../sql.ts"

/** The change of an agent's sums, with decimals as texts. */
interface Change {
  readonly agent_id: string
  readonly pit: ReadonlyArray<string>
  readonly within50: number
  readonly within80: number
  readonly within95: number
  readonly absZ: string
  readonly sharpness: string
}

/** The CTEs `scored`, the changes of each agent, and `everybody`, their sum, whose agent_id is null. */
const changed = (sql: SqlClient.SqlClient, rows: ReadonlyArray<Change>) => sql`
    scored as (
      select agent_id, 1 as count, pit::numeric[] as pit, within_50, within_80, within_95, abs_z, sharpness
        from ${rowsOf(sql, "s", rows, {
          agent_id: ["uuid", (row) => row.agent_id],
          pit: ["text", (row) => `{${row.pit.join(",")}}`],
          within_50: ["int4", (row) => row.within50],
          within_80: ["int4", (row) => row.within80],
          within_95: ["int4", (row) => row.within95],
          abs_z: ["numeric", (row) => row.absZ],
          sharpness: ["numeric", (row) => row.sharpness]
        })}
    ),
    everybody as (
      select null::uuid as agent_id, count(*)::int as count,
             (select array_agg(n.share order by n.bucket)
                from (select u.bucket, sum(u.share) as share
                        from scored, unnest(scored.pit) with ordinality as u (share, bucket) group by u.bucket) n) as pit,
             sum(within_50)::int as within_50, sum(within_80)::int as within_80, sum(within_95)::int as within_95,
             sum(abs_z) as abs_z, sum(sharpness) as sharpness
        from scored having count(*) > 0
    )`

/** Adds forecasts of one settlement, one per agent, within the caller's transaction. */
export const addCalibration = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<{ readonly agent_id: string; readonly row: CalibrationRow }>
) =>
  execute(sql`
    with ${changed(
      sql,
      rows.map(({ agent_id, row }) => ({
        agent_id,
        pit: row.pit.map(decimal),
        within50: Number(row.within50),
        within80: Number(row.within80),
        within95: Number(row.within95),
        absZ: decimal(row.absZ),
        sharpness: decimal(row.sharpness)
      }))
    )}
    insert into calibration_stats as f
      (agent_id, count, pit, within_50, within_80, within_95, abs_z_sum, sharpness_sum)
    select * from scored
     union all
    select * from everybody
     order by agent_id
    on conflict (agent_id) do update set
      count = f.count + excluded.count,
      pit = (select array_agg(u.kept + u.added order by u.bucket)
               from unnest(f.pit, excluded.pit) with ordinality as u (kept, added, bucket)),
      within_50 = f.within_50 + excluded.within_50,
      within_80 = f.within_80 + excluded.within_80,
      within_95 = f.within_95 + excluded.within_95,
      abs_z_sum = f.abs_z_sum + excluded.abs_z_sum,
      sharpness_sum = f.sharpness_sum + excluded.sharpness_sum`)

/** `after - before`, exactly, so that taking sums back leaves no rounding error. */
const difference = (after: number, before: number): string =>
  BigDecimal.format(
    BigDecimal.subtract(BigDecimal.fromNumberUnsafe(after), BigDecimal.fromNumberUnsafe(before))
  )

/** Moves forecasts from one outcome to another, within the caller's transaction. */
export const replaceCalibration = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<{
    readonly agent_id: string
    readonly before: CalibrationRow
    readonly after: CalibrationRow
  }>
) =>
  execute(sql`
    with ${changed(
      sql,
      rows.map(({ after, agent_id, before }) => ({
        agent_id,
        pit: after.pit.map((share, bucket) => difference(share, before.pit[bucket] ?? 0)),
        within50: Number(after.within50) - Number(before.within50),
        within80: Number(after.within80) - Number(before.within80),
        within95: Number(after.within95) - Number(before.within95),
        absZ: difference(after.absZ, before.absZ),
        sharpness: difference(after.sharpness, before.sharpness)
      }))
    )}
    update calibration_stats f set
      pit = (select array_agg(u.kept + u.added order by u.bucket)
               from unnest(f.pit, c.pit) with ordinality as u (kept, added, bucket)),
      within_50 = f.within_50 + c.within_50,
      within_80 = f.within_80 + c.within_80,
      within_95 = f.within_95 + c.within_95,
      abs_z_sum = f.abs_z_sum + c.abs_z,
      sharpness_sum = f.sharpness_sum + c.sharpness
      from (select * from scored union all select * from everybody) c
     where f.agent_id is not distinct from c.agent_id`)

export const CalibrationStats = Schema.Struct({
  count: Schema.Int,
  pit: Schema.Array(Schema.Finite),
  within_50: Schema.Int,
  within_80: Schema.Int,
  within_95: Schema.Int,
  abs_z_sum: Schema.Finite,
  sharpness_sum: Schema.Finite
})

const emptyStats: typeof CalibrationStats.Type = {
  count: 0,
  pit: Array.from({ length: pitBuckets }, () => 0),
  within_50: 0,
  within_80: 0,
  within_95: 0,
  abs_z_sum: 0,
  sharpness_sum: 0
}

/** The public calibration from a row of sums; an agent without a row has no sums yet. */
export const toPublicCalibration = (stats = emptyStats): Calibration => {
  const { count } = stats
  const isPublic = count >= minCalibrated
  const covered = (level: number, hits: number) => ({
    level,
    share: isPublic ? hits / count : null,
    interval_ci95: isPublic ? wilsonInterval(hits, count) : null
  })
  return {
    count,
    min_count: minCalibrated,
    pit: {
      buckets: stats.pit.map((each, index) => ({
        low: index / pitBuckets,
        high: (index + 1) / pitBuckets,
        count: each
      })),
      band95: pitBand(count)
    },
    coverage: [covered(0.5, stats.within_50), covered(0.8, stats.within_80), covered(0.95, stats.within_95)],
    mean_abs_z: isPublic ? stats.abs_z_sum / count : null,
    sharpness: isPublic ? stats.sharpness_sum / count : null
  }
}

/** The columns of `CalibrationStats`. */
export const calibrationColumns = (sql: SqlClient.SqlClient) => sql`
  count, array(select ${floatOf(sql, "share")} from unnest(pit) with ordinality as u (share, bucket) order by bucket) as pit,
  within_50, within_80, within_95, ${floatOf(sql, "abs_z_sum")} as abs_z_sum, ${floatOf(sql, "sharpness_sum")} as sharpness_sum`

/** The sums of all agents, less those of reference agents. */
export const calibrationOfAgents = (sql: SqlClient.SqlClient) => sql`
  with signed as (
    select 1 as sign, f.* from calibration_stats f where f.agent_id is null
     union all
    select -1, f.* from calibration_stats f join agents a on a.id = f.agent_id and a.reference is not null
  ),
  summed as (
    select sum(sign * count)::int as count,
           array(select sum(sign * u.share) from signed, unnest(pit) with ordinality as u (share, bucket)
                  group by u.bucket order by u.bucket) as pit,
           sum(sign * within_50)::int as within_50, sum(sign * within_80)::int as within_80,
           sum(sign * within_95)::int as within_95,
           sum(sign * abs_z_sum) as abs_z_sum, sum(sign * sharpness_sum) as sharpness_sum
      from signed having count(*) > 0
  )
  select ${calibrationColumns(sql)} from summed`

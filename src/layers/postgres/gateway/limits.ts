/**
 * The limits of gateway keys in SQL. A counter belongs to the period of `counted_on`, and is 0 in any later one. Counters exist
 * only for keys with a limit. Statements that hold the key's row change them, so limits hold for concurrent calls. All SQL in
 * this file refers to a key `k`.
 */
import type { SqlClient } from "effect/sql"
import { limitNames } from "../../../services/GatewayKeys.ts"
import type { LimitPeriod } from "../../../services/GatewayKeys.ts"

/** The columns of each limit: credit that ended calls were charged, and credit that calls under way have reserved. */
const counters = [
  { period: "total", spent: "spent", held: "held" },
  { period: "day", spent: "daily_spent", held: "daily_held" },
  { period: "week", spent: "weekly_spent", held: "weekly_held" },
  { period: "month", spent: "monthly_spent", held: "monthly_held" }
] as const satisfies ReadonlyArray<{
  readonly period: LimitPeriod
  readonly spent: string
  readonly held: string
}>

/** Tests in SQL whether two days are in the same period. */
const isSamePeriod = (period: LimitPeriod, one: string, other: string): string =>
  period === "total"
    ? "true"
    : `date_trunc('${period}', ${one}::timestamp) = date_trunc('${period}', ${other}::timestamp)`

const currentCount = (period: LimitPeriod, column: string, day: string): string =>
  period === "total"
    ? `k.${column}`
    : `case when ${isSamePeriod(period, "k.counted_on", day)} then k.${column} else 0 end`

/**
 * The day to count on. It is never before the last counted day, even if a replica's clock is behind, and never in the future,
 * because limits would then start anew only after that day.
 */
export const dayAt = (sql: SqlClient.SqlClient, now: Date) =>
  sql`greatest(k.counted_on, (least(${now}::timestamptz, database_time()) at time zone 'UTC')::date)`

export const isLimited = (sql: SqlClient.SqlClient) =>
  sql.literal(`coalesce(${counters.map(({ period }) => `k.${limitNames[period]}`).join(", ")}) is not null`)

/** The limits of the key on its `k.day`, as rows `l (place, period, max, spent, held)`. */
export const limitsOf = (sql: SqlClient.SqlClient) => {
  const rows = counters.map(
    ({ held, period, spent }, place) =>
      `(${place}, '${period}', k.${limitNames[period]}, ${currentCount(period, spent, "k.day")}, ${currentCount(period, held, "k.day")})`
  )
  return sql.literal(
    `(select * from (values ${rows.join(", ")}) v (place, period, max, spent, held) where v.max is not null) l`
  )
}

/** Sums of reservations (`held`) and charges (`spent`) over the calls, named after the counters that they change. */
export const changesOf = (
  sql: SqlClient.SqlClient,
  change: { readonly held: string; readonly spent: string; readonly counted: string }
) => {
  const sum = (value: string, period: LimitPeriod) =>
    `coalesce(sum(${value}) filter (where ${isSamePeriod(period, change.counted, "k.day")}), 0)::int8`
  return sql.literal(
    counters
      .map(
        ({ held, period, spent }) =>
          `${sum(change.held, period)} as ${held}, ${sum(change.spent, period)} as ${spent}`
      )
      .join(", ")
  )
}

/** Assignments that add the changes `c` of a `c.day` to the counters. */
export const addChanges = (sql: SqlClient.SqlClient) => {
  const sets = counters.flatMap(({ held, period, spent }) => [
    `${spent} = ${currentCount(period, spent, "c.day")} + c.${spent}`,
    // The previous version counted its reservations only in the total.
    `${held} = greatest(${currentCount(period, held, "c.day")} + c.${held}, 0)`
  ])
  return sql.literal(["counted_on = c.day", ...sets].join(", "))
}

/** Assignments that set the counters to the changes `c` of a `c.day`. */
export const setCounters = (sql: SqlClient.SqlClient) => {
  const sets = counters.flatMap(({ held, spent }) => [`${spent} = c.${spent}`, `${held} = c.${held}`])
  return sql.literal(["counted_on = c.day", ...sets].join(", "))
}

/** The limits as members of `KeyLimit`, in its order; amounts are texts. */
export const limitsJson = (sql: SqlClient.SqlClient) =>
  sql`(select coalesce(jsonb_agg(jsonb_build_object(
                'period', l.period, 'limit', l.max::text, 'spent', l.spent::text, 'reserved', l.held::text,
                'left', greatest(l.max - l.spent - l.held, 0)::text,
                'resets_at', case when l.period <> 'total' then
                  to_char(date_trunc(l.period, k.day::timestamp) + ('1 ' || l.period)::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end)
              order by l.place), '[]') from ${limitsOf(sql)})`

/** The first day of the period of a row `l` of `limitsOf`; for the total, the day on which the key was made. */
export const sinceOf = (sql: SqlClient.SqlClient) =>
  sql.literal(`(case l.period when 'total' then k.created_at at time zone 'UTC'
                     else date_trunc(l.period, k.day::timestamp) end)::date`)

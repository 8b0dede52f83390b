/** SQL that statements about challenges of every type share. */
import { Duration } from "effect"
import type { DateTime } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { yesNoKinds } from "../../../scoring/kinds/facts.ts"
import type { AnyStatus } from "../../../services/domain/Challenge.ts"
import { timestamp, isoTimestamp } from "../sql.ts"

/** Status is derived from the clock: an open challenge past its deadline reads as closed even if no job ran. */
export const statusOf = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  case when c.cancelled_at is not null then case c.type when 'directional' then 'cancelled' else 'void' end
       when c.resolved_at is not null then 'resolved'
       when c.deadline <= ${timestamp(now)} then 'closed' else 'open' end`

/** The condition under which `statusOf` gives this status, in a form that uses the indexes. */
export const hasStatus = (sql: SqlClient.SqlClient, status: AnyStatus, now: DateTime.Utc) => {
  switch (status) {
    case "open":
      return sql`c.resolved_at is null and c.cancelled_at is null and c.deadline > ${timestamp(now)}`
    case "closed":
      return sql`c.resolved_at is null and c.cancelled_at is null and c.deadline <= ${timestamp(now)}`
    case "resolved":
      return sql`c.resolved_at is not null`
    case "cancelled":
    case "void":
      return sql`c.cancelled_at is not null`
  }
}

/**
 * The challenge `c` of each prediction `p`. The `limit` forces one probe a row of the page: without it a plan may join all of
 * an agent's predictions first.
 */
export const challengeOf = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (select * from challenges where id = p.challenge_id limit 1) c`

/**
 * The prediction counts of a challenge `c`: the stored counts of all shards less those of reference agents. Before the
 * deadline the counts by direction are published only in steps (countPublication.ts).
 */
export const countsOfChallenge = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (
    select (k.bullish - r.bullish)::int as bullish, (k.bearish - r.bearish)::int as bearish,
           (k.neutral - r.neutral)::int as neutral, (k.forecasts - r.forecasts)::int as forecasts
      from (
        select coalesce(sum(bullish), 0) as bullish, coalesce(sum(bearish), 0) as bearish,
               coalesce(sum(neutral), 0) as neutral, coalesce(sum(forecasts), 0) as forecasts
          from prediction_counts where challenge_id = c.id) k
     cross join (
       select count(*) filter (where l.direction = 'bullish') as bullish,
              count(*) filter (where l.direction = 'bearish') as bearish,
              count(*) filter (where l.direction = 'neutral') as neutral,
              count(*) filter (where l.direction is null) as forecasts
         from agents a
        cross join lateral (
          select direction from predictions
           where challenge_id = c.id and agent_id = a.id order by revision desc limit 1) l
        where a.reference is not null) r) n`

/**
 * True once the database's clock is past a deadline by the grace. The challenge is then to be closed, and nothing is
 * recorded any more, whatever its time stamp.
 */
export const isOvertaken = (sql: SqlClient.SqlClient, deadline: string, closeGrace: Duration.Duration) => sql`
  ${sql.literal(deadline)} + ${Duration.toMillis(closeGrace)}::float8 * interval '1 millisecond' <= (select database_time())`

/** The sealed values of a prediction `p`, as JSON; null in the interface's own forms, which have columns. */
export const submittedValues = (sql: SqlClient.SqlClient) =>
  sql.literal(`case when p.form is not null then convert_from(p.body, 'UTF8')::jsonb -> 'values' end`)

/** The columns that `submittedValues` reads. With them, a query that selects among revisions copies no needless bodies. */
export const submittedColumns = (sql: SqlClient.SqlClient) =>
  sql.literal("p.form, case when p.form is not null then p.body end as body")

const atLeast = (sql: SqlClient.SqlClient, number: string, minimum: string) =>
  sql.literal(`(case when abs(${number}) < ${minimum} then 0 else ${number} end)::float8`)

/**
 * An agent's decimal, or one computed from it, as a double. PostgreSQL fails (22003) if a decimal is too small for a
 * double, and one such number would fail a statement over many. No new answer has one
 * (services/domain/agentNumbers.ts); an earlier one counts as 0.
 */
export const floatOf = (sql: SqlClient.SqlClient, number: string) => atLeast(sql, number, "5e-324")

/** A factor as a double: the product of two factors is still a double. */
export const factorOf = (sql: SqlClient.SqlClient, number: string) => atLeast(sql, number, "1e-150")

/** The probability that a confidence gives to the answered direction, as `oddsOf` (scoring/reference.ts) computes it. */
export const impliedProbability = (sql: SqlClient.SqlClient, confidence: Statement.Fragment) =>
  sql`(1 + ${confidence}) / 2`

/** The columns of `PredictionValues`, of a prediction `p`. */
export const valuesOf = (sql: SqlClient.SqlClient) => sql`
  p.direction, ${floatOf(sql, "p.confidence")} as confidence, ${floatOf(sql, "p.predicted_value")} as predicted_value,
  ${floatOf(sql, "p.predicted_std")} as predicted_std, ${submittedValues(sql)} -> 'probabilities' as probabilities,
  ${submittedValues(sql)} -> 'quantiles' as quantiles, ${submittedValues(sql)} -> 'samples' as samples`

/** The columns of `PredictionVerdict`, of a row `s` of `prediction_scores`. */
export const verdictOf = (sql: SqlClient.SqlClient) => sql`
  s.is_correct, ${floatOf(sql, "s.crps")} as crps, ${floatOf(sql, "s.skill")} as skill,
  ${floatOf(sql, "s.score")} as score`

/**
 * The scale that forecasts on a challenge `c` are scored with: the frozen reference scale, or else the spread of the bins, a
 * quarter of the distance between the outermost edges, which lie about two standard deviations to each side.
 */
export const scoringScale = (sql: SqlClient.SqlClient) =>
  sql.literal(`coalesce(c.reference_scale, (c.bin_edges[cardinality(c.bin_edges)] - c.bin_edges[1]) / 4)`)

/** The `Category`s of a challenge `c` or of a planned release, as a JSON array; null if there are none. */
export const categoriesOf = (sql: SqlClient.SqlClient, alias: "c" | "r" = "c") =>
  sql.literal(`(select jsonb_agg(jsonb_build_object('name', k.name, 'probability', k.part) order by k.place)
       from unnest(${alias}.categories, ${alias}.reference) with ordinality as k (name, part, place))`)

/** The names of the outcomes of a challenge `c`; null if it asks for a number. */
export const outcomesOf = (sql: SqlClient.SqlClient) =>
  sql.literal(`case when c.categories is not null then c.categories
       when c.type = 'directional' then array['bullish', 'neutral', 'bearish']
       when c.kind in (${yesNoKinds.map((kind) => `'${kind}'`).join(", ")}) then array['bullish', 'bearish'] end`)

/** The name of the category that came; a settlement `s` has its place among the categories of a challenge `c`. */
export const outcomeNameOf = (sql: SqlClient.SqlClient, settlement: "s" | "t" = "s") =>
  sql.literal(`c.categories[${settlement}.actual_value::int + 1]`)

/** Leaves out the name of a category if the row has none. */
export const withOutcomeName = <Row extends { readonly outcome_name: string | null }>({
  outcome_name,
  ...row
}: Row) => (outcome_name === null ? row : { ...row, outcome_name })

/** The `SettlementVersion`s of a challenge `c`, the first one first, as a JSON array. */
export const versionsOf = (sql: SqlClient.SqlClient) => sql`
  (select coalesce(jsonb_agg(
            jsonb_build_object(
              'version', v.version, 'settled_at', ${isoTimestamp(sql, "v.settled_at")}, 'source', v.source, 'result', v.result,
              'close_price', v.close_price, 'actual_value', v.actual_value, 'reason', v.reason, 'leaf_index', e.index)
            order by v.version), '[]')
     from settlements v
     left join log_entries e
       on e.challenge_id = v.challenge_id and e.version = v.version
      and e.type = case when v.version = 1 then 'settlement' else 'amendment' end
    where v.challenge_id = c.id) as versions`

/** The `SettlementRecord` of a row of the newest version. */
export const settlementOf = (row: {
  readonly version: number
  readonly settled_at: string
  readonly source: string
}) => ({
  version: row.version,
  settled_at: row.settled_at,
  source: row.source,
  amended: row.version > 1,
  void_reason: null
})

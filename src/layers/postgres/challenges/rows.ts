/** Rows of `challenges`: the one list of the columns that only some kinds fill, and what follows from them. */
import { DateTime, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { kindOf } from "../../../scoring/kinds/kinds.ts"
import type { Question } from "../../../scoring/kinds/kinds.ts"
import { scoringScale } from "./challengeRows.ts"

const Text = Schema.NullOr(Schema.String)
const Texts = Schema.NullOr(Schema.Array(Schema.String))

/** The terms of a row, as src/scoring/kinds/kind.ts describes them. */
export const TermsRow = Schema.Struct({
  open_price: Text,
  dead_zone_pct: Text,
  level: Text,
  /** Milliseconds since 1970, UTC. */
  window_from: Schema.NullOr(Schema.Finite),
  reference_scale: Text,
  scale: Text,
  decimal_step: Text,
  period: Text,
  unit: Text,
  bin_edges: Texts,
  categories: Texts,
  reference: Texts,
  reward_pool: Text,
  pool_owner_rule: Schema.NullOr(Schema.Boolean),
  rule_version: Schema.NullOr(Schema.Int)
})
export type TermsRow = typeof TermsRow.Type

/** No terms, of which a creator fills those of its kind. */
export const noTerms = {
  open_price: null,
  dead_zone_pct: null,
  level: null,
  window_from: null,
  reference_scale: null,
  decimal_step: null,
  period: null,
  unit: null,
  bin_edges: null,
  categories: null,
  reference: null,
  reward_pool: null,
  pool_owner_rule: null,
  rule_version: null
} as const

const exact = (column: string) => `trim_scale(c.${column})::text as ${column}`

const exactList = (column: string) => `
  (select array_agg(trim_scale(e.value)::text order by e.place)
     from unnest(c.${column}) with ordinality as e (value, place)) as ${column}`

/** The columns of `TermsRow` of a challenge `c`, but for `window_from`. */
export const termsColumns = (sql: SqlClient.SqlClient) => sql`
  ${sql.literal(["open_price", "dead_zone_pct", "level", "reference_scale", "decimal_step"].map(exact).join(", "))},
  ${sql.literal(["bin_edges", "reference"].map(exactList).join(", "))}, c.period, c.unit, c.categories,
  trim_scale(c.reward_pool::numeric / 1000000)::text as reward_pool, c.pool_owner_rule, c.rule_version::int as rule_version`

/** The columns of `QuestionRow` of a challenge `c`. */
export const questionColumns = (sql: SqlClient.SqlClient) => sql`
  c.kind, c.target, c.created_at, c.resolve_at, ${termsColumns(sql)}, trim_scale(${scoringScale(sql)})::text as scale,
  (extract(epoch from c.window_from) * 1000)::float8 as window_from`

/** The columns of a question that its kind reads. */
export const QuestionRow = Schema.Struct({
  ...TermsRow.fields,
  kind: Schema.String,
  target: Schema.String,
  created_at: Schema.DateTimeUtcFromDate,
  resolve_at: Schema.DateTimeUtcFromDate
})
export type QuestionRow = typeof QuestionRow.Type

/** Undefined of a challenge without a dead zone of its own. */
export const questionOf = (row: QuestionRow): Question | undefined =>
  kindOf(row.kind, row).of(row, DateTime.toEpochMillis(row.resolve_at))

/** A challenge as its creator has it, before it has texts. */
export interface Unworded extends Omit<TermsRow, "scale" | "window_from"> {
  readonly kind: string
  readonly asset: string
  readonly window_from: DateTime.Utc | null
  readonly created_at: DateTime.Utc
  readonly resolve_at: DateTime.Utc
  readonly close_price_until: DateTime.Utc
  readonly cancel_at: DateTime.Utc
}

/** The columns of a question that is being made; `scale` is what its forecasts are scored with. */
export const rowOf = (created: Unworded, scale = created.reference_scale): QuestionRow => ({
  ...created,
  target: created.asset,
  scale,
  window_from: created.window_from === null ? null : DateTime.toEpochMillis(created.window_from)
})

/** The texts of a challenge in the words of its kind. */
export const textsOf = (created: Unworded, targetName: string, scale = created.reference_scale) =>
  kindOf(created.kind, created).texts(rowOf(created, scale), {
    target: created.asset,
    targetName,
    resolveAt: DateTime.toEpochMillis(created.resolve_at),
    closePriceUntil: DateTime.toEpochMillis(created.close_price_until),
    cancelAt: DateTime.toEpochMillis(created.cancel_at)
  })

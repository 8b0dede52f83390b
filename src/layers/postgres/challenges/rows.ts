/** Rows of `challenges`: the one list of the columns that only some kinds fill, and the questions made from them. */
import { DateTime, Schema } from "effect"
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { eachLevel } from "../../../scoring/kinds/facts.ts"
import { kindOf } from "../../../scoring/kinds/kinds.ts"
import type { Question } from "../../../scoring/kinds/kinds.ts"
import type { ChallengeType, NewChallengeOf, NotCreated } from "../../../services/domain/Challenge.ts"
import type { Target } from "../../../services/Targets.ts"
import { exactLevels } from "../levels.ts"
import { credits, exact } from "../sql.ts"
import { scoringScale } from "./challengeRows.ts"

const Text = Schema.NullOr(Schema.String)
const Texts = Schema.NullOr(Schema.Array(Schema.String))

/** The terms of a row, as src/scoring/kinds/kind.ts describes them. */
export const TermsRow = Schema.Struct({
  open_price: Text,
  dead_zone_pct: Text,
  ...eachLevel(() => Text),
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

/** The decimals of a list `column`, as PostgreSQL prints them. */
export const exactList = (sql: SqlClient.SqlClient, column: string) =>
  sql.literal(`
    (select array_agg(trim_scale(e.value)::text order by e.place)
       from unnest(${column}) with ordinality as e (value, place))`)

/** The columns of `TermsRow` of a challenge `c`, but for `window_from`. */
export const termsColumns = (sql: SqlClient.SqlClient) => sql`
  ${exact(sql, "c.open_price")} as open_price, ${exact(sql, "c.dead_zone_pct")} as dead_zone_pct, ${exactLevels(sql)},
  ${exact(sql, "c.reference_scale")} as reference_scale, ${exact(sql, "c.decimal_step")} as decimal_step,
  ${exactList(sql, "c.bin_edges")} as bin_edges, ${exactList(sql, "c.reference")} as reference, c.period, c.unit, c.categories,
  ${credits(sql, "c.reward_pool")} as reward_pool, c.pool_owner_rule, c.rule_version::int as rule_version`

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

/** The question of a row; undefined for a challenge without a dead zone of its own. */
export const questionOf = (row: QuestionRow): Question | undefined =>
  kindOf(row.kind, row).of(row, DateTime.toEpochMillis(row.resolve_at))

/** A new challenge before it has texts. */
export interface Unworded extends Omit<TermsRow, "scale" | "window_from"> {
  readonly kind: string
  readonly asset: string
  readonly window_from: DateTime.Utc | null
  readonly created_at: DateTime.Utc
  readonly resolve_at: DateTime.Utc
  readonly close_price_until: DateTime.Utc
  readonly cancel_at: DateTime.Utc
}

/** The parts of a new challenge that its type decides; columns that it leaves out are null. */
export interface Draft extends Partial<Unworded> {
  readonly kind: string
  readonly event_id?: string | null
  readonly resolve_at: DateTime.Utc
  readonly close_price_until: DateTime.Utc
  readonly cancel_at: DateTime.Utc
  /** The scale that forecasts are scored with, if it is not the reference scale. */
  readonly scale?: string
}

/** Makes the draft of a new challenge on a target; its deadline is a whole second. */
export type DraftOf<Type extends ChallengeType> = (
  wanted: NewChallengeOf<Type>,
  target: Target,
  now: DateTime.Utc
) => Effect.Effect<Draft, NotCreated<Type>>

/** The columns of a new question; its forecasts are scored with `scale`. */
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

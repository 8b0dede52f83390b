/**
 * The interface of a kind of question. A kind knows its terms, the form of its answers, the candles that decide it, the
 * forecast of a random walk and all its texts; `facts.ts` and `kinds.ts` list the kinds. Times are milliseconds since
 * 1970, UTC; decimals are texts as PostgreSQL prints them (`trim_scale`).
 */
import type { BigDecimal } from "effect"
import type { Direction } from "../directional.ts"
import type { Candle } from "../candles.ts"
import { eachLevel } from "./facts.ts"
import type { CandleKindName, Levels } from "./facts.ts"
import type { Walk } from "../reference.ts"

/** The three arenas of the interface. */
export type QuestionType = "directional" | "macro" | "price_event"

/** The form of an answer. To a question of yes or no, bullish is Yes and bearish is No. */
export type AnswerForm = "direction" | "yes_no" | "number" | "categories"

export type Language = "en" | "zh"
export type InBoth<Value> = Readonly<Record<Language, Value>>

/** The columns of `challenges` that only some kinds fill. */
export interface TermsRow extends Levels<string | null> {
  readonly open_price: string | null
  readonly dead_zone_pct: string | null
  readonly window_from: number | null
  readonly reference_scale: string | null
  /** The scale that forecasts are scored with: the frozen one, or the spread of the bins of a macro challenge without one. */
  readonly scale: string | null
  readonly decimal_step: string | null
  readonly period: string | null
  readonly unit: string | null
  readonly bin_edges: ReadonlyArray<string> | null
  readonly categories: ReadonlyArray<string> | null
  /** The probability of each category in the reference vector. */
  readonly reference: ReadonlyArray<string> | null
  /** Credits. */
  readonly reward_pool: string | null
  readonly pool_owner_rule: boolean | null
  /** The rules by which candles decide; null for the first. */
  readonly rule_version: number | null
}
export type TermsColumn = Exclude<keyof TermsRow, "scale">

/** The columns without terms; a creator fills those of its kind. */
export const noTerms = {
  ...eachLevel(() => null),
  open_price: null,
  dead_zone_pct: null,
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
} as const satisfies Record<TermsColumn, null>

/** The terms of a kind, and the time of its settlement. */
export interface DatedTerms<Terms> {
  readonly terms: Terms
  readonly resolveAt: number
}

/** The parts of a question's text; the rest of its terms stand in its criteria. */
export interface QuestionParts extends Levels<string | null> {
  readonly target: string
  readonly targetName: string
  readonly resolveAt: number
  readonly period: string | null
}

/** The parts of the criteria of a question. */
export interface Worded<Terms> extends DatedTerms<Terms> {
  readonly target: string
  readonly targetName: string
  /** A price observed later does not count. */
  readonly closePriceUntil: number
  /** An undecided question ends without a result. */
  readonly cancelAt: number
}

/** The parts of a page's title, in the reader's language. */
export interface TitleParts extends Levels<string> {
  /** The name of the target within a sentence. */
  readonly within: string
  /** The last UTC day that counts. */
  readonly lastDay: string
}

/** The candles that decide a question. */
export type Input =
  /** The closes of the UTC days that end at these times. */
  | { readonly by: "closes"; readonly days: ReadonlyArray<number> }
  /** The 1-hour candles that open at these times; some of them may be enough. */
  | { readonly by: "hours"; readonly opens: ReadonlyArray<number> }

export interface Decision<C> {
  /** It is null for numbers and categories. */
  readonly result: Direction | null
  /** The close, the count, or, for a barrier, the price nearest to the level. */
  readonly observation: BigDecimal.BigDecimal
  /** The candles that decided it, in the order of time. */
  readonly evidence: readonly [C, ...ReadonlyArray<C>]
}

export interface FieldProblem {
  readonly path: string
  readonly message: string
}

/** A new question as an administrator or a schedule requests it. */
export interface Wanted extends Levels<number | undefined> {
  readonly kind: CandleKindName
  readonly resolveAt: number
  readonly reference_scale: number | undefined
  /** The beginning of its window, given or by default; null for kinds without one. */
  readonly windowFrom: number | null
  readonly isWindowGiven: boolean
}

export interface QuestionKind<Terms> {
  readonly type: QuestionType
  readonly answers: AnswerForm
  /** The columns of terms in the entry of its creation; those of later rules stand there only if they are set. */
  readonly logged: { readonly always: ReadonlyArray<TermsColumn>; readonly since: ReadonlyArray<TermsColumn> }
  /** The typed terms of a row; undefined if the row lacks one, as a challenge without a dead zone of its own does. */
  readonly termsOf: (row: TermsRow) => Terms | undefined
  /** The result that an observation gives; null for numbers and categories. */
  readonly resultOf: (terms: Terms, observation: BigDecimal.BigDecimal) => Direction | null
  /** The forecast of a random walk; absent if the reference is a scale or a vector. */
  readonly walk?: (dated: DatedTerms<Terms>) => Walk
  /** The texts of a question that no administrator has worded; the first is the usual one. */
  readonly questions: (parts: QuestionParts) => readonly [string, ...ReadonlyArray<string>]
  readonly criteria: InBoth<(worded: Worded<Terms>) => string>
}

/** A price event: a kind that is decided by candles. */
export interface CandleKind<Terms> extends QuestionKind<Terms> {
  readonly type: "price_event"
  /** The fields of a new question that do not fit the kind. */
  readonly problems: (wanted: Wanted) => ReadonlyArray<FieldProblem>
  readonly input: (dated: DatedTerms<Terms>) => Input
  /** The decision by the known candles of its input, in the order of time; undefined while they leave it open. */
  readonly decide: <C extends Candle>(
    dated: DatedTerms<Terms>,
    candles: readonly [C, ...ReadonlyArray<C>],
    isComplete: boolean
  ) => Decision<C> | undefined
  /** The name of the kind in lists. */
  readonly label: InBoth<string>
  /** The name of the observation on the page of a question. */
  readonly observed: InBoth<string>
  readonly title: InBoth<(parts: TitleParts) => string>
}

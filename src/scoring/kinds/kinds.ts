/** Every kind of question by its name in the interface. A new kind is a file beside this one and a line here. */
import { Struct } from "effect"
import type { BigDecimal } from "effect"
import type { Direction } from "../directional.ts"
import type { Walk } from "../reference.ts"
import type { Candle } from "../candles.ts"
import { barrier } from "./barrier.ts"
import { close } from "./close.ts"
import { countDays } from "./countDays.ts"
import { direction } from "./direction.ts"
import type {
  AnswerForm,
  CandleKind,
  Decision,
  Input,
  Language,
  QuestionKind,
  QuestionParts,
  TermsRow,
  Worded,
  FieldProblem,
  Wanted
} from "./kind.ts"
import { macroCategory } from "./macroCategory.ts"
import { macroNumber } from "./macroNumber.ts"
import { threshold } from "./threshold.ts"

/** Price events, each decided by candles. */
export const candleKinds = { numeric_close: close, barrier, count_days: countDays, threshold }

/** The parts of a kind that need no terms. */
type Plain = Pick<QuestionKind<unknown>, "type" | "answers" | "logged" | "questions">

/** The terms of a question, applied. */
export interface Question extends Plain {
  /** Made when it is asked for: a window may have a hundred thousand hours. */
  readonly input: () => Input
  readonly resultOf: (observation: BigDecimal.BigDecimal) => Direction | null
  /** Absent where the reference is a scale or a vector. */
  readonly walk: Walk | undefined
  /** The decision by the known candles of its input, one for each time, in order; undefined while they leave it open. */
  readonly decide: <C extends Candle>(candles: ReadonlyArray<C>) => Decision<C> | undefined
}

interface Texts {
  readonly question: string
  /** Null without a dead zone of its own. */
  readonly resolution_criteria: string | null
  readonly resolution_criteria_zh: string | null
}

type Unworded = Omit<Worded<never>, "terms">

/** A kind whose terms are read from a row. */
interface Registered extends Plain {
  /** Undefined where the row lacks a term: a challenge without a dead zone of its own. */
  readonly of: (row: TermsRow, resolveAt: number) => Question | undefined
  readonly texts: (row: TermsRow, unworded: Unworded) => Texts
}

const isNonEmpty = <C>(candles: ReadonlyArray<C>): candles is readonly [C, ...ReadonlyArray<C>] =>
  candles.length > 0

const countOf = (input: Input): number => {
  if (input.by === "closes") return input.days.length
  return input.by === "hours" ? input.opens.length : 0
}

const registered = <Terms>(kind: QuestionKind<Terms> | CandleKind<Terms>): Registered => ({
  ...kind,
  of: (row, resolveAt) => {
    const terms = kind.termsOf(row)
    if (terms === undefined) return undefined
    const dated = { terms, resolveAt }
    const input = () => kind.input(dated)
    return {
      ...kind,
      input,
      resultOf: (observation) => kind.resultOf(terms, observation),
      walk: kind.walk?.(dated),
      decide: (candles) =>
        "decide" in kind && isNonEmpty(candles)
          ? kind.decide(dated, candles, candles.length === countOf(input()))
          : undefined
    }
  },
  texts: (row, unworded) => {
    const terms = kind.termsOf(row)
    const criteria = (language: Language) =>
      terms === undefined ? null : kind.criteria[language]({ ...unworded, terms })
    return {
      question: kind.questions({ ...unworded, level: row.level, period: row.period })[0],
      resolution_criteria: criteria("en"),
      resolution_criteria_zh: criteria("zh")
    }
  }
})

const directions = registered(direction)
const numbers = registered(macroNumber)
const categories = registered(macroCategory)

const byName: ReadonlyMap<string, Registered> = new Map([
  ...["session", "flash", "1h", "4h", "1d"].map((name) => [name, directions] as const),
  ["numeric_close", registered(candleKinds.numeric_close)],
  ["barrier", registered(candleKinds.barrier)],
  ["count_days", registered(candleKinds.count_days)],
  ["threshold", registered(candleKinds.threshold)]
])

type Named = Pick<TermsRow, "categories">

const find = (name: string, { categories: names }: Named): Registered | undefined => {
  if (name === "macro") return names === null ? numbers : categories
  return byName.get(name)
}

/** The kind of a row. The constraints of the table allow no other name. */
export const kindOf = (name: string, row: Named): Registered => {
  const found = find(name, row)
  if (found === undefined) throw new Error(`there is no kind of question ${name}`)
  return found
}

/** The columns of terms that the entry of its creation has; of a name that there is not, those of another kind of its type. */
export const loggedTerms = (name: string, type: string, row: Named): QuestionKind<unknown>["logged"] =>
  (find(name, row) ?? [...byName.values(), numbers].find((kind) => kind.type === type) ?? directions).logged

/** The fields of a new price event that do not fit its kind. */
export const problemsOf = (wanted: Wanted): ReadonlyArray<FieldProblem> =>
  candleKinds[wanted.kind].problems(wanted)

/** The words of pages for price events, their outcomes and their questions, by kind. */
export const wordsOfKinds = (language: Language) => {
  const each = <Value>(
    of: (kind: (typeof candleKinds)[keyof typeof candleKinds]) => Value
  ): Readonly<Record<string, Value>> =>
    Object.fromEntries(Struct.keys(candleKinds).map((name) => [name, of(candleKinds[name])]))
  return {
    labels: each(({ label }) => label[language]),
    observed: each(({ observed }) => observed[language]),
    titles: each(({ title }) => title[language])
  }
}

/** The names of the outcomes by the form of an answer; null of a number, and of categories, which have names of their own. */
export const outcomesOf = (answers: AnswerForm): ReadonlyArray<Direction> | null => {
  if (answers === "direction") return ["bullish", "neutral", "bearish"]
  return answers === "yes_no" ? ["bullish", "bearish"] : null
}

/** True of a question in the words of its kind: its terms alone say the same. */
export const isStandardQuestion = (question: string, name: string, parts: QuestionParts): boolean =>
  (name === "macro" ? [numbers, categories] : [kindOf(name, { categories: null })]).some((kind) =>
    kind.questions(parts).includes(question)
  )

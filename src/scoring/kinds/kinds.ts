/** Every kind of question by its name in the interface. A new kind is a file beside this one, a line here and one in facts.ts. */
import type { BigDecimal } from "effect"
import type { Direction } from "../directional.ts"
import type { Walk } from "../reference.ts"
import type { Candle } from "../candles.ts"
import { barrier } from "./barrier.ts"
import { close } from "./close.ts"
import { countDays } from "./countDays.ts"
import { direction } from "./direction.ts"
import { directionKindNames, eachLevel, isCandleKind, levelLabels } from "./facts.ts"
import type { CandleKindName } from "./facts.ts"
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
import { range } from "./range.ts"
import { threshold } from "./threshold.ts"

/** The parts of a kind that need no terms. */
type Plain = Pick<QuestionKind<unknown>, "type" | "answers" | "logged" | "questions">

/** A question of a kind with its terms. */
export interface Question extends Plain {
  readonly resultOf: (observation: BigDecimal.BigDecimal) => Direction | null
  /** The walk is undefined if the reference is a scale or a vector. */
  readonly walk: Walk | undefined
}

/** A price event with its terms. */
interface CandleQuestion {
  /** The input is computed on demand: a window may have a hundred thousand hours. */
  readonly input: () => Input
  /** The decision by the known candles of its input, one for each time, in order; undefined while they leave it open. */
  readonly decide: <C extends Candle>(candles: ReadonlyArray<C>) => Decision<C> | undefined
}

interface Texts {
  readonly question: string
  /** It is null for a challenge without a dead zone of its own. */
  readonly resolution_criteria: string | null
  readonly resolution_criteria_zh: string | null
}

/** A kind whose terms are read from a row. */
interface Registered extends Plain {
  /** The question is undefined if the row lacks a term, as a challenge without a dead zone of its own does. */
  readonly of: (row: TermsRow, resolveAt: number) => Question | undefined
  readonly texts: (row: TermsRow, unworded: Omit<Worded<never>, "terms">) => Texts
}

interface RegisteredCandleKind
  extends Registered, Pick<CandleKind<unknown>, "problems" | "label" | "observed" | "title"> {
  readonly byCandles: (row: TermsRow, resolveAt: number) => CandleQuestion | undefined
}

const isNonEmpty = <C>(candles: ReadonlyArray<C>): candles is readonly [C, ...ReadonlyArray<C>] =>
  candles.length > 0

const countOf = (input: Input): number => (input.by === "closes" ? input.days : input.opens).length

const registered = <Terms>(kind: QuestionKind<Terms>): Registered => ({
  ...kind,
  of: (row, resolveAt) => {
    const terms = kind.termsOf(row)
    if (terms === undefined) return undefined
    return {
      ...kind,
      resultOf: (observation) => kind.resultOf(terms, observation),
      walk: kind.walk?.({ terms, resolveAt })
    }
  },
  texts: (row, unworded) => {
    const terms = kind.termsOf(row)
    const criteria = (language: Language) =>
      terms === undefined ? null : kind.criteria[language]({ ...unworded, terms })
    return {
      question: kind.questions({ ...unworded, ...eachLevel((name) => row[name]), period: row.period })[0],
      resolution_criteria: criteria("en"),
      resolution_criteria_zh: criteria("zh")
    }
  }
})

const registeredCandles = <Terms>(kind: CandleKind<Terms>): RegisteredCandleKind => ({
  ...kind,
  ...registered(kind),
  byCandles: (row, resolveAt) => {
    const terms = kind.termsOf(row)
    if (terms === undefined) return undefined
    const dated = { terms, resolveAt }
    const input = () => kind.input(dated)
    return {
      input,
      decide: (candles) =>
        isNonEmpty(candles) ? kind.decide(dated, candles, candles.length === countOf(input())) : undefined
    }
  }
})

/** Price events, each decided by candles. */
export const candleKinds: Readonly<Record<CandleKindName, RegisteredCandleKind>> = {
  numeric_close: registeredCandles(close),
  barrier: registeredCandles(barrier),
  count_days: registeredCandles(countDays),
  threshold: registeredCandles(threshold),
  range: registeredCandles(range)
}

const directions = registered(direction)
const numbers = registered(macroNumber)
const categories = registered(macroCategory)

const byName: ReadonlyMap<string, Registered> = new Map([
  ...directionKindNames.map((name) => [name, directions] as const),
  ...Object.entries(candleKinds)
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

/** The kind of a row of a price event. */
export const candleKindOf = (name: string): RegisteredCandleKind => {
  if (!isCandleKind(name)) throw new Error(`there is no kind of price event ${name}`)
  return candleKinds[name]
}

/** The columns of terms in the entry of a creation; for an unknown name, those of another kind of its type. */
export const loggedTerms = (name: string, type: string, row: Named): QuestionKind<unknown>["logged"] =>
  (find(name, row) ?? [...byName.values(), numbers].find((kind) => kind.type === type) ?? directions).logged

/** The fields of a new price event that do not fit its kind. */
export const problemsOf = (wanted: Wanted): ReadonlyArray<FieldProblem> =>
  candleKinds[wanted.kind].problems(wanted)

/** The words of pages for price events, their outcomes and their questions, by kind. */
export const wordsOfKinds = (language: Language) => {
  const each = <Value>(of: (kind: RegisteredCandleKind) => Value): Readonly<Record<string, Value>> =>
    Object.fromEntries(Object.entries(candleKinds).map(([name, kind]) => [name, of(kind)]))
  return {
    labels: each(({ label }) => label[language]),
    levels: eachLevel((name) => levelLabels[name][language]),
    observed: each(({ observed }) => observed[language]),
    titles: each(({ title }) => title[language])
  }
}

/** The names of the outcomes by the form of an answer; null for a number, and for categories, which have names of their own. */
export const outcomesOf = (answers: AnswerForm): ReadonlyArray<Direction> | null => {
  if (answers === "direction") return ["bullish", "neutral", "bearish"]
  return answers === "yes_no" ? ["bullish", "bearish"] : null
}

/** True if a question is in the words of its kind, so that its terms alone say the same; false for an unknown kind. */
export const isStandardQuestion = (question: string, name: string, parts: QuestionParts): boolean =>
  (name === "macro" ? [numbers, categories] : [find(name, { categories: null })]).some(
    (kind) => kind?.questions(parts).includes(question) === true
  )

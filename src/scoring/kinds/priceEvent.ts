/** The shared parts of price events: terms and problems of their fields, the closes of UTC days, sentences of their criteria. */
import type { BigDecimal } from "effect"
import type { Direction } from "../directional.ts"
import { day, dailyCloses, hour } from "../candles.ts"
import { chineseVoid, inUtc, inUtcChinese } from "../wording.ts"
import { candleFacts, levelNames } from "./facts.ts"
import type { CandleKindName } from "./facts.ts"
import type { CandleKind, FieldProblem, Input, TermsRow, Wanted, Worded } from "./kind.ts"

/** The rules of new questions. */
export const ruleVersion = 3

/** The columns of price events, in the entry of their creation. */
export const candleTerms = {
  always: ["decimal_step", "level", "reference_scale", "window_from"],
  since: ["rule_version"]
} as const

/** The rules that a question was made with. */
export const ruleOf = ({ rule_version }: TermsRow): number => rule_version ?? 1

/** The ends of the UTC days whose closes decide a question, in order; the last day ends when the question resolves. */
const endsOfDays = (resolveAt: number, days: number): ReadonlyArray<number> =>
  dailyCloses(resolveAt, days).map((opens) => opens + hour)

/** The daily closes of a question. Under earlier rules a day closes with its last 1-hour candle, even if its daily candle differs. */
export const closesOf = (name: CandleKindName, resolveAt: number, rule: number): Input => {
  const { dailySince, days } = candleFacts[name].closes ?? { dailySince: 1, days: 0 }
  return rule < dailySince
    ? { by: "hours", opens: dailyCloses(resolveAt, days) }
    : { by: "closes", days: endsOfDays(resolveAt, days) }
}

const isMidnight = (time: number): boolean => time % day === 0

export const withoutWindow = ({ isWindowGiven }: Wanted): ReadonlyArray<FieldProblem> =>
  isWindowGiven ? [{ path: "window_from", message: "Expected no value: only a barrier has a window" }] : []

export const endsAtMidnight = ({ resolveAt }: Wanted): ReadonlyArray<FieldProblem> =>
  isMidnight(resolveAt)
    ? []
    : [
        {
          path: "resolve_at",
          message: "Expected the midnight (UTC) at which the day ends, for example 2026-02-01T00:00:00Z"
        }
      ]

/** A question names the levels of its kind and no others. */
export const levelProblems = (wanted: Wanted): ReadonlyArray<FieldProblem> =>
  levelNames.flatMap((name) => {
    const isNamed = candleFacts[wanted.kind].levels.includes(name)
    if (isNamed === (wanted[name] !== undefined)) return []
    const message = isNamed
      ? `Missing key: a ${wanted.kind} question has a ${name}`
      : `Expected no value: a ${wanted.kind} question has no ${name}`
    return [{ path: name, message }]
  })

/** A question of yes or no has no scale. */
export const withoutScale = ({ kind, reference_scale }: Wanted): ReadonlyArray<FieldProblem> =>
  reference_scale === undefined
    ? []
    : [
        {
          path: "reference_scale",
          message: `Expected no value: a ${kind} question has no reference scale`
        }
      ]

/** The parts of a kind that one close decides, which gives a result of yes or no, or none. */
export const byOneClose = <Terms extends { readonly rule: number }>(
  name: CandleKindName,
  resultOf: (terms: Terms, close: BigDecimal.BigDecimal) => Direction | null
): Pick<CandleKind<Terms>, "input" | "decide" | "resultOf"> => ({
  input: ({ resolveAt, terms }) => closesOf(name, resolveAt, terms.rule),
  decide: ({ terms }, candles, isComplete) => {
    const [{ close }] = candles
    return isComplete ? { result: resultOf(terms, close), observation: close, evidence: candles } : undefined
  },
  resultOf
})

/** The close of the one day that decides a question, in its criteria. */
export const closeOfDay = {
  en: ({ resolveAt }: Worded<unknown>) =>
    `The close of the day, which ends at ${inUtc(resolveAt)}, is that of its daily candle or of its last 1-hour candle, whichever is known first from the same source; if both are known and differ, neither counts until an administrator has decided.`,
  zh: ({ resolveAt }: Worded<unknown>) =>
    `该日结束于 ${inUtcChinese(resolveAt)}，其收盘价取同一来源的日 K 线或当日最后一根 1 小时 K 线的收盘价，以先取得者为准；若两者均已取得而数值不同，则在管理员裁定之前均不采用。`
}

/** The sentence on the void of a question on one close. */
export const voidWithoutClose = {
  en: ({ cancelAt }: Worded<unknown>) =>
    `Without it by ${inUtc(cancelAt)} the question is void, scoring nobody, also if it is known later.`,
  zh: ({ cancelAt }: Worded<unknown>) => chineseVoid(cancelAt, "仍未取得该收盘价")
}

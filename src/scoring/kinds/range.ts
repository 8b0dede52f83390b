/** A question whether a UTC day closes within a range, which includes both ends. */
import { BigDecimal } from "effect"
import { above } from "../reference.ts"
import { nameWithKey, chineseName, lastDayOf, plainDecimal } from "../wording.ts"
import { candleFacts } from "./facts.ts"
import type { CandleKind, FieldProblem, Wanted } from "./kind.ts"
import {
  byOneClose,
  candleTerms,
  closeOfDay,
  endsAtMidnight,
  levelProblems,
  ruleOf,
  voidWithoutClose,
  withoutScale,
  withoutWindow
} from "./priceEvent.ts"

interface RangeTerms {
  readonly low: string
  readonly high: string
  readonly rule: number
}

/** The ends differ by the digits that they are frozen with. */
const lowBelowHigh = ({ high, low }: Wanted): ReadonlyArray<FieldProblem> =>
  low === undefined || high === undefined || Number(plainDecimal(low)) < Number(plainDecimal(high))
    ? []
    : [{ path: "high", message: `Expected a price above low, ${low}` }]

const resultOf = ({ high, low }: RangeTerms, observation: BigDecimal.BigDecimal) =>
  BigDecimal.between(observation, {
    minimum: BigDecimal.fromStringUnsafe(low),
    maximum: BigDecimal.fromStringUnsafe(high)
  })
    ? "bullish"
    : "bearish"

export const range: CandleKind<RangeTerms> = {
  type: "price_event",
  answers: candleFacts.range.answers,
  logged: { always: candleTerms.always, since: [...candleTerms.since, "low", "high"] },
  problems: (wanted) => [
    ...levelProblems(wanted),
    ...lowBelowHigh(wanted),
    ...withoutScale(wanted),
    ...withoutWindow(wanted),
    ...endsAtMidnight(wanted)
  ],
  termsOf: (row) =>
    row.low === null || row.high === null ? undefined : { low: row.low, high: row.high, rule: ruleOf(row) },
  ...byOneClose("range", resultOf),
  walk: ({ resolveAt, terms }) => ({
    at: ({ distanceTo, spread }) => {
      const sd = spread(resolveAt)
      // P(X >= low) - P(X > high)
      const yes = above(distanceTo(Number(terms.low)), sd) + above(-distanceTo(Number(terms.high)), sd) - 1
      return { odds: [Math.max(0, yes), Math.min(1, 1 - yes)] }
    }
  }),
  questions: ({ high, low, resolveAt, target, targetName }) => [
    `Will ${nameWithKey(target, targetName)} close from ${low} to ${high} on ${lastDayOf(resolveAt)} (UTC)?`
  ],
  criteria: {
    en: (worded) =>
      [
        `Yes (bullish) if the close of ${nameWithKey(worded.target, worded.targetName)} on the UTC day ${lastDayOf(worded.resolveAt)} is from ${worded.terms.low} to ${worded.terms.high}, both included, otherwise No (bearish).`,
        closeOfDay.en(worded),
        voidWithoutClose.en(worded)
      ].join(" "),
    zh: (worded) =>
      [
        `若${chineseName(worded.target)}在 ${lastDayOf(worded.resolveAt)}（UTC）的收盘价介于 ${worded.terms.low} 与 ${worded.terms.high} 之间（含两端），则结果为“是”（bullish），否则为“否”（bearish）。`,
        closeOfDay.zh(worded),
        voidWithoutClose.zh(worded)
      ].join("")
  },
  label: { en: "Range", zh: "区间" },
  observed: { en: "Close", zh: "收盘价" },
  title: {
    en: ({ high, lastDay, low, within }) => `Will ${within} close from ${low} to ${high} on ${lastDay}?`,
    zh: ({ high, lastDay, low, within }) => `${within} ${lastDay}的收盘价会在 ${low} 至 ${high} 之间吗？`
  }
}

/** A question whether a UTC day closes at or above a level. */
import { BigDecimal } from "effect"
import { above } from "../reference.ts"
import { nameWithKey, chineseName, lastDayOf } from "../wording.ts"
import { candleFacts } from "./facts.ts"
import type { CandleKind } from "./kind.ts"
import {
  byOneClose,
  candleTerms,
  closeOfDay,
  endsAtMidnight,
  ruleOf,
  voidWithoutClose,
  levelProblems,
  withoutScale,
  withoutWindow
} from "./priceEvent.ts"

interface ThresholdTerms {
  readonly level: string
  readonly rule: number
}

const resultOf = ({ level }: ThresholdTerms, observation: BigDecimal.BigDecimal) =>
  BigDecimal.isGreaterThanOrEqualTo(observation, BigDecimal.fromStringUnsafe(level)) ? "bullish" : "bearish"

export const threshold: CandleKind<ThresholdTerms> = {
  type: "price_event",
  answers: candleFacts.threshold.answers,
  logged: candleTerms,
  problems: (wanted) => [
    ...levelProblems(wanted),
    ...withoutScale(wanted),
    ...withoutWindow(wanted),
    ...endsAtMidnight(wanted)
  ],
  termsOf: (row) => (row.level === null ? undefined : { level: row.level, rule: ruleOf(row) }),
  ...byOneClose("threshold", resultOf),
  walk: ({ resolveAt, terms }) => ({
    at: ({ distanceTo, spread }) => {
      const yes = above(distanceTo(Number(terms.level)), spread(resolveAt))
      return { odds: [yes, 1 - yes] }
    }
  }),
  questions: ({ level, resolveAt, target, targetName }) => [
    `Will ${nameWithKey(target, targetName)} close at or above ${level} on ${lastDayOf(resolveAt)} (UTC)?`
  ],
  criteria: {
    en: (worded) =>
      [
        `Yes (bullish) if the close of ${nameWithKey(worded.target, worded.targetName)} on the UTC day ${lastDayOf(worded.resolveAt)} is at or above ${worded.terms.level}, otherwise No (bearish).`,
        closeOfDay.en(worded),
        voidWithoutClose.en(worded)
      ].join(" "),
    zh: (worded) =>
      [
        `若${chineseName(worded.target)}在 ${lastDayOf(worded.resolveAt)}（UTC）的收盘价大于或等于 ${worded.terms.level}，则结果为“是”（bullish），否则为“否”（bearish）。`,
        closeOfDay.zh(worded),
        voidWithoutClose.zh(worded)
      ].join("")
  },
  label: { en: "Threshold", zh: "门槛" },
  observed: { en: "Close", zh: "收盘价" },
  title: {
    en: ({ lastDay, level, within }) => `Will ${within} close at or above ${level} on ${lastDay}?`,
    zh: ({ lastDay, level, within }) => `${within} ${lastDay}的收盘价会达到或高于 ${level} 吗？`
  }
}

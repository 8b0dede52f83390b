/** A question on the price at which a UTC day closes. */
import { nameWithKey, byCrps, chineseName, lastDayOf } from "../wording.ts"
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
  withoutWindow
} from "./priceEvent.ts"

interface CloseTerms {
  readonly scale: string
  readonly rule: number
}

export const close: CandleKind<CloseTerms> = {
  type: "price_event",
  answers: candleFacts.numeric_close.answers,
  logged: candleTerms,
  problems: (wanted) => [...levelProblems(wanted), ...withoutWindow(wanted), ...endsAtMidnight(wanted)],
  termsOf: (row) =>
    row.reference_scale === null ? undefined : { scale: row.reference_scale, rule: ruleOf(row) },
  ...byOneClose("numeric_close", () => null),
  walk: ({ resolveAt }) => ({
    at: ({ price, spread }) => ({ mean: price, sd: price * spread(resolveAt) })
  }),
  questions: ({ resolveAt, target, targetName }) => [
    `Where will ${nameWithKey(target, targetName)} close on ${lastDayOf(resolveAt)} (UTC)?`
  ],
  criteria: {
    en: (worded) =>
      [
        `Settles on the close of ${nameWithKey(worded.target, worded.targetName)} on the UTC day ${lastDayOf(worded.resolveAt)}.`,
        closeOfDay.en(worded),
        byCrps.en(worded.terms.scale),
        voidWithoutClose.en(worded)
      ].join(" "),
    zh: (worded) =>
      [
        `按${chineseName(worded.target)}在 ${lastDayOf(worded.resolveAt)}（UTC）的收盘价结算。`,
        closeOfDay.zh(worded),
        byCrps.zh(worded.terms.scale),
        voidWithoutClose.zh(worded)
      ].join("")
  },
  label: { en: "Close", zh: "收盘价" },
  observed: { en: "Close", zh: "收盘价" },
  title: {
    en: ({ lastDay, within }) => `Where will ${within} close on ${lastDay}?`,
    zh: ({ lastDay, within }) => `${within} ${lastDay}收盘价是多少？`
  }
}

/** A question which way a price moves beyond a dead zone: sessions, flash hours and the ladder of 1, 4 and 24 hours. */
import { BigDecimal } from "effect"
import { hour } from "../candles.ts"
import { directionalResult } from "../directional.ts"
import { above } from "../reference.ts"
import {
  nameWithKey,
  chineseName,
  inUtc,
  inUtcChinese,
  lastDayOf,
  spanInChinese,
  spanInEnglish
} from "../wording.ts"
import type { QuestionKind, Worded } from "./kind.ts"

export interface DirectionTerms {
  readonly openPrice: string
  readonly deadZonePct: string
}

/** The questions of schedules, which no administrator has worded. */
export const sessionQuestion = (target: string, targetName: string, date: string): string =>
  `Which way will ${nameWithKey(target, targetName)} move by the close of its session of ${date}?`

export const flashQuestion = (target: string, targetName: string, resolveAt: number): string =>
  `Which way will ${nameWithKey(target, targetName)} move in the hour until ${inUtc(resolveAt)}, after the event?`

export const ladderQuestion = (target: string, targetName: string, resolveAt: number): string =>
  `Which way will ${nameWithKey(target, targetName)} have moved by ${inUtc(resolveAt)}?`

const deadZone = {
  en: ({ deadZonePct }: DirectionTerms) =>
    `More than +${deadZonePct} % is bullish, less than -${deadZonePct} % is bearish, otherwise neutral; exactly +${deadZonePct} % or -${deadZonePct} % is neutral.`,
  zh: ({ deadZonePct }: DirectionTerms) =>
    `涨幅大于 ${deadZonePct}% 为看涨（bullish），跌幅大于 ${deadZonePct}% 为看跌（bearish），其余为中性（neutral）；恰好等于 +${deadZonePct}% 或 -${deadZonePct}% 属于中性。`
}

const hoursAfter = ({ resolveAt }: Worded<DirectionTerms>, time: number) => (time - resolveAt) / hour

export const direction: QuestionKind<DirectionTerms> = {
  type: "directional",
  answers: "direction",
  logged: { always: ["open_price", "dead_zone_pct"], since: [] },
  termsOf: ({ dead_zone_pct, open_price }) =>
    open_price === null || dead_zone_pct === null
      ? undefined
      : { openPrice: open_price, deadZonePct: dead_zone_pct },
  resultOf: ({ deadZonePct, openPrice }, closePrice) =>
    directionalResult(
      BigDecimal.fromStringUnsafe(openPrice),
      closePrice,
      BigDecimal.fromStringUnsafe(deadZonePct)
    ),
  walk: ({ resolveAt, terms }) => ({
    at: ({ distanceTo, spread }) => {
      const [sd, zone, open] = [spread(resolveAt), Number(terms.deadZonePct) / 100, Number(terms.openPrice)]
      const bullish = above(distanceTo(open * (1 + zone)), sd)
      const bearish = 1 - above(distanceTo(open * (1 - zone)), sd)
      return { odds: [bullish, Math.max(0, 1 - bullish - bearish), bearish] }
    }
  }),
  questions: ({ resolveAt, target, targetName }) => [
    `Which way will ${nameWithKey(target, targetName)} move by ${inUtc(resolveAt)}?`,
    sessionQuestion(target, targetName, lastDayOf(resolveAt)),
    flashQuestion(target, targetName, resolveAt),
    ladderQuestion(target, targetName, resolveAt)
  ],
  criteria: {
    en: (worded) =>
      [
        `Settles on the change of ${nameWithKey(worded.target, worded.targetName)} from the open price ${worded.terms.openPrice}.`,
        `The close price is the first price observed at or after ${inUtc(worded.resolveAt)}, at most ${spanInEnglish(hoursAfter(worded, worded.closePriceUntil))} after; a candle counts at its end.`,
        deadZone.en(worded.terms),
        `Without a close price settlement is tried again at every run, and the challenge is cancelled, scoring nobody, ${spanInEnglish(hoursAfter(worded, worded.cancelAt))} after that time.`
      ].join(" "),
    zh: (worded) =>
      [
        `按${chineseName(worded.target)}相对开盘价 ${worded.terms.openPrice} 的涨跌幅结算。`,
        `收盘价取 ${inUtcChinese(worded.resolveAt)} 或其后观测到的第一个价格，最迟不超过其后 ${spanInChinese(hoursAfter(worded, worded.closePriceUntil))}；K 线的价格以其结束时刻为准。`,
        deadZone.zh(worded.terms),
        `若暂无收盘价，每次结算运行时都会重试；若该时刻之后满 ${spanInChinese(hoursAfter(worded, worded.cancelAt))}仍无收盘价，则本题取消，不对任何预测计分。`
      ].join("")
  }
}

/** The terms of a practice question, which settles at its deadline on a price that is recorded already, this many hours on. */
type Practice = DirectionTerms & {
  readonly targetName: string
  readonly target: string
  readonly hours: number
}

export const practiceCriteria = (terms: Practice): string =>
  [
    `Practice on a recording of made-up prices that move about as those of ${nameWithKey(terms.target, terms.targetName)}, multiplied by one factor and shown under another date; nothing of it is ranked or logged.`,
    `Settles at the deadline, on the change from the open price ${terms.openPrice} to the recorded price ${spanInEnglish(terms.hours)} on.`,
    deadZone.en(terms)
  ].join(" ")

export const practiceCriteriaChinese = (terms: Practice): string =>
  [
    `练习题：采用波动与${chineseName(terms.target)}相近的虚构价格记录，统一乘以一个系数，并以另一日期显示；不计入排名，也不写入日志。`,
    `于截止时刻结算，以价格记录中 ${spanInChinese(terms.hours)}之后的价格相对开盘价 ${terms.openPrice} 的涨跌幅为准。`,
    deadZone.zh(terms)
  ].join("")

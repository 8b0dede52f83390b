/**
 * The settlement text of a directional challenge, in English and Chinese. Made once, at creation, and frozen with it:
 * what a challenge settles by is what its text says.
 */
import { chineseName } from "./chinese.ts"

export interface DirectionalTerms {
  readonly targetName: string
  readonly target: string
  /** Decimal texts, as they are settled by. */
  readonly openPrice: string
  readonly deadZonePct: string
  /** ISO 8601, UTC. */
  readonly resolveAt: string
  /** How long after `resolveAt` a price still counts. */
  readonly closePriceWithinHours: number
  /** How long a closing price is waited for. */
  readonly cancelAfterHours: number
}

const english = { day: " days", hour: " hours", oneHour: "1 hour" }
const chinese = { day: " 天", hour: " 小时", oneHour: "1 小时" }

const days = (hours: number, unit: typeof english): string => {
  if (hours === 1) return unit.oneHour
  return hours % 24 === 0 && hours > 24 ? `${hours / 24}${unit.day}` : `${hours}${unit.hour}`
}

export const resolutionCriteria = (terms: DirectionalTerms): string =>
  [
    `Settles on the change of ${terms.targetName} (${terms.target}) from the open price ${terms.openPrice}.`,
    `The close price is the first price observed at or after ${terms.resolveAt}, at most ${days(terms.closePriceWithinHours, english)} after; a candle counts at its end.`,
    `More than +${terms.deadZonePct} % is bullish, less than -${terms.deadZonePct} % is bearish, otherwise neutral; exactly +${terms.deadZonePct} % or -${terms.deadZonePct} % is neutral.`,
    `Without a close price settlement is tried again at every run, and the challenge is cancelled, scoring nobody, ${days(terms.cancelAfterHours, english)} after that time.`
  ].join(" ")

export const resolutionCriteriaChinese = (terms: DirectionalTerms): string =>
  [
    `以${chineseName(terms.target)}相对开盘价 ${terms.openPrice} 的涨跌幅结算。`,
    `收盘价取 ${terms.resolveAt} 或其后观测到的第一个价格，最迟不超过其后 ${days(terms.closePriceWithinHours, chinese)}；K 线的价格以其结束时刻为准。`,
    `涨幅大于 ${terms.deadZonePct}% 为看涨（bullish），跌幅大于 ${terms.deadZonePct}% 为看跌（bearish），其余为中性（neutral）；恰好等于 +${terms.deadZonePct}% 或 -${terms.deadZonePct}% 属于中性。`,
    `若暂无收盘价，每次结算运行时都会重试；若该时刻之后满 ${days(terms.cancelAfterHours, chinese)}仍无收盘价，则本题取消，不对任何预测计分。`
  ].join("")

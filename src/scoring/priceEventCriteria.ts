/** The settlement text of a price-event question, in English and Chinese. Made once, at creation, and frozen with it. */
import { chineseName, chineseScoring, chineseVoid } from "./chinese.ts"
import type { PriceEventKind } from "./priceEvents.ts"

export interface PriceEventTerms {
  readonly kind: PriceEventKind
  readonly targetName: string
  readonly target: string
  /** UTC days, for example 2026-03-02: the first of a count, and the last one, which is the only one of a close. */
  readonly firstDay: string
  readonly lastDay: string
  /** ISO 8601, UTC. */
  readonly windowFrom: string | null
  readonly resolveAt: string
  readonly voidAt: string
  /** Decimal texts, as they are settled by: a level of yes-or-no questions, a scale of numeric ones. */
  readonly level: string | null
  readonly scale: string | null
}

/** What is asked, where an administrator does not say it. */
export const priceEventQuestion = (terms: PriceEventTerms): string => {
  const name = `${terms.targetName} (${terms.target})`
  switch (terms.kind) {
    case "numeric_close":
      return `Where will ${name} close on ${terms.lastDay} (UTC)?`
    case "threshold":
      return `Will ${name} close at or above ${terms.level} on ${terms.lastDay} (UTC)?`
    case "barrier":
      return `Will ${name} touch ${terms.level} before ${terms.resolveAt}?`
    case "count_days":
      return `On how many of the 7 days from ${terms.firstDay} to ${terms.lastDay} (UTC) will ${name} close up?`
  }
}

const crps = ({ scale }: PriceEventTerms) =>
  `A forecast is scored by the CRPS of its normal distribution, with the reference scale ${scale}.`

const english: Readonly<Record<PriceEventKind, (terms: PriceEventTerms) => ReadonlyArray<string>>> = {
  numeric_close: (terms) => [
    `Settles on the close of ${terms.targetName} (${terms.target}) on the UTC day ${terms.lastDay}: that of its last 1-hour candle, which ends at ${terms.resolveAt}.`,
    crps(terms),
    `Without that candle by ${terms.voidAt} the question is void, scoring nobody.`
  ],
  threshold: (terms) => [
    `Yes (bullish) if the close of ${terms.targetName} (${terms.target}) on the UTC day ${terms.lastDay} is at or above ${terms.level}, otherwise No (bearish).`,
    `The close is that of the day's last 1-hour candle, which ends at ${terms.resolveAt}.`,
    `Without that candle by ${terms.voidAt} the question is void, scoring nobody.`
  ],
  barrier: (terms) => [
    `Yes (bullish) if ${terms.targetName} (${terms.target}) touches ${terms.level} from ${terms.windowFrom} until ${terms.resolveAt}, otherwise No (bearish).`,
    `It is judged by the 1-hour candles that open at or after the first of these times and before the second: the level is touched if it lies from the low to the high of one of them, exactly equal being a touch, or in a gap between two.`,
    `One touch is enough for Yes; No takes every candle of the window.`,
    `Undecided by ${terms.voidAt} the question is void, scoring nobody.`
  ],
  count_days: (terms) => [
    `Settles on how many of the 7 UTC days from ${terms.firstDay} to ${terms.lastDay} ${terms.targetName} (${terms.target}) closes up: above the close of the day before; an equal close is not up.`,
    `The close of a day is that of its last 1-hour candle.`,
    crps(terms),
    `Without all 8 closes by ${terms.voidAt} the question is void, scoring nobody.`
  ]
}

const crpsChinese = ({ scale }: PriceEventTerms) => chineseScoring(`参考尺度为 ${scale}`)

const chinese: Readonly<Record<PriceEventKind, (terms: PriceEventTerms) => ReadonlyArray<string>>> = {
  numeric_close: (terms) => [
    `以${chineseName(terms.target)}在 ${terms.lastDay}（UTC）的收盘价结算，即当日最后一根 1 小时 K 线（结束于 ${terms.resolveAt}）的收盘价。`,
    crpsChinese(terms),
    chineseVoid(terms.voidAt, "仍未取得该 K 线")
  ],
  threshold: (terms) => [
    `若${chineseName(terms.target)}在 ${terms.lastDay}（UTC）的收盘价大于或等于 ${terms.level}，则结果为“是”（bullish），否则为“否”（bearish）。`,
    `收盘价取当日最后一根 1 小时 K 线（结束于 ${terms.resolveAt}）的收盘价。`,
    chineseVoid(terms.voidAt, "仍未取得该 K 线")
  ],
  barrier: (terms) => [
    `若${chineseName(terms.target)}在 ${terms.windowFrom} 至 ${terms.resolveAt} 期间触及 ${terms.level}，则结果为“是”（bullish），否则为“否”（bearish）。`,
    "判定依据为开盘时间不早于上述起始时刻、且早于上述结束时刻的 1 小时 K 线：若该价位落在某一根 K 线的最低价与最高价之间（恰好相等也视为触及），或落在前后两根 K 线之间的跳空缺口内，即为触及。",
    "只要触及一次，即判为“是”；判为“否”则须具备该期间的全部 K 线。",
    chineseVoid(terms.voidAt, "仍无法判定")
  ],
  count_days: (terms) => [
    `以${chineseName(terms.target)}在 ${terms.firstDay} 至 ${terms.lastDay}（UTC，共 7 天）中收涨的天数结算：当日收盘价高于前一日收盘价为收涨，持平不算。`,
    "每日收盘价取当日最后一根 1 小时 K 线的收盘价。",
    crpsChinese(terms),
    chineseVoid(terms.voidAt, "仍缺少所需 8 个收盘价中的任何一个")
  ]
}

export const priceEventCriteria = (terms: PriceEventTerms): string => english[terms.kind](terms).join(" ")

export const priceEventCriteriaChinese = (terms: PriceEventTerms): string =>
  chinese[terms.kind](terms).join("")

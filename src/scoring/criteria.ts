/**
 * The settlement texts of challenges, in English and Chinese. Made once, at creation, and frozen with the challenge: what a
 * challenge settles by is what its text says.
 */
import type { PriceEventKind } from "./priceEvents.ts"

const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December"
]

/** The parts of an ISO 8601 instant in UTC; seconds only where there are any. */
const partsOf = (instant: string) => {
  const [date = "", time = ""] = instant.split("T")
  const [year = "", month = "", day = ""] = date.split("-")
  return {
    year,
    month: Number(month),
    day: Number(day),
    time: time
      .replace(/Z$/, "")
      .replace(/(\.\d*?)0+$/, "$1")
      .replace(/\.$/, "")
      .replace(/:00$/, "")
  }
}

/** An instant as people write it, exactly: "14:30 UTC on 2 March 2026". */
export const inUtc = (instant: string): string => {
  const { day, month, time, year } = partsOf(instant)
  return `${time} UTC on ${day} ${months[month - 1]} ${year}`
}

/** The period of a series as people say it: "2026-10" is October 2026; others stay as they are. */
export const periodInWords = (period: string): string => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(period) ?? []
  return year === undefined ? period : `${months[Number(month) - 1]} ${year}`
}

/** Names of targets as they stand within a sentence, where they stand otherwise there. */
const namesWithin: Readonly<Record<string, string>> = {
  GC: "gold",
  ES: "the E-mini S&P 500",
  CL: "crude oil",
  ZN: "the 10-year T-note",
  HG: "copper",
  NG: "natural gas",
  ZS: "soybeans",
  DXY: "the US dollar index",
  CPI: "the consumer price index",
  CORE_CPI: "the core consumer price index",
  PPI: "the producer price index",
  NFP: "nonfarm payrolls",
  UNRATE: "the unemployment rate",
  PCE: "personal consumption expenditures",
  GDP: "gross domestic product",
  FOMC: "the federal funds target rate"
}

/** A target as it stands within an English sentence: "the US dollar index". */
export const nameWithin = (key: string, name: string): string => namesWithin[key] ?? name

/** The same with its key, as in questions: "the US dollar index (DXY)". */
export const askedName = (key: string, name: string): string => `${nameWithin(key, name)} (${key})`

const periodInChinese = (period: string): string => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(period) ?? []
  return year === undefined ? period : `${year}年${Number(month)}月`
}

const inUtcChinese = (instant: string): string => {
  const { day, month, time, year } = partsOf(instant)
  return `${year}年${month}月${day}日 ${time}（UTC）`
}

interface DirectionalTerms {
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

type Unit = "day" | "hour" | "minute" | "second"

const inEnglish = (count: number, unit: Unit): string => `${count} ${unit}${count === 1 ? "" : "s"}`

const unitsInChinese = { day: "天", hour: "小时", minute: "分钟", second: "秒" }
const inChinese = (count: number, unit: Unit): string => `${count} ${unitsInChinese[unit]}`

/** A span of whole seconds as people say it: whole days beyond one, else hours, minutes and seconds, each where there are any. */
const spanIn = (hours: number, say: (count: number, unit: Unit) => string): string => {
  const seconds = Math.round(hours * 3600)
  if (seconds % 86_400 === 0 && seconds > 86_400) return say(seconds / 86_400, "day")
  const parts: ReadonlyArray<readonly [number, Unit]> = [
    [Math.floor(seconds / 3600), "hour"],
    [Math.floor(seconds / 60) % 60, "minute"],
    [seconds % 60, "second"]
  ]
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => say(count, unit))
    .join(" ")
}

export const resolutionCriteria = (terms: DirectionalTerms): string =>
  [
    `Settles on the change of ${askedName(terms.target, terms.targetName)} from the open price ${terms.openPrice}.`,
    `The close price is the first price observed at or after ${inUtc(terms.resolveAt)}, at most ${spanIn(terms.closePriceWithinHours, inEnglish)} after; a candle counts at its end.`,
    `More than +${terms.deadZonePct} % is bullish, less than -${terms.deadZonePct} % is bearish, otherwise neutral; exactly +${terms.deadZonePct} % or -${terms.deadZonePct} % is neutral.`,
    `Without a close price settlement is tried again at every run, and the challenge is cancelled, scoring nobody, ${spanIn(terms.cancelAfterHours, inEnglish)} after that time.`
  ].join(" ")

export const resolutionCriteriaChinese = (terms: DirectionalTerms): string =>
  [
    `按${chineseName(terms.target)}相对开盘价 ${terms.openPrice} 的涨跌幅结算。`,
    `收盘价取 ${inUtcChinese(terms.resolveAt)} 或其后观测到的第一个价格，最迟不超过其后 ${spanIn(terms.closePriceWithinHours, inChinese)}；K 线的价格以其结束时刻为准。`,
    `涨幅大于 ${terms.deadZonePct}% 为看涨（bullish），跌幅大于 ${terms.deadZonePct}% 为看跌（bearish），其余为中性（neutral）；恰好等于 +${terms.deadZonePct}% 或 -${terms.deadZonePct}% 属于中性。`,
    `若暂无收盘价，每次结算运行时都会重试；若该时刻之后满 ${spanIn(terms.cancelAfterHours, inChinese)}仍无收盘价，则本题取消，不对任何预测计分。`
  ].join("")

/** Of a practice question, which settles at its deadline on what is recorded already. */
type PracticeTerms = Pick<DirectionalTerms, "targetName" | "target" | "openPrice" | "deadZonePct"> & {
  readonly hours: number
}

export const practiceCriteria = (terms: PracticeTerms): string =>
  [
    `Practice on a recording of made-up prices that move about as those of ${askedName(terms.target, terms.targetName)}, multiplied by one factor and shown under another date; nothing of it is ranked or logged.`,
    `Settles at the deadline, on the change from the open price ${terms.openPrice} to the recorded price ${spanIn(terms.hours, inEnglish)} on.`,
    `More than +${terms.deadZonePct} % is bullish, less than -${terms.deadZonePct} % is bearish, otherwise neutral; exactly +${terms.deadZonePct} % or -${terms.deadZonePct} % is neutral.`
  ].join(" ")

export const practiceCriteriaChinese = (terms: PracticeTerms): string =>
  [
    `练习题：采用波动与${chineseName(terms.target)}相近的虚构价格记录，统一乘以一个系数，并以另一日期显示；不计入排名，也不写入日志。`,
    `于截止时刻结算，以价格记录中 ${spanIn(terms.hours, inChinese)}之后的价格相对开盘价 ${terms.openPrice} 的涨跌幅为准。`,
    `涨幅大于 ${terms.deadZonePct}% 为看涨（bullish），跌幅大于 ${terms.deadZonePct}% 为看跌（bearish），其余为中性（neutral）；恰好等于 +${terms.deadZonePct}% 或 -${terms.deadZonePct}% 属于中性。`
  ].join("")

interface MacroTerms {
  readonly seriesName: string
  readonly series: string
  readonly period: string
  readonly unit: string | null
  /** ISO 8601, UTC. */
  readonly releaseAt: string
  readonly voidAt: string
  /** Decimal text: what forecasts are scored with. */
  readonly scale: string
  readonly scaleIsFrozen: boolean
}

export const macroCriteria = (terms: MacroTerms): string =>
  [
    `Settles on the first print of ${askedName(terms.series, terms.seriesName)} for ${periodInWords(terms.period)}${terms.unit === null ? "" : `, in ${terms.unit}`}, expected at ${inUtc(terms.releaseAt)}; later revisions are ignored.`,
    terms.scaleIsFrozen
      ? `A forecast is scored by the CRPS of its distribution, with the reference scale ${terms.scale}.`
      : `A forecast is scored by the CRPS of its distribution, with the spread of the bins, ${terms.scale}.`,
    "A value on the edge of two bins belongs to the bin above it.",
    `Without a value by ${inUtc(terms.voidAt)} the challenge is void, scoring nobody.`
  ].join(" ")

export const macroCriteriaChinese = (terms: MacroTerms): string =>
  [
    `按${chineseName(terms.series)}${periodInChinese(terms.period)}的首次公布值${terms.unit === null ? "" : `（单位：${terms.unit}）`}结算，预计于 ${inUtcChinese(terms.releaseAt)} 公布；此后的修订值不予采用。`,
    chineseScoring(
      terms.scaleIsFrozen ? `参考尺度为 ${terms.scale}` : `以各区间的跨度为尺度，其值为 ${terms.scale}`
    ),
    "恰好落在两个区间分界点上的数值，归入其上方的区间。",
    chineseVoid(terms.voidAt, "仍无公布值")
  ].join("")

type OrderedTerms = Omit<MacroTerms, "unit" | "scale" | "scaleIsFrozen"> & {
  /** In their order, each with its probability in the reference vector, as decimal texts. */
  readonly categories: ReadonlyArray<readonly [name: string, probability: string]>
}

export const orderedCriteria = (terms: OrderedTerms): string =>
  [
    `Settles on the category of ${askedName(terms.series, terms.seriesName)} for ${periodInWords(terms.period)} that is announced, expected at ${inUtc(terms.releaseAt)}; later corrections are ignored.`,
    `The categories in their order, each with its probability in the reference: ${terms.categories.map(([name, probability]) => `${name} ${probability}`).join(", ")}.`,
    "An answer is scored by its ranked probability score, on the scale of what the reference expects of its own.",
    `Without an announcement by ${inUtc(terms.voidAt)} the challenge is void, scoring nobody.`
  ].join(" ")

export const orderedCriteriaChinese = (terms: OrderedTerms): string =>
  [
    `按${chineseName(terms.series)}${periodInChinese(terms.period)}公布的类别结算，预计于 ${inUtcChinese(terms.releaseAt)} 公布；此后的更正不予采用。`,
    `各类别依次为（括号内为参考概率）：${terms.categories.map(([name, probability]) => `${name}（${probability}）`).join("、")}。`,
    "答案按其排序概率评分（RPS）计分，以参考概率对自身的期望值为尺度。",
    chineseVoid(terms.voidAt, "仍未公布")
  ].join("")

interface PriceEventTerms {
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

/** The texts of questions that no administrator has worded. */
export const directionQuestion = (target: string, targetName: string, resolveAt: string): string =>
  `Which way will ${askedName(target, targetName)} move by ${inUtc(resolveAt)}?`

export const sessionQuestion = (target: string, targetName: string, date: string): string =>
  `Which way will ${askedName(target, targetName)} move by the close of its session of ${date}?`

export const flashQuestion = (target: string, targetName: string, resolveAt: string): string =>
  `Which way will ${askedName(target, targetName)} move in the hour until ${inUtc(resolveAt)}, after the event?`

export const ladderQuestion = (target: string, targetName: string, resolveAt: string): string =>
  `Which way will ${askedName(target, targetName)} have moved by ${inUtc(resolveAt)}?`

export const macroQuestion = (target: string, targetName: string, period: string): string =>
  `What will ${askedName(target, targetName)} be for ${periodInWords(period)}?`

export const orderedQuestion = (target: string, targetName: string, period: string): string =>
  `What will become of ${askedName(target, targetName)} for ${periodInWords(period)}?`

export const priceEventQuestion = (
  terms: Pick<
    PriceEventTerms,
    "kind" | "target" | "targetName" | "firstDay" | "lastDay" | "level" | "resolveAt"
  >
): string => {
  const name = askedName(terms.target, terms.targetName)
  switch (terms.kind) {
    case "numeric_close":
      return `Where will ${name} close on ${terms.lastDay} (UTC)?`
    case "threshold":
      return `Will ${name} close at or above ${terms.level} on ${terms.lastDay} (UTC)?`
    case "barrier":
      return `Will ${name} touch ${terms.level} before ${inUtc(terms.resolveAt)}?`
    case "count_days":
      return `On how many of the 7 days from ${terms.firstDay} to ${terms.lastDay} (UTC) will ${name} close up?`
  }
}

interface AskedTerms extends Pick<PriceEventTerms, "target" | "targetName" | "level" | "resolveAt"> {
  /** A kind of price event, or any other kind of challenge. */
  readonly kind: string
  readonly period: string | null
  /** UTC days before the end: the last one, and the first of the seven to it. */
  readonly firstDay: string
  readonly lastDay: string
}

const priceEventKinds: ReadonlySet<string> = new Set<PriceEventKind>([
  "numeric_close",
  "threshold",
  "barrier",
  "count_days"
])

const isPriceEventKind = (kind: string): kind is PriceEventKind => priceEventKinds.has(kind)

/** Whether a question is one of the texts above, so that its terms alone say the same. */
export const isStandardQuestion = (question: string, terms: AskedTerms): boolean => {
  const { kind, lastDay, period, resolveAt, target, targetName } = terms
  if (isPriceEventKind(kind)) return question === priceEventQuestion({ ...terms, kind })
  const texts =
    period === null
      ? [
          directionQuestion(target, targetName, resolveAt),
          sessionQuestion(target, targetName, lastDay),
          flashQuestion(target, targetName, resolveAt),
          ladderQuestion(target, targetName, resolveAt)
        ]
      : [macroQuestion(target, targetName, period), orderedQuestion(target, targetName, period)]
  return texts.includes(question)
}

const crps = ({ scale }: PriceEventTerms) =>
  `A forecast is scored by the CRPS of its distribution, with the reference scale ${scale}.`

const closeOfDay = ({ resolveAt }: PriceEventTerms) =>
  `The close of the day, which ends at ${inUtc(resolveAt)}, is that of its daily candle or of its last 1-hour candle, whichever is known first from the same source; if both are known and differ, neither counts until an administrator has decided.`

const english: Readonly<Record<PriceEventKind, (terms: PriceEventTerms) => ReadonlyArray<string>>> = {
  numeric_close: (terms) => [
    `Settles on the close of ${askedName(terms.target, terms.targetName)} on the UTC day ${terms.lastDay}.`,
    closeOfDay(terms),
    crps(terms),
    `Without it by ${inUtc(terms.voidAt)} the question is void, scoring nobody, also if it is known later.`
  ],
  threshold: (terms) => [
    `Yes (bullish) if the close of ${askedName(terms.target, terms.targetName)} on the UTC day ${terms.lastDay} is at or above ${terms.level}, otherwise No (bearish).`,
    closeOfDay(terms),
    `Without it by ${inUtc(terms.voidAt)} the question is void, scoring nobody, also if it is known later.`
  ],
  barrier: (terms) => [
    `Yes (bullish) if the price of ${askedName(terms.target, terms.targetName)} touches ${terms.level} from ${inUtc(terms.windowFrom ?? "")} until ${inUtc(terms.resolveAt)}, otherwise No (bearish).`,
    `It is judged by the 1-hour candles that open at or after the first of these times and before the second: the level is touched if it lies from the low to the high of one of them, exactly equal being a touch; a gap between two candles is none.`,
    `One touch is enough for Yes; No takes every candle of the window.`,
    `Undecided by the candles known by ${inUtc(terms.voidAt)} the question is void, scoring nobody.`
  ],
  count_days: (terms) => [
    `Settles on how many of the 7 UTC days from ${terms.firstDay} to ${terms.lastDay} the price of ${askedName(terms.target, terms.targetName)} closes up: above the close of the day before; an equal close is not up.`,
    `The close of a day is that of its daily candle or of its last 1-hour candle, whichever is known first from the same source; if both are known and differ, neither counts until an administrator has decided.`,
    crps(terms),
    `Without all 8 closes by ${inUtc(terms.voidAt)} the question is void, scoring nobody, also if they are known later.`
  ]
}

const closeOfDayChinese = ({ resolveAt }: PriceEventTerms) =>
  `该日结束于 ${inUtcChinese(resolveAt)}，其收盘价取同一来源的日 K 线或当日最后一根 1 小时 K 线的收盘价，以先取得者为准；若两者均已取得而数值不同，则在管理员裁定之前均不采用。`

const crpsChinese = ({ scale }: PriceEventTerms) => chineseScoring(`参考尺度为 ${scale}`)

const chinese: Readonly<Record<PriceEventKind, (terms: PriceEventTerms) => ReadonlyArray<string>>> = {
  numeric_close: (terms) => [
    `按${chineseName(terms.target)}在 ${terms.lastDay}（UTC）的收盘价结算。`,
    closeOfDayChinese(terms),
    crpsChinese(terms),
    chineseVoid(terms.voidAt, "仍未取得该收盘价")
  ],
  threshold: (terms) => [
    `若${chineseName(terms.target)}在 ${terms.lastDay}（UTC）的收盘价大于或等于 ${terms.level}，则结果为“是”（bullish），否则为“否”（bearish）。`,
    closeOfDayChinese(terms),
    chineseVoid(terms.voidAt, "仍未取得该收盘价")
  ],
  barrier: (terms) => [
    `若${chineseName(terms.target)}在 ${inUtcChinese(terms.windowFrom ?? "")} 至 ${inUtcChinese(terms.resolveAt)} 期间触及 ${terms.level}，则结果为“是”（bullish），否则为“否”（bearish）。`,
    "判定依据为开盘时间不早于上述起始时刻、且早于上述结束时刻的 1 小时 K 线：若该价位落在某一根 K 线的最低价与最高价之间（恰好相等也视为触及），即为触及；前后两根 K 线之间的跳空缺口不算触及。",
    "只要触及一次，即判为“是”；判为“否”则须具备该期间的全部 K 线。",
    chineseVoid(terms.voidAt, "仍无法判定")
  ],
  count_days: (terms) => [
    `按${chineseName(terms.target)}在 ${terms.firstDay} 至 ${terms.lastDay}（UTC，共 7 天）中收涨的天数结算：当日收盘价高于前一日收盘价为收涨，持平不算。`,
    "每日收盘价取同一来源的日 K 线或当日最后一根 1 小时 K 线的收盘价，以先取得者为准；若两者均已取得而数值不同，则在管理员裁定之前均不采用。",
    crpsChinese(terms),
    chineseVoid(terms.voidAt, "仍缺少所需 8 个收盘价中的任何一个")
  ]
}

export const priceEventCriteria = (terms: PriceEventTerms): string => english[terms.kind](terms).join(" ")

export const priceEventCriteriaChinese = (terms: PriceEventTerms): string =>
  chinese[terms.kind](terms).join("")

const decimals = new Intl.NumberFormat("en", {
  useGrouping: false,
  maximumSignificantDigits: 15,
  signDisplay: "negative"
})

/**
 * A number that an administrator gives, as it is frozen and said: without an exponent, and with the 15 significant digits that a
 * double keeps of every decimal, so that 1e-7 is 0.0000001 and the sum 0.30000000000000004 is 0.3.
 */
export const plainDecimal = (value: number): string => decimals.format(value)

/** A scale that is computed is frozen as it is said: with six significant digits. */
export const roundedScale = (scale: number): number => Number(scale.toPrecision(6))

/** Targets as readers of Chinese know them. */
export const chineseNames: Readonly<Record<string, string>> = {
  GC: "黄金",
  ES: "E-mini 标普 500",
  CL: "原油",
  ZN: "10 年期美国国债期货",
  HG: "铜",
  NG: "天然气",
  BTC: "比特币",
  ZS: "大豆",
  DXY: "美元指数",
  ETH: "以太坊",
  CPI: "美国消费者价格指数",
  CORE_CPI: "美国核心消费者价格指数",
  PPI: "美国生产者价格指数",
  NFP: "美国非农就业人数",
  UNRATE: "美国失业率",
  PCE: "美国个人消费支出物价指数",
  GDP: "美国国内生产总值",
  FOMC: "美国联邦基金目标利率"
}

/** A target as a reader of Chinese knows it, with its key, as it stands after a Chinese word. */
export const chineseName = (key: string): string => {
  const name = chineseNames[key]
  return name === undefined ? ` ${key} ` : `${/^\w/.test(name) ? " " : ""}${name}（${key}）`
}

/** How a forecast is scored; `scale` says which scale it is, and its value. */
const chineseScoring = (scale: string): string => `预测按其分布的 CRPS（连续分级概率评分）计分，${scale}。`

/** The end of a question that is not settled, when `condition` still holds by a time. */
const chineseVoid = (voidAt: string, condition: string): string =>
  `若截至 ${inUtcChinese(voidAt)} ${condition}，则本题作废，不对任何预测计分。`

/** The wording of names, times, spans and numbers in questions, in English and Chinese. Times are milliseconds since 1970, UTC. */

import { DateTime } from "effect"
import { day } from "./candles.ts"

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

/** The parts of a time, with seconds only if they are not 0. */
const partsOf = (instant: number) => {
  const [day = "", time = ""] = DateTime.formatIso(DateTime.makeUnsafe(instant)).split("T")
  const [year = "", month = "", date = ""] = day.split("-")
  return {
    year,
    month: Number(month),
    date: Number(date),
    time: time
      .replace(/Z$/, "")
      .replace(/(\.\d*?)0+$/, "$1")
      .replace(/\.$/, "")
      .replace(/:00$/, "")
  }
}

/** An instant as people write it, exactly: "14:30 UTC on 2 March 2026". */
export const inUtc = (instant: number): string => {
  const { date, month, time, year } = partsOf(instant)
  return `${time} UTC on ${date} ${months[month - 1]} ${year}`
}

/** The last UTC day before an end, for example 2026-03-02. */
export const lastDayOf = (end: number): string => firstDayOf(end - 1, 0)

/** The first of the UTC days that end at `end`, this many. */
export const firstDayOf = (end: number, days: number): string =>
  DateTime.formatIsoDateUtc(DateTime.makeUnsafe(end - days * day))

/** The period of a series as people say it: "2026-10" is October 2026; others stay as they are. */
export const periodInWords = (period: string): string => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(period) ?? []
  return year === undefined ? period : `${months[Number(month) - 1]} ${year}`
}

/** Names of targets within a sentence, if they differ there. */
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

/** A target's name within an English sentence: "the US dollar index". */
export const nameWithin = (key: string, name: string): string => namesWithin[key] ?? name

/** A target's name with its key, as questions write it: "the US dollar index (DXY)". */
export const nameWithKey = (key: string, name: string): string => `${nameWithin(key, name)} (${key})`

export const periodInChinese = (period: string): string => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(period) ?? []
  return year === undefined ? period : `${year}年${Number(month)}月`
}

export const inUtcChinese = (instant: number): string => {
  const { date, month, time, year } = partsOf(instant)
  return `${year}年${month}月${date}日 ${time}（UTC）`
}

type Unit = "day" | "hour" | "minute" | "second"

const inEnglish = (count: number, unit: Unit): string => `${count} ${unit}${count === 1 ? "" : "s"}`

const unitsInChinese = { day: "天", hour: "小时", minute: "分钟", second: "秒" }
const inChinese = (count: number, unit: Unit): string => `${count} ${unitsInChinese[unit]}`

/** A span of whole seconds in words: whole days beyond one, otherwise hours, minutes and seconds, without those that are 0. */
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

export const spanInEnglish = (hours: number): string => spanIn(hours, inEnglish)
export const spanInChinese = (hours: number): string => spanIn(hours, inChinese)

const decimals = new Intl.NumberFormat("en", {
  useGrouping: false,
  maximumSignificantDigits: 15,
  signDisplay: "negative"
})

/**
 * An administrator's number as it is frozen and written: without an exponent, and with the 15 significant digits that a double keeps
 * of every decimal, so that 1e-7 is 0.0000001 and the sum 0.30000000000000004 is 0.3.
 */
export const plainDecimal = (value: number): string => decimals.format(value)

/** A computed scale is frozen as it is written: with six significant digits. */
export const roundedScale = (scale: number): number => Number(scale.toPrecision(6))

/** The usual Chinese names of targets. */
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

/** A target's usual Chinese name with its key, as it follows a Chinese word. */
export const chineseName = (key: string): string => {
  const name = chineseNames[key]
  return name === undefined ? ` ${key} ` : `${/^\w/.test(name) ? " " : ""}${name}（${key}）`
}

/** The sentence on the scoring of a forecast; `scale` names the scale and its value. */
export const chineseScoring = (scale: string): string =>
  `预测按其分布的 CRPS（连续分级概率评分）计分，${scale}。`

/** The sentence on the scoring of a forecast with a reference scale. */
export const byCrps = {
  en: (scale: string) =>
    `A forecast is scored by the CRPS of its distribution, with the reference scale ${scale}.`,
  zh: (scale: string) => chineseScoring(`参考尺度为 ${scale}`)
}

/** The sentence on the void of a question when `condition` still holds at a time. */
export const chineseVoid = (voidAt: number, condition: string): string =>
  `若截至 ${inUtcChinese(voidAt)} ${condition}，则本题作废，不对任何预测计分。`

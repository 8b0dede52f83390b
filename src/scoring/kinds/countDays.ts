/** A question how many of the seven UTC days from a Monday on close up: above the close of the day before. */
import { BigDecimal, DateTime } from "effect"
import { countedDays, day, hour } from "../candles.ts"
import { above } from "../reference.ts"
import { nameWithKey, byCrps, chineseName, chineseVoid, firstDayOf, inUtc, lastDayOf } from "../wording.ts"
import { candleFacts } from "./facts.ts"
import type { Candle } from "../candles.ts"
import type { CandleKind, Wanted } from "./kind.ts"
import { candleTerms, closesOf, endsAtMidnight, ruleOf, levelProblems, withoutWindow } from "./priceEvent.ts"

interface CountDaysTerms {
  readonly scale: string
  readonly rule: number
}

const monday = 1

const endsAtAWeek = (wanted: Wanted) => {
  const { resolveAt } = wanted
  return resolveAt % day === 0 && DateTime.getPartUtc(DateTime.makeUnsafe(resolveAt), "weekDay") === monday
    ? endsAtMidnight(wanted)
    : [
        {
          path: "resolve_at",
          message: "Expected the midnight (UTC) that begins a Monday, at which the seven days end"
        }
      ]
}

const closesUp = (candles: ReadonlyArray<Candle>): number =>
  candles.filter((candle, index) => {
    const before = candles[index - 1]
    return before !== undefined && BigDecimal.isGreaterThan(candle.close, before.close)
  }).length

/** The probabilities that 0, 1, 2, ... of independent events happen, by the probability of each event. */
const countsOf = (probabilities: ReadonlyArray<number>): ReadonlyArray<number> => {
  const counts = [1, ...probabilities.map(() => 0)]
  for (const p of probabilities) {
    for (let count = counts.length - 1; count >= 0; count--) {
      counts[count] = (counts[count] ?? 0) * (1 - p) + (counts[count - 1] ?? 0) * p
    }
  }
  return counts
}

export const countDays: CandleKind<CountDaysTerms> = {
  type: "price_event",
  answers: candleFacts.count_days.answers,
  logged: candleTerms,
  problems: (wanted) => [...levelProblems(wanted), ...withoutWindow(wanted), ...endsAtAWeek(wanted)],
  termsOf: (row) =>
    row.reference_scale === null ? undefined : { scale: row.reference_scale, rule: ruleOf(row) },
  input: ({ resolveAt, terms }) => closesOf("count_days", resolveAt, terms.rule),
  decide: (_, candles, isComplete) =>
    isComplete
      ? { result: null, observation: BigDecimal.fromNumberUnsafe(closesUp(candles)), evidence: candles }
      : undefined,
  resultOf: () => null,
  walk: ({ resolveAt }) => {
    const first = resolveAt - countedDays * day
    return {
      begins: first,
      at: ({ at, closes, price, volatility }) => {
        const up = Array.from({ length: countedDays }, (_, index) => {
          const [begins, ends] = [first + index * day, first + (index + 1) * day]
          const from = closes.get(begins)
          if (at < begins || from === undefined) return 0.5
          const close = closes.get(ends)
          if (close !== undefined) return Number(close > from)
          return at >= ends ? 0.5 : above(Math.log(from / price), volatility * Math.sqrt((ends - at) / hour))
        })
        return { counts: countsOf(up) }
      }
    }
  },
  questions: ({ resolveAt, target, targetName }) => [
    `On how many of the 7 days from ${firstDayOf(resolveAt, countedDays)} to ${lastDayOf(resolveAt)} (UTC) will ${nameWithKey(target, targetName)} close up?`
  ],
  criteria: {
    en: ({ cancelAt, resolveAt, target, targetName, terms }) =>
      [
        `Settles on how many of the 7 UTC days from ${firstDayOf(resolveAt, countedDays)} to ${lastDayOf(resolveAt)} the price of ${nameWithKey(target, targetName)} closes up: above the close of the day before; an equal close is not up.`,
        `The close of a day is that of its daily candle or of its last 1-hour candle, whichever is known first from the same source; if both are known and differ, neither counts until an administrator has decided.`,
        byCrps.en(terms.scale),
        `Without all 8 closes by ${inUtc(cancelAt)} the question is void, scoring nobody, also if they are known later.`
      ].join(" "),
    zh: ({ cancelAt, resolveAt, target, terms }) =>
      [
        `按${chineseName(target)}在 ${firstDayOf(resolveAt, countedDays)} 至 ${lastDayOf(resolveAt)}（UTC，共 7 天）中收涨的天数结算：当日收盘价高于前一日收盘价为收涨，持平不算。`,
        "每日收盘价取同一来源的日 K 线或当日最后一根 1 小时 K 线的收盘价，以先取得者为准；若两者均已取得而数值不同，则在管理员裁定之前均不采用。",
        byCrps.zh(terms.scale),
        chineseVoid(cancelAt, "仍缺少所需 8 个收盘价中的任何一个")
      ].join("")
  },
  label: { en: "Days up", zh: "上涨天数" },
  observed: { en: "Days that closed up", zh: "收涨天数" },
  title: {
    en: ({ lastDay, within }) => `On how many of the seven days to ${lastDay} will ${within} close up?`,
    zh: ({ lastDay, within }) => `截至 ${lastDay}的七天中，${within}有几天收涨？`
  }
}

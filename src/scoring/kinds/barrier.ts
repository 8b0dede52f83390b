/**
 * A question whether the price touches a level within a window of whole hours. Under the first rules, a gap between two
 * candles touches the levels within it.
 */
import { BigDecimal } from "effect"
import { hour, timesBetween } from "../candles.ts"
import { touchingLater } from "../reference.ts"
import { nameWithKey, chineseName, chineseVoid, inUtc, inUtcChinese } from "../wording.ts"
import { candleFacts } from "./facts.ts"
import type { Candle } from "../candles.ts"
import type { CandleKind, Decision, FieldProblem, Wanted } from "./kind.ts"
import { candleTerms, ruleOf, levelProblems, withoutScale } from "./priceEvent.ts"

export interface BarrierTerms {
  readonly level: string
  readonly windowFrom: number
  readonly rule: number
}

/** A window has at most this many hours, eleven years; a longer one is a mistake. */
const maxHours = 100_000

const isHour = (time: number) => time % hour === 0

const windowProblem = ({ isWindowGiven, resolveAt, windowFrom }: Wanted): FieldProblem | undefined => {
  const anHour = "Expected a whole hour, for example 2026-01-31T12:00:00Z"
  if (windowFrom === null) return undefined
  const hours = (resolveAt - windowFrom) / hour
  if (!isHour(resolveAt)) return { path: "resolve_at", message: anHour }
  if (!isHour(windowFrom)) return { path: "window_from", message: anHour }
  if (hours > maxHours) {
    const path = isWindowGiven ? "window_from" : "resolve_at"
    return { path, message: `Expected a window of at most ${maxHours} hours` }
  }
  if (hours > 0) return undefined
  return isWindowGiven
    ? { path: "window_from", message: "Expected a time before resolve_at" }
    : { path: "resolve_at", message: "Expected a whole hour that begins from now on, or a window_from" }
}

/** The nearer of two prices to the level. */
const nearer = (
  level: BigDecimal.BigDecimal,
  one: BigDecimal.BigDecimal,
  other: BigDecimal.BigDecimal
): BigDecimal.BigDecimal => {
  const distance = (price: BigDecimal.BigDecimal) => BigDecimal.abs(BigDecimal.subtract(price, level))
  return BigDecimal.isLessThan(distance(other), distance(one)) ? other : one
}

/**
 * "Touch judged on 1-hour candle high/low", and "exactly equal to the level counts as a touch", so one candle is enough
 * for a touch, and only all candles prove that there was none.
 */
const byCandles = <C extends Candle>(
  level: BigDecimal.BigDecimal,
  candles: readonly [C, ...ReadonlyArray<C>],
  isComplete: boolean
): Decision<C> | undefined => {
  const touching = candles.find(({ high, low }) => BigDecimal.between(level, { minimum: low, maximum: high }))
  if (touching !== undefined) return { result: "bullish", observation: level, evidence: [touching] }
  if (!isComplete) return undefined
  const nearest = ({ high, low }: Candle) => nearer(level, high, low)
  return {
    result: "bearish",
    observation: candles.map(nearest).reduce((one, other) => nearer(level, one, other)),
    evidence: candles
  }
}

/** Under the first rules, a level is touched if it lies between the low and the high of all candles so far. */
const byGapsToo = <C extends Candle>(
  level: BigDecimal.BigDecimal,
  candles: readonly [C, ...ReadonlyArray<C>],
  isComplete: boolean
): Decision<C> | undefined => {
  let { high, low } = candles[0]
  for (const [index, candle] of candles.entries()) {
    const before = candles[index - 1]
    high = BigDecimal.max(high, candle.high)
    low = BigDecimal.min(low, candle.low)
    if (BigDecimal.between(level, { minimum: low, maximum: high })) {
      const within = BigDecimal.between(level, { minimum: candle.low, maximum: candle.high })
      return {
        result: "bullish",
        observation: level,
        evidence: within || before === undefined ? [candle] : [before, candle]
      }
    }
  }
  if (!isComplete) return undefined
  return {
    result: "bearish",
    observation: BigDecimal.isGreaterThan(level, high) ? high : low,
    evidence: candles
  }
}

export const barrier: CandleKind<BarrierTerms> = {
  type: "price_event",
  answers: candleFacts.barrier.answers,
  logged: candleTerms,
  problems: (wanted) => {
    const window = windowProblem(wanted)
    return [...levelProblems(wanted), ...withoutScale(wanted), ...(window === undefined ? [] : [window])]
  },
  termsOf: (row) =>
    row.level === null || row.window_from === null
      ? undefined
      : { level: row.level, windowFrom: row.window_from, rule: ruleOf(row) },
  input: ({ resolveAt, terms }) => ({ by: "hours", opens: timesBetween(terms.windowFrom, resolveAt, hour) }),
  decide: ({ terms }, candles, isComplete) => {
    const level = BigDecimal.fromStringUnsafe(terms.level)
    return terms.rule === 1 ? byGapsToo(level, candles, isComplete) : byCandles(level, candles, isComplete)
  },
  /** The price nearest to the level equals it if it was touched. */
  resultOf: ({ level }, observation) =>
    BigDecimal.Equivalence(observation, BigDecimal.fromStringUnsafe(level)) ? "bullish" : "bearish",
  walk: ({ resolveAt, terms }) => {
    const level = Number(terms.level)
    return {
      touches: { level, from: terms.windowFrom },
      begins: terms.windowFrom,
      at: ({ distanceTo, spread, touched }) => {
        const sd = spread(resolveAt)
        const ahead = spread(terms.windowFrom)
        const within = Math.sqrt(Math.max(0, sd * sd - ahead * ahead))
        const yes = touched ? 1 : Math.min(1, touchingLater(distanceTo(level), ahead, within))
        return { odds: [yes, 1 - yes] }
      }
    }
  },
  questions: ({ level, resolveAt, target, targetName }) => [
    `Will ${nameWithKey(target, targetName)} touch ${level} before ${inUtc(resolveAt)}?`
  ],
  criteria: {
    en: ({ cancelAt, resolveAt, target, targetName, terms }) =>
      [
        `Yes (bullish) if the price of ${nameWithKey(target, targetName)} touches ${terms.level} from ${inUtc(terms.windowFrom)} until ${inUtc(resolveAt)}, otherwise No (bearish).`,
        `It is judged by the 1-hour candles that open at or after the first of these times and before the second: the level is touched if it lies from the low to the high of one of them, exactly equal being a touch; a gap between two candles is none.`,
        `One touch is enough for Yes; No takes every candle of the window.`,
        `Undecided by the candles known by ${inUtc(cancelAt)} the question is void, scoring nobody.`
      ].join(" "),
    zh: ({ cancelAt, resolveAt, target, terms }) =>
      [
        `若${chineseName(target)}在 ${inUtcChinese(terms.windowFrom)} 至 ${inUtcChinese(resolveAt)} 期间触及 ${terms.level}，则结果为“是”（bullish），否则为“否”（bearish）。`,
        "判定依据为开盘时间不早于上述起始时刻、且早于上述结束时刻的 1 小时 K 线：若该价位落在某一根 K 线的最低价与最高价之间（恰好相等也视为触及），即为触及；前后两根 K 线之间的跳空缺口不算触及。",
        "只要触及一次，即判为“是”；判为“否”则须具备该期间的全部 K 线。",
        chineseVoid(cancelAt, "仍无法判定")
      ].join("")
  },
  label: { en: "Barrier", zh: "触及" },
  observed: { en: "Price nearest to the level", zh: "最接近该价位的价格" },
  title: {
    en: ({ lastDay, level, within }) => `Will ${within} touch ${level} by ${lastDay}?`,
    zh: ({ lastDay, level, within }) => `截至 ${lastDay}，${within}会触及 ${level} 吗？`
  }
}

/** Prices that wander, hour by hour, and price events settled by hand from them: loops over plain numbers, on purpose. */
import type { PriceEvent } from "../../src/services/PriceEvents.ts"

interface Hour {
  /** When it opens, in milliseconds since 1970. */
  readonly time: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
}

const hour = 3_600_000
const day = 24 * hour

/** A small generator of the same numbers every time (Park and Miller 1988). */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/** Whole prices about 100, from a day before `from` on. Some hours jump, and some, by their index, are missing. */
export const walkOfPrices = (from: number, days: number) => {
  const draw = numbers(20_230_101)
  const candles: Array<Hour> = []
  const missing = new Set<number>()
  let price = 100
  for (let index = 0; index < (days + 1) * 24; index++) {
    const open = price + (draw(20) === 0 ? draw(7) - 3 : 0)
    const close = Math.max(50, open + draw(5) - 2)
    candles.push({
      time: from - day + index * hour,
      open,
      high: Math.max(open, close) + draw(2),
      low: Math.min(open, close) - draw(2),
      close
    })
    price = close
  }
  // Hours of no close, of two closes, and of a whole week.
  for (const index of [30, 47 + 24 * 3, 24 * 12 + 5, 24 * 19 + 23, 24 * 30 + 2]) missing.add(index)
  return {
    candles,
    missing,
    /** Where the price is at noon after so many days. */
    levelNear: (passed: number) => candles[passed * 24 + 12]?.close ?? 100
  }
}

/** The outcome of a question by the candles that are there; undefined when they do not decide it. */
export const settledByHand = (
  event: PriceEvent,
  candles: ReadonlyArray<Hour>
): "bullish" | "bearish" | number | undefined => {
  const end = Date.parse(event.resolve_at)
  const closeOf = (midnight: number) => candles.find(({ time }) => time === midnight - hour)?.close
  const level = event.level ?? 0
  if (event.kind === "numeric_close") return closeOf(end)
  if (event.kind === "threshold") {
    const close = closeOf(end)
    if (close === undefined) return undefined
    return close >= level ? "bullish" : "bearish"
  }
  if (event.kind === "count_days") {
    let up = 0
    for (let midnight = end - 6 * day; midnight <= end; midnight += day) {
      const [close, before] = [closeOf(midnight), closeOf(midnight - day)]
      if (close === undefined || before === undefined) return undefined
      if (close > before) up += 1
    }
    return up
  }
  const begin = Date.parse(event.window_from ?? "")
  let isComplete = true
  let before: Hour | undefined
  for (let time = begin; time < end; time += hour) {
    const candle = candles.find((each) => each.time === time)
    if (candle === undefined) {
      isComplete = false
      continue
    }
    if (candle.low <= level && level <= candle.high) return "bullish"
    if (before !== undefined && before.high < level && candle.low > level) return "bullish"
    if (before !== undefined && before.low > level && candle.high < level) return "bullish"
    before = candle
  }
  return isComplete ? "bearish" : undefined
}

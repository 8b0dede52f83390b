/** Prices that wander, hour by hour. */
import { day, hour, numbers } from "./prices/referenceSettlement.ts"
import type { Hour } from "./prices/referenceSettlement.ts"

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

/** Price events settled by hand: loops over plain numbers, on purpose, and nothing of ours. */

export interface Hour {
  /** When it opens, in milliseconds since 1970. */
  readonly time: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
}

/** By when they open. */
export type Hours = ReadonlyMap<number, Hour>

export interface Asked {
  readonly kind: string
  readonly level: number | null
  /** Of a barrier: when its first hour opens. */
  readonly from: number | null
  /** When its last hour ends. */
  readonly end: number
}

export interface Settled {
  readonly outcome: "bullish" | "bearish" | number
  /** What was looked at: the close, the count, or the price that came nearest to the level. */
  readonly observed: number
}

export const hour = 3_600_000
export const day = 24 * hour

/** A small generator of the same numbers every time (Park and Miller 1988). */
export const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

const barrier = (level: number, from: number, end: number, hours: Hours): Settled | undefined => {
  const touched: Settled = { outcome: "bullish", observed: level }
  let isComplete = true
  let nearest: number | undefined
  for (let time = from; time < end; time += hour) {
    const candle = hours.get(time)
    if (candle === undefined) {
      isComplete = false
      continue
    }
    if (candle.low <= level && level <= candle.high) return touched
    const edge = candle.high < level ? candle.high : candle.low
    if (nearest === undefined || Math.abs(edge - level) < Math.abs(nearest - level)) nearest = edge
  }
  return isComplete && nearest !== undefined ? { outcome: "bearish", observed: nearest } : undefined
}

/** The outcome of a question by the hours that are there; undefined when they do not decide it. */
export const referenceSettlement = ({ end, from, kind, level }: Asked, hours: Hours): Settled | undefined => {
  const closeOf = (midnight: number) => hours.get(midnight - hour)?.close
  if (kind === "barrier") return barrier(level ?? 0, from ?? end, end, hours)
  if (kind === "count_days") {
    let up = 0
    for (let midnight = end - 6 * day; midnight <= end; midnight += day) {
      const [close, before] = [closeOf(midnight), closeOf(midnight - day)]
      if (close === undefined || before === undefined) return undefined
      if (close > before) up += 1
    }
    return { outcome: up, observed: up }
  }
  const close = closeOf(end)
  if (close === undefined) return undefined
  if (kind === "numeric_close") return { outcome: close, observed: close }
  return { outcome: close >= (level ?? 0) ? "bullish" : "bearish", observed: close }
}

/** Price events settled independently: loops over plain numbers, on purpose, without any code of ours. */

export interface Hour {
  /** The opening time in milliseconds since 1970. */
  readonly time: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
}

/** Hours by their opening times. */
export type Hours = ReadonlyMap<number, Hour>

export interface QuestionTerms {
  readonly kind: string
  readonly level: number | null
  /** The opening time of a barrier's first hour. */
  readonly from: number | null
  /** The end of its last hour. */
  readonly end: number
}

export interface Settled {
  readonly outcome: "bullish" | "bearish" | number
  /** The observed value: the close, the count, or the price that came nearest to the level. */
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

/** The outcome of a question by the known hours; undefined if they do not decide it. */
export const referenceSettlement = (
  { end, from, kind, level }: QuestionTerms,
  hours: Hours
): Settled | undefined => {
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

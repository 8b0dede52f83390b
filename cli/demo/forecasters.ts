/** Three ways to forecast the next print of a monthly series, from what had been published by then and nothing else. */
import type { NewForecast } from "../../src/services/domain/Prediction.ts"
import type { Series } from "./series.ts"

export interface Forecaster {
  readonly name: string
  readonly bio: string
  /** The expected print of the month at `position` of the series' months. */
  readonly expect: (series: Series, position: number) => number
  /** What its standard deviation is multiplied with. */
  readonly boldness: number
}

/** Errors that a forecaster learns its uncertainty from. */
const remembered = 24

const lastPrint = ({ months }: Series, position: number): number => months[position - 1]?.value ?? 0

/** How much the index usually rises in this month of the year: the mean of the years before. */
const usualRise = ({ index }: Series, position: number): number => {
  const rises: Array<number> = []
  for (let at = position; at > 0; at -= 12) {
    rises.push((index[at]?.index ?? 1) / (index[at - 1]?.index ?? 1))
  }
  return rises.length === 0 ? 1 : rises.reduce((sum, rise) => sum + rise, 0) / rises.length
}

/** The last index raised by what is usual, over the index a year before, which is known. */
const baseEffect = (series: Series, position: number): number => {
  const last = series.index[position + 11]?.index ?? 1
  const yearBefore = series.index[position]?.index ?? 1
  return ((last * usualRise(series, position)) / yearBefore - 1) * 100
}

export const forecasters: ReadonlyArray<Forecaster> = [
  { name: "naive", bio: "Expects the last print again.", expect: lastPrint, boldness: 1 },
  {
    name: "base effect",
    bio: "Knows what falls out of the year, and expects the month to rise as it did in the years before.",
    expect: baseEffect,
    boldness: 1
  },
  {
    name: "boastful",
    bio: "Expects the same, and claims to know it five times as well.",
    expect: baseEffect,
    boldness: 0.2
  }
]

/** The standard deviation is that of the errors which the same rule made in the months before. */
export const forecastOf = (
  { boldness, expect }: Forecaster,
  series: Series,
  position: number
): NewForecast => {
  const errors = Array.from({ length: remembered }, (_, back) => position - 1 - back)
    .filter((past) => past >= 7)
    .map((past) => (series.months[past]?.value ?? 0) - expect(series, past))
  const variance = errors.reduce((sum, error) => sum + error * error, 0) / errors.length
  return {
    predicted_value: Number(expect(series, position).toFixed(3)),
    predicted_std: Number(Math.max(0.01, Math.sqrt(variance) * boldness).toFixed(3))
  }
}

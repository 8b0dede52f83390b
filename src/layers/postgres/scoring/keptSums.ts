/** The sums that are kept of an agent, as they come from the database to be published. */
import { BigDecimal } from "effect"
import type { SqlClient } from "effect/sql"
import type { Figures } from "../../../scoring/figures.ts"

/**
 * The sums in a row of a table or subquery `f`, none of which is null, as one text: a page has fifty of them, and as a
 * column each they take longer to read than the figures to compute. Without the zeros that sums drag along.
 */
export const keptSums = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    concat_ws(' ', f.last_day, f.scored, trim_scale(f.score_sum), f.binary_scored, f.correct, trim_scale(f.brier_sum),
              f.skill_count, trim_scale(f.skill_sum), f.day_count, trim_scale(f.day_sum), f.days,
              trim_scale(f.sum_day_sq), trim_scale(f.sum_day_cross), f.sum_day_count_sq)`)

const day = "2026-03-05".length
const blank = " ".charCodeAt(0)
const minus = "-".charCodeAt(0)
const point = ".".charCodeAt(0)
const zero = "0".charCodeAt(0)

/**
 * The numbers of a text, one blank before each, as PostgreSQL prints them, which is never with an exponent: their digits,
 * and how many of them are behind the point. Digit by digit, for most are shorter than what it takes to cut them out.
 */
const numbersOf = (text: string, from: number) => {
  const units: Array<number> = []
  const scales: Array<number> = []
  let value = 0
  let sign = 1
  let scale = 0
  let behind = 0
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === blank) {
      units.push(sign * value)
      scales.push(scale)
      value = 0
      sign = 1
      scale = 0
      behind = 0
    } else if (code === minus) sign = -1
    else if (code === point) behind = 1
    else {
      value = value * 10 + (code - zero)
      scale += behind
    }
  }
  units.push(sign * value)
  scales.push(scale)
  return { units, scales }
}

/** A decimal whose digits are too many for a double, which never rounds such a number to a safe one. */
const longDecimal = (text: string, scale: number) => BigDecimal.make(BigInt(text.replace(".", "")), scale)

/** The figures of the text of `keptSums`. */
export const figuresOf = (sums: string): Figures => {
  const { scales, units } = numbersOf(sums, day)
  const count = (place: number): number => {
    const value = units[place]
    if (value === undefined) throw new Error(`there are only ${units.length} sums: ${sums}`)
    return value
  }
  const sum = (place: number): BigDecimal.BigDecimal => {
    const value = count(place)
    const scale = scales[place] ?? 0
    return Number.isSafeInteger(value)
      ? BigDecimal.make(BigInt(value), scale)
      : longDecimal(sums.split(" ")[place + 1] ?? "", scale)
  }
  return {
    lastDay: sums.slice(0, day),
    scoredCount: count(0),
    scoreSum: sum(1),
    binaryCount: count(2),
    correctCount: count(3),
    brierSum: sum(4),
    skillCount: count(5),
    skillSum: sum(6),
    dayCount: count(7),
    daySum: sum(8),
    days: count(9),
    sumDaySq: sum(10),
    sumDayCross: sum(11),
    sumDayCountSq: count(12)
  }
}

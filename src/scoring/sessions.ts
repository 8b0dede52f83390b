/**
 * When each target has its session of a day, and when it trades. Futures and the dollar index keep the clocks of New York,
 * summer time included; crypto never closes, and its days are those of UTC.
 *
 * Hours by contract: cmegroup.com (GC, HG, CL, NG, ES, ZN: 18:00 to 17:00; ZS: 20:00 to 08:45 and 09:30 to 14:20),
 * ice.com (US Dollar Index: 20:00 to 17:00), all in New York's time, from the evening before.
 */
import { DateTime } from "effect"
import { dateText, isShortDay, isTradingDay } from "./holidays.ts"

export const hour = 3_600_000
export const day = 24 * hour

/** A session: what is decided before it begins is settled by its close. Times are milliseconds since 1970. */
export interface Session {
  /** `2026-03-02`: the day that it is named by. */
  readonly date: string
  readonly from: number
  readonly until: number
}

/** Hours of New York's day; below zero on the evening before. */
type Hours = readonly [from: number, until: number]

const newYork = DateTime.zoneMakeNamedUnsafe("America/New_York")

/** A time of day there. The clocks change on Sundays at 2, when nothing trades and no session begins or ends. */
const inNewYork = (dayNumber: number, hours: number): number => {
  const date = DateTime.toPartsUtc(DateTime.makeUnsafe(dayNumber * day))
  return DateTime.toEpochMillis(
    DateTime.makeZonedUnsafe(
      {
        year: date.year,
        month: date.month,
        day: date.day,
        hour: Math.floor(hours),
        minute: Math.round((hours - Math.floor(hours)) * 60)
      },
      { timeZone: newYork, adjustForTimeZone: true }
    )
  )
}

/** The day that it is there. */
const newYorkDay = (time: number): number => {
  const { day: date, month, year } = DateTime.toParts(DateTime.setZone(DateTime.makeUnsafe(time), newYork))
  return Date.UTC(year, month - 1, date) / day
}

/**
 * Before the day sessions open (8:10 to 9:30) and before the statistics of 8:30: who predicts by then knows no more of the
 * day than the night has shown.
 */
const dayBegins = 8
const fullDay = 17
/** On short days every one of these markets still trades at one o'clock, and closes soon after. */
const shortDay = 13

const electronic: ReadonlyArray<Hours> = [[-6, 17]]
const soybeans: ReadonlyArray<Hours> = [
  [-4, 8.75],
  [9.5, 14 + 1 / 3]
]
const dollarIndex: ReadonlyArray<Hours> = [[-4, 17]]

/** Of each target that closes, when it trades; the last end is the close of its day. */
const markets: Readonly<Record<string, ReadonlyArray<Hours>>> = {
  GC: electronic,
  ES: electronic,
  CL: electronic,
  ZN: electronic,
  HG: electronic,
  NG: electronic,
  ZS: soybeans,
  DXY: dollarIndex
}

const closeOf = (hours: ReadonlyArray<Hours>, dayNumber: number): number =>
  isShortDay(dayNumber) ? shortDay : (hours.at(-1)?.[1] ?? fullDay)

/** The session of a target on a day, if it has one. */
const sessionOn = (target: string, dayNumber: number): Session | undefined => {
  const date = dateText(dayNumber)
  const hours = markets[target]
  if (hours === undefined) return { date, from: dayNumber * day, until: (dayNumber + 1) * day }
  if (!isTradingDay(dayNumber)) return undefined
  return {
    date,
    from: inNewYork(dayNumber, dayBegins),
    until: inNewYork(dayNumber, closeOf(hours, dayNumber))
  }
}

/** No market rests for longer than a long weekend. */
const maxRest = 10

/** The next session that begins after `time`. */
export const nextSession = (target: string, time: number): Session => {
  const today = newYorkDay(time)
  for (let dayNumber = today; dayNumber <= today + maxRest; dayNumber++) {
    const session = sessionOn(target, dayNumber)
    if (session !== undefined && session.from > time) return session
  }
  throw new Error(`no session of ${target} within ${maxRest} days`)
}

/** When the last session before `time` ended. */
export const lastClose = (target: string, time: number): number => {
  const today = newYorkDay(time)
  for (let dayNumber = today; dayNumber >= today - maxRest; dayNumber--) {
    const session = sessionOn(target, dayNumber)
    if (session !== undefined && session.until <= time) return session.until
  }
  throw new Error(`no session of ${target} within ${maxRest} days`)
}

/**
 * Whether a target trades from `from` until `until` without a break. On holidays, when some markets are open for half a day,
 * none is counted as trading.
 */
export const tradesThrough = (target: string, from: number, until: number): boolean => {
  const hours = markets[target]
  if (hours === undefined) return true
  const today = newYorkDay(from)
  // What trades in the evening belongs to the day that follows.
  return [today, today + 1].some((dayNumber) => {
    if (!isTradingDay(dayNumber)) return false
    const close = closeOf(hours, dayNumber)
    return hours.some(
      ([opens, closes]) =>
        from >= inNewYork(dayNumber, opens) && until <= inNewYork(dayNumber, Math.min(closes, close))
    )
  })
}

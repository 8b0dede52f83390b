/**
 * The sessions and trading hours of each target. Futures and the dollar index follow the clocks of New York, summer time included;
 * crypto never closes, and its days are those of UTC.
 *
 * Hours by contract: cmegroup.com (GC, HG, CL, NG, ES, ZN: 18:00 to 17:00; ZS: 20:00 to 08:45 and 09:30 to 14:20), ice.com (US Dollar
 * Index: 20:00 to 17:00), all in New York's time, from the evening before.
 *
 * Contracts: Yahoo's prices are those of the front contract and do not name it, so on the last trading day of a contract they switch
 * to the next one. `mayRoll` tells the time; the rules are beside each target. DXY is the index itself, computed from spot rates
 * (ice.com, U.S. Dollar Index Contracts FAQ), and has no contract that ends.
 *
 * Holidays and short days follow the rules of NYSE (Rule 7.2), which CME Group's settlement days follow:
 * nyse.com/markets/hours-calendars, cmegroup.com/tools-information/holiday-calendar.html. Closures that are announced (a national day
 * of mourning, a hurricane) follow no rule and are not included.
 *
 * A day is the number of days since 1970-01-01, so that weeks are arithmetic and no time zone can interfere.
 */
import { DateTime } from "effect"
import { day } from "./candles.ts"

/** A session: its close settles the predictions made before it begins. Times are milliseconds since 1970. */
interface Session {
  /** The day that names the session, as `2026-03-02`. */
  readonly date: string
  readonly from: number
  readonly until: number
}

/** Hours of the day in New York; those of the evening before are below zero. */
type Hours = readonly [from: number, until: number]

const newYork = DateTime.zoneMakeNamedUnsafe("America/New_York")

/** Converts a time of day in New York. The clocks change on Sundays at 2, when no market trades and no session begins or ends. */
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

/** The day in New York at this time. */
const newYorkDay = (time: number): number => {
  const { day: date, month, year } = DateTime.toParts(DateTime.setZone(DateTime.makeUnsafe(time), newYork))
  return Date.UTC(year, month - 1, date) / day
}

/**
 * This is before the day sessions open (8:10 to 9:30) and before the statistics of 8:30: predictions by then know no more of the day
 * than the night has shown.
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

/** The trading hours of each target that closes; the last end is the close of its day. */
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

/** The maximum number of days to look for a session: no market is closed for longer than a long weekend. */
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

/** The end of the last session before `time`. */
export const lastClose = (target: string, time: number): number => {
  const today = newYorkDay(time)
  for (let dayNumber = today; dayNumber >= today - maxRest; dayNumber--) {
    const session = sessionOn(target, dayNumber)
    if (session !== undefined && session.until <= time) return session.until
  }
  throw new Error(`no session of ${target} within ${maxRest} days`)
}

/**
 * True if a target trades from `from` until `until` without a break. On holidays, when some markets are open for half a day, none
 * counts as trading.
 */
export const tradesThrough = (target: string, from: number, until: number): boolean => {
  const hours = markets[target]
  if (hours === undefined) return true
  const today = newYorkDay(from)
  // Trading in the evening belongs to the next day.
  return [today, today + 1].some((dayNumber) => {
    if (!isTradingDay(dayNumber)) return false
    const close = closeOf(hours, dayNumber)
    return hours.some(
      ([opens, closes]) =>
        from >= inNewYork(dayNumber, opens) && until <= inNewYork(dayNumber, Math.min(closes, close))
    )
  })
}

/** The trading day this many before a day, which may itself be none. */
const tradingDayBefore = (dayNumber: number, count: number): number => {
  let [found, passed] = [dayNumber, 0]
  while (passed < count) {
    found -= 1
    if (isTradingDay(found)) passed += 1
  }
  return found
}

const firstOfNextMonth = (year: number, month: number): number =>
  month === 12 ? dayOf(year + 1, 1, 1) : dayOf(year, month + 1, 1)

const thirdLast: LastTradingDay = (year, month) => tradingDayBefore(firstOfNextMonth(year, month), 3)

/** The last trading day of the contract that ends in a month. */
type LastTradingDay = (year: number, month: number) => number

interface Contracts {
  /** The months in which a contract ends, from 1; every month if left out. */
  readonly months?: ReadonlyArray<number>
  readonly lastDay: LastTradingDay
}

const quarterly = [3, 6, 9, 12]

/**
 * The last trading days of contracts, as CME Group publishes them ("Termination of Trading" of each contract's specifications at
 * cmegroup.com, with the chapter of its rulebook). If a rule's day is no business day, the one before applies.
 */
const contracts: Readonly<Record<string, Contracts>> = {
  // COMEX 113: the third last business day of the contract month.
  GC: { lastDay: thirdLast },
  // COMEX 111: likewise.
  HG: { lastDay: thirdLast },
  // NYMEX 220: the third last business day of the month before the contract month.
  NG: { lastDay: thirdLast },
  // NYMEX 200: 3 business days before the 25th of the month before the contract month, or 4 if the 25th is no business day.
  CL: {
    lastDay: (year, month) => {
      const the25th = dayOf(year, month, 25)
      return tradingDayBefore(the25th, isTradingDay(the25th) ? 3 : 4)
    }
  },
  // CME 358: the third Friday of the contract month, at 9:30.
  ES: {
    months: quarterly,
    lastDay: (year, month) => tradingDayBefore(nth(3, friday, year, month) + 1, 1)
  },
  // CBOT 19: the seventh business day before the last one of the contract month.
  ZN: { months: quarterly, lastDay: (year, month) => tradingDayBefore(firstOfNextMonth(year, month), 8) },
  // CBOT 11: the business day before the 15th of the contract month.
  ZS: {
    months: [1, 3, 5, 7, 8, 9, 11],
    lastDay: (year, month) => tradingDayBefore(dayOf(year, month, 15), 1)
  }
}

/** True if a contract of the target ends on this day. */
export const isLastTradingDay = (target: string, dayNumber: number): boolean => {
  const ending = contracts[target]
  if (ending === undefined) return false
  const { month, year } = DateTime.toPartsUtc(DateTime.makeUnsafe(dayNumber * day))
  return (ending.months?.includes(month) ?? true) && ending.lastDay(year, month) === dayNumber
}

const eveningBefore = -6

/**
 * True if the front contract of a target may change between these times, so that two prices may be of two contracts: from the evening
 * on which a last trading day begins until the night in New York after which the next day is under way.
 */
export const mayRoll = (target: string, from: number, until: number): boolean => {
  const first = newYorkDay(from) - maxRest
  return Array.from({ length: newYorkDay(until) + 2 - first }, (_, index) => first + index).some(
    (dayNumber) => {
      if (!isLastTradingDay(target, dayNumber)) return false
      let next = dayNumber + 1
      while (!isTradingDay(next)) next += 1
      return from < inNewYork(next, 0) && until > inNewYork(dayNumber, eveningBefore)
    }
  )
}

/** The first Monday midnight (UTC) after `time`. 1970-01-05 was a Monday. */
export const nextMonday = (time: number): number => {
  const week = 7 * day
  const first = 4 * day
  return first + (Math.floor((time - first) / week) + 1) * week
}

/** A date as a day number. `month` counts from 1. */
export const dayOf = (year: number, month: number, date: number): number =>
  Date.UTC(year, month - 1, date) / day

/** The text `2026-03-02` of a day number. */
export const dateText = (dayNumber: number): string =>
  DateTime.formatIsoDateUtc(DateTime.makeUnsafe(dayNumber * day))

/** The weekday, with 0 for Sunday. 1970-01-01 was a Thursday. */
export const weekdayOf = (dayNumber: number): number => (((dayNumber + 4) % 7) + 7) % 7

const [sunday, monday, thursday, friday, saturday] = [0, 1, 4, 5, 6]

const yearOf = (dayNumber: number): number =>
  DateTime.getPartUtc(DateTime.makeUnsafe(dayNumber * day), "year")

/** The `count`th such weekday of a month. */
const nth = (count: number, weekday: number, year: number, month: number): number => {
  const first = dayOf(year, month, 1)
  return first + ((weekday - weekdayOf(first) + 7) % 7) + 7 * (count - 1)
}

const lastMondayOfMay = (year: number): number => {
  const last = dayOf(year, 5, 31)
  return last - ((weekdayOf(last) - monday + 7) % 7)
}

/** Gregorian Easter, by the anonymous algorithm (Meeus, Astronomical Algorithms, 1991, chapter 8). */
export const easterOf = (year: number): number => {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const ofCentury = year % 100
  const leaps = Math.floor(century / 4)
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3)
  const epact = (19 * golden + century - leaps - correction + 15) % 30
  const toSunday = (32 + 2 * (century % 4) + 2 * Math.floor(ofCentury / 4) - epact - (ofCentury % 4)) % 7
  const late = Math.floor((golden + 11 * epact + 22 * toSunday) / 451)
  const months = epact + toSunday - 7 * late + 114
  return dayOf(year, Math.floor(months / 31), (months % 31) + 1)
}

/** A holiday on a Saturday is observed on the Friday before, one on a Sunday on the Monday after. */
const observed = (dayNumber: number): number => {
  if (weekdayOf(dayNumber) === saturday) return dayNumber - 1
  return weekdayOf(dayNumber) === sunday ? dayNumber + 1 : dayNumber
}

const firstJuneteenth = 2022

/** The weekdays of a year on which there is no settlement, ascending. */
export const holidaysOf = (year: number): ReadonlyArray<number> => {
  const newYear = dayOf(year, 1, 1)
  return [
    // A New Year's Day on a Saturday is not observed: the Friday before ends the year.
    ...(weekdayOf(newYear) === saturday ? [] : [observed(newYear)]),
    nth(3, monday, year, 1),
    nth(3, monday, year, 2),
    easterOf(year) - 2,
    lastMondayOfMay(year),
    ...(year < firstJuneteenth ? [] : [observed(dayOf(year, 6, 19))]),
    observed(dayOf(year, 7, 4)),
    nth(1, monday, year, 9),
    nth(4, thursday, year, 11),
    observed(dayOf(year, 12, 25))
  ]
}

/** A weekday that is no holiday. */
export const isTradingDay = (dayNumber: number): boolean => {
  const weekday = weekdayOf(dayNumber)
  return weekday >= monday && weekday <= friday && !holidaysOf(yearOf(dayNumber)).includes(dayNumber)
}

/** The day before Independence Day, the day after Thanksgiving, and Christmas Eve, where they are trading days. */
export const isShortDay = (dayNumber: number): boolean => {
  const year = yearOf(dayNumber)
  const candidates = [dayOf(year, 7, 3), nth(4, thursday, year, 11) + 1, dayOf(year, 12, 24)]
  return candidates.includes(dayNumber) && isTradingDay(dayNumber)
}

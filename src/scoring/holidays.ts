/**
 * The days on which US exchanges do not settle, and those on which they close early, by the rules of NYSE (Rule 7.2), which
 * CME Group's settlement days follow: nyse.com/markets/hours-calendars, cmegroup.com/tools-information/holiday-calendar.html.
 * Closures that are announced (a national day of mourning, a hurricane) follow no rule and are not here.
 *
 * A day is the number of days since 1970-01-01, so that weeks are arithmetic and no time zone can interfere.
 */
import { DateTime } from "effect"

const dayLength = 86_400_000

/** A date as a day number. `month` counts from 1. */
export const dayOf = (year: number, month: number, date: number): number =>
  Date.UTC(year, month - 1, date) / dayLength

/** `2026-03-02` of a day number. */
export const dateText = (day: number): string =>
  DateTime.formatIsoDateUtc(DateTime.makeUnsafe(day * dayLength))

/** 0 is Sunday. 1970-01-01 was a Thursday. */
export const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7

const [sunday, monday, thursday, friday, saturday] = [0, 1, 4, 5, 6]

const yearOf = (day: number): number => DateTime.getPartUtc(DateTime.makeUnsafe(day * dayLength), "year")

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

/** Of a Saturday the Friday before is off, of a Sunday the Monday after. */
const observed = (day: number): number => {
  if (weekdayOf(day) === saturday) return day - 1
  return weekdayOf(day) === sunday ? day + 1 : day
}

const firstJuneteenth = 2022

/** The weekdays of a year on which there is no settlement, ascending. */
export const holidaysOf = (year: number): ReadonlyArray<number> => {
  const newYear = dayOf(year, 1, 1)
  return [
    // One that falls on a Saturday is not made up for: the Friday before ends the year.
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
export const isTradingDay = (day: number): boolean => {
  const weekday = weekdayOf(day)
  return weekday >= monday && weekday <= friday && !holidaysOf(yearOf(day)).includes(day)
}

/** The day before Independence Day, the day after Thanksgiving, and Christmas Eve, where they are trading days. */
export const isShortDay = (day: number): boolean => {
  const year = yearOf(day)
  const candidates = [dayOf(year, 7, 3), nth(4, thursday, year, 11) + 1, dayOf(year, 12, 24)]
  return candidates.includes(day) && isTradingDay(day)
}

/** Reads the dates of feeds: those of RFC 822 in their usual spellings, and those of ISO 8601. */
import { DateTime } from "effect"
import { zoneMinutes } from "./zones.ts"

export interface StatedDate {
  readonly at: DateTime.Utc
  /** False if the time of day or the zone is missing or not understood: `at` is then read as of UTC. */
  readonly isExact: boolean
}

const maxLength = 100
const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

const weekday =
  /\b(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)\b/gi
const month = String.raw`(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
const day = String.raw`(?<day>\d{1,2})(?:st|nd|rd|th)?`
const time = String.raw`(?<hour>\d{1,2}):?(?<minute>\d{2})(?::?(?<second>\d{2})(?:[.,](?<fraction>\d{1,12}))?)?(?: ?(?<half>[ap]) ?m(?![a-z]))?`
const timeAndZone = String.raw`(?:(?: ?T ?| at | )${time}(?: ?(?<zone>\D.*|))?)?`

const forms = [
  // RFC 822 and similar spellings.
  String.raw`^${day}[ -]${month}[ -](?<year>\d{4}|\d{2,3})${timeAndZone}$`,
  String.raw`^${month} ${day} (?<year>\d{4})${timeAndZone}$`,
  // asctime() and the command `date`.
  String.raw`^${month} ${day} ${time} ?(?<zone>[a-z]{1,6}|[+-]\d{4}|) (?<year>\d{4})$`,
  // ISO 8601.
  String.raw`^(?<year>\d{4})(?<mark>[-/]?)(?<number>\d{2})\k<mark>(?<day>\d{2})${timeAndZone}$`
].map((form) => new RegExp(form, "i"))

/** Years of two and three digits by RFC 5322, 4.3. */
const fullYear = (year: string): number => {
  if (year.length === 4) return Number(year)
  return Number(year) + (year.length === 2 && Number(year) < 50 ? 2000 : 1900)
}

const hourOf = (hour: number, half: string | undefined): number | undefined => {
  if (half === undefined) return hour <= 24 ? hour : undefined
  if (hour < 1 || hour > 12) return undefined
  return (hour % 12) + (half.toLowerCase() === "p" ? 12 : 0)
}

/** The date that a text states, or undefined. */
export const statedDate = (written: string): StatedDate | undefined => {
  if (written.length > maxLength) return undefined
  const text = written
    .replaceAll(/\([^()]*\)/g, " ")
    .replaceAll("\u2212", "-")
    .replaceAll(weekday, " ")
    .replaceAll(/(:\d{2}),(?=\d)/g, "$1.")
    .replaceAll(/,|\.(?!\d)/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
  for (const form of forms) {
    const found = form.exec(text)?.groups
    if (found !== undefined) return dateOf(found)
  }
  return undefined
}

const dateOf = (found: Readonly<Record<string, string | undefined>>): StatedDate | undefined => {
  const { day, fraction = "", half, minute = "0", month, number, second = "0", year = "", zone = "" } = found
  const monthIndex =
    month === undefined ? Number(number) - 1 : months.indexOf(month.slice(0, 3).toLowerCase())
  const hour = hourOf(Number(found["hour"] ?? 0), half)
  const midnight = DateTime.makeUnsafe(Date.UTC(fullYear(year), monthIndex, Number(day)))
  const parts = DateTime.toPartsUtc(midnight)
  if (hour === undefined || Number(minute) > 59 || Number(second) > 60) return undefined
  if (hour === 24 && (Number(minute) > 0 || Number(second) > 0)) return undefined
  // The 30th of February would become a day of March, and the year 26 would become 1926.
  if (parts.day !== Number(day) || parts.month !== monthIndex + 1 || parts.year !== fullYear(year))
    return undefined
  const offset = zone === "" ? undefined : zoneMinutes(zone)
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, "0"))
  const minutes = 60 * hour + Number(minute) - (offset ?? 0)
  return {
    at: DateTime.add(midnight, { minutes, seconds: Number(second), milliseconds }),
    isExact: offset !== undefined && found["hour"] !== undefined
  }
}

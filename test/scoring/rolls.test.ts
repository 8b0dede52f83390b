/** The last trading days of contracts, as exchanges published them, and the prices that no question spans. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { dateText, dayOf, isLastTradingDay, isTradingDay, mayRoll } from "../../src/scoring/calendar.ts"

const at = (iso: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(iso))

const lastDaysOf = (target: string, year: number): ReadonlyArray<string> => {
  const first = dayOf(year, 1, 1)
  return Array.from({ length: dayOf(year + 1, 1, 1) - first }, (_, index) => first + index)
    .filter((day) => isLastTradingDay(target, day))
    .map(dateText)
}

describe("The last trading day", () => {
  it.each([
    // The 25th is a Sunday in January, a Saturday in April, Memorial Day in May, and Christmas in December.
    ["CL", 2026, "01-20 02-20 03-20 04-21 05-19 06-22 07-21 08-20 09-22 10-20 11-20 12-21"],
    ["NG", 2026, "01-28 02-25 03-27 04-28 05-27 06-26 07-29 08-27 09-28 10-28 11-25 12-29"],
    ["GC", 2026, "01-28 02-25 03-27 04-28 05-27 06-26 07-29 08-27 09-28 10-28 11-25 12-29"],
    ["HG", 2025, "01-29 02-26 03-27 04-28 05-28 06-26 07-29 08-27 09-26 10-29 11-25 12-29"],
    // The third Friday of June 2026 is Juneteenth.
    ["ES", 2026, "03-20 06-18 09-18 12-18"],
    ["ES", 2025, "03-21 06-20 09-19 12-19"],
    // In 2008 it was Good Friday.
    ["ES", 2008, "03-20 06-20 09-19 12-19"],
    ["ZN", 2026, "03-20 06-18 09-21 12-21"],
    ["ZN", 2025, "03-20 06-18 09-19 12-19"],
    ["ZS", 2026, "01-14 03-13 05-14 07-14 08-14 09-14 11-13"],
    ["ZS", 2025, "01-14 03-14 05-14 07-14 08-14 09-12 11-14"],
    ["DXY", 2026, ""],
    ["BTC", 2026, ""],
    ["ETH", 2026, ""]
  ] as const)("Contracts of %s in %i end on the days that their rule gives", (target, year, days) => {
    assert.deepStrictEqual(
      lastDaysOf(target, year),
      days === "" ? [] : days.split(" ").map((day) => `${year}-${day}`)
    )
  })

  it.each(["GC", "ES", "CL", "ZN", "HG", "NG", "ZS"])(
    "Contracts of %s end on trading days, once in each of their months",
    (target) => {
      for (let year = 2020; year <= 2040; year++) {
        const days = lastDaysOf(target, year)
        assert.lengthOf(new Set(days.map((day) => day.slice(0, 7))), days.length)
        assert.lengthOf(days, { ES: 4, ZN: 4, ZS: 7 }[target] ?? 12)
        for (const day of days) assert.isTrue(isTradingDay(at(`${day}T00:00:00Z`) / 86_400_000), day)
      }
    }
  )
})

describe("Two prices of a future", () => {
  it.each([
    // Crude oil of May 2026 ends on Tuesday 21 April, in New York's summer.
    ["24 hours to the evening before it", "CL", "2026-04-19T21:00:00Z", "2026-04-20T22:00:00Z", false],
    ["24 hours that end in the night before it", "CL", "2026-04-20T00:00:00Z", "2026-04-21T01:00:00Z", true],
    ["24 hours across it", "CL", "2026-04-21T00:00:00Z", "2026-04-22T01:00:00Z", true],
    ["24 hours from the evening after it", "CL", "2026-04-22T00:00:00Z", "2026-04-23T01:00:00Z", true],
    ["24 hours from the night after it", "CL", "2026-04-22T04:00:00Z", "2026-04-23T05:00:00Z", false],
    ["its session", "CL", "2026-04-21T10:00:00Z", "2026-04-21T21:00:00Z", true],
    ["the session before", "CL", "2026-04-20T10:00:00Z", "2026-04-20T21:00:00Z", false],
    ["the session after", "CL", "2026-04-22T10:00:00Z", "2026-04-22T21:00:00Z", false],
    ["an hour of it", "CL", "2026-04-21T14:00:00Z", "2026-04-21T15:00:00Z", true],
    ["a week around it", "CL", "2026-04-18T00:00:00Z", "2026-04-25T00:00:00Z", true],
    // The E-mini of June 2026 ends before a long weekend.
    ["the Sunday evening after a last Thursday", "ES", "2026-06-21T23:00:00Z", "2026-06-22T02:00:00Z", true],
    ["the Monday after it", "ES", "2026-06-22T10:00:00Z", "2026-06-22T21:00:00Z", false],
    // In winter New York's evening at six is 23:00 UTC, and its midnight 05:00.
    [
      "the hour that ends as a winter's last day begins",
      "GC",
      "2026-01-27T22:00:00Z",
      "2026-01-27T23:00:00Z",
      false
    ],
    ["a minute more", "GC", "2026-01-27T22:00:00Z", "2026-01-27T23:01:00Z", true],
    ["the last hour of the night after it", "GC", "2026-01-29T04:00:00Z", "2026-01-29T05:00:00Z", true],
    ["the hour after that", "GC", "2026-01-29T05:00:00Z", "2026-01-29T06:00:00Z", false],
    ["four hours into a last day of natural gas", "NG", "2026-03-26T19:00:00Z", "2026-03-26T23:00:00Z", true],
    ["four hours before it", "NG", "2026-03-26T18:00:00Z", "2026-03-26T22:00:00Z", false],
    ["a weekend after a last Friday", "ES", "2026-03-21T00:00:00Z", "2026-03-22T23:00:00Z", true],
    ["the Monday after a last Friday", "ES", "2026-03-23T04:00:00Z", "2026-03-23T21:00:00Z", false],
    [
      "24 hours around a week that clocks changed in",
      "ZN",
      "2026-03-08T22:00:00Z",
      "2026-03-09T22:00:00Z",
      false
    ],
    ["a last Monday of notes", "ZN", "2026-09-21T10:00:00Z", "2026-09-21T21:00:00Z", true],
    ["the Sunday evening that begins it", "ZN", "2026-09-20T22:00:00Z", "2026-09-20T23:00:00Z", true],
    ["the Friday before", "ZN", "2026-09-18T10:00:00Z", "2026-09-18T21:00:00Z", false],
    ["a session of soybeans on their last day", "ZS", "2026-05-14T13:30:00Z", "2026-05-14T18:20:00Z", true],
    [
      "one a month later, in which no contract ends",
      "ZS",
      "2026-06-12T13:30:00Z",
      "2026-06-12T18:20:00Z",
      false
    ],
    ["the night of a last day before Christmas", "CL", "2026-12-22T04:00:00Z", "2026-12-22T05:00:00Z", true],
    ["a year", "HG", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", true],
    ["a month between two last days of notes", "ZN", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z", false],
    ["no time at all, on a last day", "CL", "2026-04-21T12:00:00Z", "2026-04-21T12:00:00Z", true],
    ["no time at all, on another", "CL", "2026-04-23T12:00:00Z", "2026-04-23T12:00:00Z", false],
    ["the same hours of bitcoin", "BTC", "2026-04-21T00:00:00Z", "2026-04-22T01:00:00Z", false],
    ["the same hours of what is no target", "XX", "2026-04-21T00:00:00Z", "2026-04-22T01:00:00Z", false],
    ["the same hours of an index", "DXY", "2026-04-21T00:00:00Z", "2026-04-22T01:00:00Z", false],
    ["the same hours of ether", "ETH", "2026-04-21T00:00:00Z", "2026-04-22T01:00:00Z", false]
  ] as const)("mayRoll() is right about two prices within %s: %s", (_, target, from, until, rolls) => {
    assert.strictEqual(mayRoll(target, at(from), at(until)), rolls)
  })
})

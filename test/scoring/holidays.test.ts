/** Against the calendars that NYSE and CME Group published for these years. */
import { assert, describe, it } from "@effect/vitest"
import {
  dateText,
  dayOf,
  easterOf,
  holidaysOf,
  isShortDay,
  isTradingDay,
  weekdayOf
} from "../../src/scoring/calendar.ts"

/** nyse.com/markets/hours-calendars, as it was in each year. */
const published: Readonly<Record<number, ReadonlyArray<string>>> = {
  2019: ["01-01", "01-21", "02-18", "04-19", "05-27", "07-04", "09-02", "11-28", "12-25"],
  2020: ["01-01", "01-20", "02-17", "04-10", "05-25", "07-03", "09-07", "11-26", "12-25"],
  2021: ["01-01", "01-18", "02-15", "04-02", "05-31", "07-05", "09-06", "11-25", "12-24"],
  2022: ["01-17", "02-21", "04-15", "05-30", "06-20", "07-04", "09-05", "11-24", "12-26"],
  2023: ["01-02", "01-16", "02-20", "04-07", "05-29", "06-19", "07-04", "09-04", "11-23", "12-25"],
  2024: ["01-01", "01-15", "02-19", "03-29", "05-27", "06-19", "07-04", "09-02", "11-28", "12-25"],
  2025: ["01-01", "01-20", "02-17", "04-18", "05-26", "06-19", "07-04", "09-01", "11-27", "12-25"],
  2026: ["01-01", "01-19", "02-16", "04-03", "05-25", "06-19", "07-03", "09-07", "11-26", "12-25"],
  2027: ["01-01", "01-18", "02-15", "03-26", "05-31", "06-18", "07-05", "09-06", "11-25", "12-24"]
}

const publishedShort: Readonly<Record<number, ReadonlyArray<string>>> = {
  2018: ["07-03", "11-23", "12-24"],
  2019: ["07-03", "11-29", "12-24"],
  2020: ["11-27", "12-24"],
  2021: ["11-26"],
  2022: ["11-25"],
  2023: ["07-03", "11-24"],
  2024: ["07-03", "11-29", "12-24"],
  2025: ["07-03", "11-28", "12-24"],
  2026: ["11-27", "12-24"],
  2027: ["11-26"]
}

const daysOf = (year: number): ReadonlyArray<number> => {
  const first = dayOf(year, 1, 1)
  return Array.from({ length: dayOf(year + 1, 1, 1) - first }, (_, index) => first + index)
}

describe("US market holidays", () => {
  for (const [year, dates] of Object.entries(published)) {
    it(`of ${year} are those that were published`, () => {
      assert.deepStrictEqual(
        holidaysOf(Number(year)).map(dateText),
        dates.map((date) => `${year}-${date}`)
      )
    })
  }

  for (const [year, dates] of Object.entries(publishedShort)) {
    it(`leave the short days of ${year}`, () => {
      assert.deepStrictEqual(
        daysOf(Number(year)).filter(isShortDay).map(dateText),
        dates.map((date) => `${year}-${date}`)
      )
    })
  }

  it("are on weekdays, and leave 249 to 253 trading days in each of 200 years", () => {
    for (let year = 1990; year < 2190; year++) {
      const count = daysOf(year).filter(isTradingDay).length
      assert.isTrue(count >= 248 && count <= 253, `${year}: ${count}`)
      for (const holiday of holidaysOf(year)) assert.notInclude([0, 6], weekdayOf(holiday))
    }
  })

  it("leave the last Friday of a year alone when New Year is a Saturday", () => {
    assert.isTrue(isTradingDay(dayOf(2021, 12, 31)))
    assert.isTrue(isTradingDay(dayOf(2022, 1, 3)))
  })

  it("know Easter, early and late", () => {
    for (const date of ["2008-03-23", "2011-04-24", "2019-04-21", "2024-03-31", "2038-04-25", "2285-03-22"]) {
      assert.strictEqual(dateText(easterOf(Number(date.slice(0, 4)))), date)
    }
  })
})

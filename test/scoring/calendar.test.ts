import {
  nextMonday,
  lastClose,
  nextSession,
  tradesThrough,
  dateText,
  dayOf,
  easterOf,
  holidaysOf,
  isShortDay,
  isTradingDay,
  weekdayOf
} from "../../src/scoring/calendar.ts"
import { day, hour } from "../../src/scoring/candles.ts"
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"

const at = (iso: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(iso))
const iso = (time: number): string => DateTime.formatIso(DateTime.makeUnsafe(time))

const sessionAfter = (target: string, time: string) => {
  const { date, from, until } = nextSession(target, at(time))
  return [date, iso(from), iso(until)]
}

describe("A session", () => {
  it("A session of a future goes from 8:00 to 17:00 in New York", () => {
    assert.deepStrictEqual(sessionAfter("GC", "2026-01-06T00:00:00Z"), [
      "2026-01-06",
      "2026-01-06T13:00:00.000Z",
      "2026-01-06T22:00:00.000Z"
    ])
  })

  it("A session of soybeans ends at 14:20", () => {
    assert.strictEqual(sessionAfter("ZS", "2026-01-06T00:00:00Z")[2], "2026-01-06T19:20:00.000Z")
  })

  it("A session moves by an hour in UTC on the Monday after New York's clocks change", () => {
    assert.strictEqual(sessionAfter("ES", "2026-03-06T00:00:00Z")[1], "2026-03-06T13:00:00.000Z")
    assert.deepStrictEqual(sessionAfter("ES", "2026-03-07T00:00:00Z"), [
      "2026-03-09",
      "2026-03-09T12:00:00.000Z",
      "2026-03-09T21:00:00.000Z"
    ])
    assert.strictEqual(sessionAfter("ES", "2026-10-30T00:00:00Z")[1], "2026-10-30T12:00:00.000Z")
    assert.strictEqual(sessionAfter("ES", "2026-10-31T00:00:00Z")[1], "2026-11-02T13:00:00.000Z")
  })

  it("No session is on weekends and holidays, and short days end it at 13:00", () => {
    // Thanksgiving is the 26th.
    assert.strictEqual(sessionAfter("CL", "2026-11-25T14:00:00Z")[0], "2026-11-27")
    assert.strictEqual(sessionAfter("CL", "2026-11-25T14:00:00Z")[2], "2026-11-27T18:00:00.000Z")
    assert.strictEqual(sessionAfter("ZS", "2026-12-23T14:00:00Z")[2], "2026-12-24T18:00:00.000Z")
    assert.strictEqual(sessionAfter("ZN", "2026-12-24T14:00:00Z")[0], "2026-12-28")
    // Good Friday.
    assert.strictEqual(sessionAfter("DXY", "2026-04-02T14:00:00Z")[0], "2026-04-06")
  })

  it("A session of crypto is the UTC day, also when clocks change and on Christmas", () => {
    for (const date of ["2026-03-08", "2026-12-25", "2026-11-01"]) {
      const before = iso(at(`${date}T00:00:00Z`) - 1)
      assert.deepStrictEqual(sessionAfter("ETH", before), [
        date,
        `${date}T00:00:00.000Z`,
        iso(at(`${date}T00:00:00Z`) + day)
      ])
    }
  })

  it("A session that has begun is not the next one", () => {
    assert.strictEqual(sessionAfter("GC", "2026-01-06T13:00:00Z")[0], "2026-01-07")
    assert.strictEqual(sessionAfter("BTC", "2026-01-06T00:00:00Z")[0], "2026-01-07")
  })

  it("A session begins at or after the end of the one before, over four years", () => {
    for (const target of ["GC", "ZS", "DXY", "ETH"]) {
      let before = nextSession(target, at("2020-01-01T00:00:00Z"))
      let count = 1
      while (before.from < at("2024-01-01T00:00:00Z")) {
        const next = nextSession(target, before.from)
        assert.isAbove(next.until, next.from)
        assert.isAtLeast(next.from, before.until)
        assert.strictEqual(lastClose(target, next.from), before.until)
        before = next
        count += 1
      }
      assert.isTrue(target === "ETH" ? count === 1461 : count > 1000 && count < 1010, `${target} ${count}`)
    }
  })
})

describe("Trading hours", () => {
  const trades = (target: string, time: string) => tradesThrough(target, at(time), at(time) + hour)

  it("Futures pause for an hour in the evening, and over the weekend", () => {
    // 16:00 to 17:00 in New York, the pause, the evening.
    assert.isTrue(trades("GC", "2026-01-06T21:00:00Z"))
    assert.isFalse(trades("GC", "2026-01-06T21:30:00Z"))
    assert.isFalse(trades("GC", "2026-01-06T22:30:00Z"))
    assert.isTrue(trades("GC", "2026-01-06T23:00:00Z"))
    assert.isFalse(trades("GC", "2026-01-09T22:00:00Z"))
    assert.isFalse(trades("GC", "2026-01-10T12:00:00Z"))
    assert.isFalse(trades("GC", "2026-01-11T22:59:00Z"))
    assert.isTrue(trades("GC", "2026-01-11T23:00:00Z"))
  })

  it("Soybeans pause in the morning too", () => {
    assert.isTrue(trades("ZS", "2026-01-06T12:45:00Z"))
    assert.isFalse(trades("ZS", "2026-01-06T13:00:00Z"))
    assert.isTrue(trades("ZS", "2026-01-06T14:30:00Z"))
    assert.isFalse(trades("ZS", "2026-01-06T18:30:00Z"))
  })

  it("Trading hours move with the clocks of New York, where summer begins on a Sunday at 2", () => {
    assert.isFalse(trades("ES", "2026-03-08T21:59:00Z"))
    assert.isTrue(trades("ES", "2026-03-08T22:00:00Z"))
    assert.isFalse(trades("ES", "2026-11-01T22:00:00Z"))
    assert.isTrue(trades("ES", "2026-11-01T23:00:00Z"))
  })

  it("Trading hours leave out holidays, and end early on short days", () => {
    assert.isFalse(trades("ES", "2026-11-26T15:00:00Z"))
    assert.isTrue(trades("ES", "2026-11-27T16:30:00Z"))
    assert.isFalse(trades("ES", "2026-11-27T17:30:00Z"))
  })

  it("Trading hours of crypto never end", () => {
    assert.isTrue(trades("BTC", "2026-12-25T00:00:00Z"))
  })
})

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
    it(`The holidays of ${year} are the published ones`, () => {
      assert.deepStrictEqual(
        holidaysOf(Number(year)).map(dateText),
        dates.map((date) => `${year}-${date}`)
      )
    })
  }

  for (const [year, dates] of Object.entries(publishedShort)) {
    it(`The short days of ${year} are the published ones`, () => {
      assert.deepStrictEqual(
        daysOf(Number(year)).filter(isShortDay).map(dateText),
        dates.map((date) => `${year}-${date}`)
      )
    })
  }

  it("Holidays are on weekdays, and leave 248 to 253 trading days in each of 200 years", () => {
    for (let year = 1990; year < 2190; year++) {
      const count = daysOf(year).filter(isTradingDay).length
      assert.isTrue(count >= 248 && count <= 253, `${year}: ${count}`)
      for (const holiday of holidaysOf(year)) assert.notInclude([0, 6], weekdayOf(holiday))
    }
  })

  it("Holidays leave the last Friday of a year alone when New Year is a Saturday", () => {
    assert.isTrue(isTradingDay(dayOf(2021, 12, 31)))
    assert.isTrue(isTradingDay(dayOf(2022, 1, 3)))
  })

  it("Holidays follow Easter, early and late", () => {
    for (const date of ["2008-03-23", "2011-04-24", "2019-04-21", "2024-03-31", "2038-04-25", "2285-03-22"]) {
      assert.strictEqual(dateText(easterOf(Number(date.slice(0, 4)))), date)
    }
  })
})

describe("The next Monday", () => {
  it("The next Monday is the coming midnight, also from the moment of one and across a year", () => {
    for (const [from, monday] of [
      ["2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00Z"],
      ["2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"],
      ["2026-12-29T12:00:00Z", "2027-01-04T00:00:00Z"]
    ] as const) {
      assert.strictEqual(nextMonday(at(from)), at(monday))
    }
  })
})

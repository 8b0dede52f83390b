import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { day, hour, lastClose, nextSession, tradesThrough } from "../../src/scoring/calendar.ts"

const at = (iso: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(iso))
const iso = (time: number): string => DateTime.formatIso(DateTime.makeUnsafe(time))

const shown = (target: string, time: string) => {
  const { date, from, until } = nextSession(target, at(time))
  return [date, iso(from), iso(until)]
}

describe("A session", () => {
  it("of a future goes from 8:00 to 17:00 in New York", () => {
    assert.deepStrictEqual(shown("GC", "2026-01-06T00:00:00Z"), [
      "2026-01-06",
      "2026-01-06T13:00:00.000Z",
      "2026-01-06T22:00:00.000Z"
    ])
  })

  it("of soybeans ends at 14:20", () => {
    assert.strictEqual(shown("ZS", "2026-01-06T00:00:00Z")[2], "2026-01-06T19:20:00.000Z")
  })

  it("comes an hour earlier in UTC from the Monday on after clocks go forward, and later after they go back", () => {
    assert.strictEqual(shown("ES", "2026-03-06T00:00:00Z")[1], "2026-03-06T13:00:00.000Z")
    assert.deepStrictEqual(shown("ES", "2026-03-07T00:00:00Z"), [
      "2026-03-09",
      "2026-03-09T12:00:00.000Z",
      "2026-03-09T21:00:00.000Z"
    ])
    assert.strictEqual(shown("ES", "2026-10-30T00:00:00Z")[1], "2026-10-30T12:00:00.000Z")
    assert.strictEqual(shown("ES", "2026-10-31T00:00:00Z")[1], "2026-11-02T13:00:00.000Z")
  })

  it("is not on weekends and holidays, and ends at 13:00 on short days", () => {
    // Thanksgiving is the 26th.
    assert.strictEqual(shown("CL", "2026-11-25T14:00:00Z")[0], "2026-11-27")
    assert.strictEqual(shown("CL", "2026-11-25T14:00:00Z")[2], "2026-11-27T18:00:00.000Z")
    assert.strictEqual(shown("ZS", "2026-12-23T14:00:00Z")[2], "2026-12-24T18:00:00.000Z")
    assert.strictEqual(shown("ZN", "2026-12-24T14:00:00Z")[0], "2026-12-28")
    // Good Friday.
    assert.strictEqual(shown("DXY", "2026-04-02T14:00:00Z")[0], "2026-04-06")
  })

  it("of crypto is the UTC day, also when clocks change and on Christmas", () => {
    for (const date of ["2026-03-08", "2026-12-25", "2026-11-01"]) {
      const before = iso(at(`${date}T00:00:00Z`) - 1)
      assert.deepStrictEqual(shown("ETH", before), [
        date,
        `${date}T00:00:00.000Z`,
        iso(at(`${date}T00:00:00Z`) + day)
      ])
    }
  })

  it("that has begun is not the next one", () => {
    assert.strictEqual(shown("GC", "2026-01-06T13:00:00Z")[0], "2026-01-07")
    assert.strictEqual(shown("BTC", "2026-01-06T00:00:00Z")[0], "2026-01-07")
  })

  it("begins at or after the end of the one before, over four years", () => {
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

  it("of futures pause for an hour in the evening, and over the weekend", () => {
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

  it("of soybeans pause in the morning too", () => {
    assert.isTrue(trades("ZS", "2026-01-06T12:45:00Z"))
    assert.isFalse(trades("ZS", "2026-01-06T13:00:00Z"))
    assert.isTrue(trades("ZS", "2026-01-06T14:30:00Z"))
    assert.isFalse(trades("ZS", "2026-01-06T18:30:00Z"))
  })

  it("move with the clocks of New York, where summer begins on a Sunday at 2", () => {
    assert.isFalse(trades("ES", "2026-03-08T21:59:00Z"))
    assert.isTrue(trades("ES", "2026-03-08T22:00:00Z"))
    assert.isFalse(trades("ES", "2026-11-01T22:00:00Z"))
    assert.isTrue(trades("ES", "2026-11-01T23:00:00Z"))
  })

  it("do not count holidays, and end early on short days", () => {
    assert.isFalse(trades("ES", "2026-11-26T15:00:00Z"))
    assert.isTrue(trades("ES", "2026-11-27T16:30:00Z"))
    assert.isFalse(trades("ES", "2026-11-27T17:30:00Z"))
  })

  it("of crypto never end", () => {
    assert.isTrue(trades("BTC", "2026-12-25T00:00:00Z"))
  })
})

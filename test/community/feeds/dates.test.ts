/** The moments that the dates of feeds state. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { statedDate } from "../../../src/layers/feeds/dates.ts"

/** The moment, with "about" before one that is not exact; "none" where a text states none. */
const read = (text: string): string => {
  const stated = statedDate(text)
  if (stated === undefined) return "none"
  return `${stated.isExact ? "" : "about "}${DateTime.formatIso(stated.at).replace(".000Z", "Z")}`
}

const readAll = (table: ReadonlyArray<readonly [text: string, moment: string]>) => {
  assert.deepStrictEqual(
    table.map(([text]) => [text, read(text)]),
    table.map(([text, moment]) => [text, moment])
  )
}

describe("The date of a feed's item", () => {
  it("A feed's date has the zones of RFC 822, and military letters count as UTC (RFC 5322)", () => {
    const at = (zone: string, utc: string) =>
      [`Mon, 02 Mar 2026 08:30:00 ${zone}`, `2026-03-02T${utc}:00Z`] as const
    readAll([
      at("UT", "08:30"),
      at("GMT", "08:30"),
      at("Z", "08:30"),
      at("EST", "13:30"),
      at("EDT", "12:30"),
      at("CST", "14:30"),
      at("CDT", "13:30"),
      at("MST", "15:30"),
      at("MDT", "14:30"),
      at("PST", "16:30"),
      at("PDT", "15:30"),
      at("A", "08:30"),
      at("N", "08:30"),
      at("Y", "08:30"),
      at("+0100", "07:30"),
      at("-0000", "08:30"),
      at("+05:30", "03:00")
    ])
  })

  it("A feed's date has common zones by name, and an ambiguous zone is not understood", () => {
    const at = (zone: string, moment: string) => [`Mon, 02 Mar 2026 08:30:00 ${zone}`, moment] as const
    readAll([
      at("UTC", "2026-03-02T08:30:00Z"),
      at("CET", "2026-03-02T07:30:00Z"),
      at("cest", "2026-03-02T06:30:00Z"),
      at("MEST", "2026-03-02T06:30:00Z"),
      at("MESZ", "2026-03-02T06:30:00Z"),
      at("BST", "2026-03-02T07:30:00Z"),
      at("EET", "2026-03-02T06:30:00Z"),
      at("MSK", "2026-03-02T05:30:00Z"),
      at("JST", "2026-03-01T23:30:00Z"),
      at("KST", "2026-03-01T23:30:00Z"),
      at("HKT", "2026-03-02T00:30:00Z"),
      at("AEDT", "2026-03-01T21:30:00Z"),
      at("NZDT", "2026-03-01T19:30:00Z"),
      at("GMT+1", "2026-03-02T07:30:00Z"),
      at("UTC-05:00", "2026-03-02T13:30:00Z"),
      at("+0100 (CET)", "2026-03-02T07:30:00Z"),
      at("+0530 IST", "2026-03-02T03:00:00Z"),
      at("IST", "about 2026-03-02T08:30:00Z"),
      at("GST", "about 2026-03-02T08:30:00Z"),
      at("J", "about 2026-03-02T08:30:00Z"),
      at("XYZT", "about 2026-03-02T08:30:00Z"),
      at("+2400", "about 2026-03-02T08:30:00Z"),
      at("Europe/Berlin", "about 2026-03-02T08:30:00Z"),
      at("", "about 2026-03-02T08:30:00Z")
    ])
  })

  it("A feed's date is read in the ways that people write RFC 822", () => {
    readAll([
      ["2 Mar 26 08:30 GMT", "2026-03-02T08:30:00Z"],
      ["02 Mar 99 08:30 GMT", "1999-03-02T08:30:00Z"],
      ["Mon, 02 Mar 126 08:30:00 GMT", "2026-03-02T08:30:00Z"],
      ["Mon,02 Mar 2026 8:30:00 GMT", "2026-03-02T08:30:00Z"],
      ["Monday, 02 March 2026 08:30:00 EST", "2026-03-02T13:30:00Z"],
      ["02 Mar 2026 Mon 08:30:00 EST", "2026-03-02T13:30:00Z"],
      ["02 Mar 2026 08:30:00 EST, Mon", "2026-03-02T13:30:00Z"],
      ["Thurs, 02 Mar, 2026, 08:30:00 EST", "2026-03-02T13:30:00Z"],
      ["02-Mar-2026 08:30:00 GMT", "2026-03-02T08:30:00Z"],
      ["Mon, 02 Sept 2026 08:30:00 GMT", "2026-09-02T08:30:00Z"],
      ["Mar 2, 2026 08:30 EST", "2026-03-02T13:30:00Z"],
      ["Monday, March 2nd, 2026 at 8:30 PM EST", "2026-03-03T01:30:00Z"],
      ["Mon Mar  2 08:30:00 EST 2026", "2026-03-02T13:30:00Z"],
      ["Mon Mar  2 08:30:00 2026", "about 2026-03-02T08:30:00Z"],
      ["Mon, 02 Mar 2026 08:30:00.250 GMT", "2026-03-02T08:30:00.250Z"],
      ["  Mon, 02 Mar\n2026 08:30:60 GMT ", "2026-03-02T08:31:00Z"],
      ["Mon, 02 Mar 2026 24:00 GMT", "2026-03-03T00:00:00Z"],
      ["Mon, 02 Mar 2026", "about 2026-03-02T00:00:00Z"]
    ])
  })

  it("A feed's date is read in the forms of ISO 8601", () => {
    readAll([
      ["2026-03-02T08:30:00Z", "2026-03-02T08:30:00Z"],
      ["2026-03-02t08:30:00z", "2026-03-02T08:30:00Z"],
      ["2026-03-02T08:30Z", "2026-03-02T08:30:00Z"],
      ["2026-03-02T08:30:00.5Z", "2026-03-02T08:30:00.500Z"],
      ["2026-03-02T08:30:00,123456789+01:00", "2026-03-02T07:30:00.123Z"],
      ["2026-03-02T08:30:00-0500", "2026-03-02T13:30:00Z"],
      ["2026-03-02T08:30:00+01", "2026-03-02T07:30:00Z"],
      ["2026-03-02 08:30:00 +0000", "2026-03-02T08:30:00Z"],
      ["2026-03-02 08:30:00 EST", "2026-03-02T13:30:00Z"],
      ["2026/03/02 08:30:00 GMT", "2026-03-02T08:30:00Z"],
      ["20260302T083000Z", "2026-03-02T08:30:00Z"],
      ["2026-03-02T08:30:00", "about 2026-03-02T08:30:00Z"],
      ["2026-03-02", "about 2026-03-02T00:00:00Z"]
    ])
  })

  it("No date is read from an unreadable text, or from an ambiguous order of day and month", () => {
    readAll(
      [
        "",
        "yesterday",
        "02/03/2026 08:30:00 GMT",
        "02.03.2026",
        "1772440200",
        "20260302083000",
        "2026-03",
        "2026-02-30T00:00:00Z",
        "0000-00-00",
        "0026-03-02T00:00:00Z",
        "Mon, 30 Feb 2026 08:30:00 GMT",
        "Mon, 02 Mar 2026 25:00:00 GMT",
        "Mon, 02 Mar 2026 08:61:00 GMT",
        "Mon, 02 Mar 2026 24:01 GMT",
        "Mon, 02 Mar 2026 13:30 PM GMT",
        "Montag, 02 M\u00e4r 2026 08:30:00 CET",
        `Mon, 02 Mar 2026 ${" ".repeat(200)} 08:30 GMT`
      ].map((text) => [text, "none"])
    )
  })
})

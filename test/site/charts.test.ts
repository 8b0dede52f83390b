/** Charts that people misread before: counts, touches, and one wide interval among narrow ones. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { forecastChart } from "../../src/http/site/charts/answers.ts"
import { intervalScale } from "../../src/http/site/charts/intervals.ts"
import { priceChart } from "../../src/http/site/charts/prices.ts"
import { fragment } from "../../src/http/site/views/html.ts"

const forecast = (predicted_value: number, predicted_std: number) => ({
  direction: null,
  confidence: null,
  probabilities: null,
  quantiles: null,
  samples: null,
  predicted_value,
  predicted_std
})

const labelsOf = (drawing: string) =>
  [...drawing.matchAll(/<text[^>]*>\s*([^<]*?)\s*<\/text>/g)].map(([, text]) => text)

describe("A chart", () => {
  it("The chart of a count has a bar for each number, and names no number between them", () => {
    const drawn = fragment(
      forecastChart(
        { values: [forecast(3, 1), forecast(4, 0.5)], isAll: true },
        { unit: null, actual: 4, max: 7 }
      )
    )
    const together = drawn.slice(0, drawn.indexOf("Each forecast"))
    const rows = [...together.matchAll(/<th scope="row">([^<]*)<\/th>/g)].map(([, name]) => name)
    assert.deepStrictEqual(rows.slice(1, -1), ["0", "1", "2", "3", "4", "5", "6", "7"])
    assert.notMatch(labelsOf(together).join(" "), /\d\.5/)
    assert.include(drawn, "2 of them hold what came, 4.")
  })

  it("The chart of a barrier marks where it was touched, and no earlier touch", () => {
    const points = [95, 105, 95, 101, 99].map((price, hour) => ({
      time: DateTime.formatIso(DateTime.makeUnsafe(hour * 3_600_000)),
      price,
      low: price - 1,
      high: price + 1
    }))
    const at = (hour: number) => DateTime.toDateUtc(DateTime.makeUnsafe(hour * 3_600_000))
    const chart = (touchedSince: number) =>
      fragment(
        priceChart(
          {
            asset: "ETH",
            from: at(0),
            deadline: at(0),
            resolveAt: at(5),
            levels: [{ name: "level", price: 101.5 }],
            touchedSince: at(touchedSince)
          },
          { from: DateTime.makeUnsafe(0), points, stretch: 3_600_000 }
        )
      )
    assert.include(chart(2), '<circle class="touch"')
    assert.include(chart(2), "Touched")
    assert.notInclude(chart(4), '<circle class="touch"')
    // Each point has a place, a minute and a value for the pointer.
    assert.match(chart(0), /data-points="[\d.]+,0,95 [\d.]+,60,105 /)
  })

  it("The chart of a count of days says of each day that is over how it closed", () => {
    const points = Array.from({ length: 24 * 4 + 1 }, (_, hour) => {
      const price = [100, 102, 101, 103, 99][Math.ceil(hour / 24)] ?? 0
      return {
        time: DateTime.formatIso(DateTime.makeUnsafe(hour * 3_600_000)),
        price,
        low: price,
        high: price
      }
    })
    const at = (day: number) => DateTime.toDateUtc(DateTime.makeUnsafe(day * 86_400_000))
    const drawn = fragment(
      priceChart(
        { asset: "ETH", from: at(0), deadline: at(0), resolveAt: at(7), daysFrom: at(0) },
        { from: DateTime.makeUnsafe(0), points, stretch: 3_600_000 }
      )
    )
    assert.strictEqual(
      labelsOf(drawn)
        .filter((text) => text === "▲" || text === "▼")
        .join(""),
      "▲▼▲▼"
    )
  })

  it("The chart of many intervals is not stretched by a single wide one", () => {
    const narrow = Array.from({ length: 12 }, () => ({ value: 50, range: [48, 52] as const }))
    const scale = intervalScale([...narrow, { value: 58, range: [0, 100] as const }])
    assert.isAbove(scale.ticks[0] ?? 0, 30)
    assert.isAbove(scale(52) - scale(48), 15)
    // The wide interval ends at the edge.
    assert.deepStrictEqual([scale(0), scale(100)], [4, 96])
  })
})

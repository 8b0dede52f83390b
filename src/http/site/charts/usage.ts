/** Charts the daily usage of an owner's gateway keys. */
import { scaleLinear } from "d3-scale"
import { DateTime } from "effect"
import { creditNumber, plainNumber } from "../views/format.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { across, chart, down, ground, plotOf, rangeY, valueLines } from "./chart.ts"

interface DayOfUse {
  readonly day: Date
  readonly calls: number
  /** The cost in micro-credits. */
  readonly cost: bigint
}

/** The number of days between two labels of the chart, so that five labels fit on a phone. */
const labelEvery = (days: number): number => (days < 10 ? 1 : Math.ceil(days / 35) * 7)

/** `days` are consecutive and include days without a call. */
export const usageChart = (days: ReadonlyArray<DayOfUse>, t: Messages): Html => {
  const messages = t.owners.keys
  const dayOf = (of: Date) =>
    DateTime.formatUtc(DateTime.fromDateUnsafe(of), { locale: t.dates, day: "numeric", month: "short" })
  const plot = plotOf(200)
  const costs = days.map(({ cost }) => Number(cost) / 1e6)
  const max = Math.max(...costs)
  const y = scaleLinear()
    .domain([0, max === 0 ? 1 : max])
    .nice(4)
    .range(rangeY(plot))
  const step = (plot.right - plot.left) / days.length
  const total = days.reduce((sum, { cost }) => sum + cost, 0n)
  const calls = days.reduce((sum, each) => sum + each.calls, 0)
  const used = days.filter((each) => each.calls > 0)
  return chart({
    id: "usage",
    t,
    title: messages.byDay,
    summary: messages.summary(creditNumber(total), calls, days.length, plainNumber(max)),
    height: plot.height,
    drawing: html`${valueLines(plot, y, y.ticks(4))}
    ${costs.map((cost, index) =>
      cost === 0
        ? null
        : html`<rect
            class="bar"
            x=${across(plot.left + step * (index + 0.1))}
            width=${across(step * 0.8)}
            y=${down(y(cost))}
            height=${down(plot.bottom - y(cost))}
          />`
    )}
    ${ground(plot)}
    ${days.map(({ day }, index) =>
      index % labelEvery(days.length) === 0
        ? html`<text
            class="tick"
            x=${across(plot.left + step * (index + 0.5))}
            y=${down(plot.bottom + 19)}
            text-anchor="middle"
          >
            ${dayOf(day)}
          </text>`
        : null
    )}`,
    numbers: {
      columns: [
        { title: messages.day },
        { title: messages.calls, isNumber: true },
        { title: messages.credits, isNumber: true }
      ],
      rows: used.map(({ calls: ofDay, cost, day }) => [dayOf(day), ofDay, creditNumber(cost)]),
      note: messages.idleDays
    }
  })
}

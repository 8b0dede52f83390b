/** What calls of models cost, by day: bars over the days of a month. */
import { scaleLinear } from "d3-scale"
import { creditsOf } from "../../../services/Credits.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { ground, plainNumber, shortTime, valueLines } from "./axes.ts"
import { across, chart, down, plotOf, rangeY } from "./chart.ts"

export interface DayOfUse {
  readonly day: Date
  readonly calls: number
  /** In micro-credits. */
  readonly cost: bigint
}

const count = (number: number, one: string): string => `${number} ${one}${number === 1 ? "" : "s"}`

/** Of days that follow each other, also those without a call. */
export const usageChart = (title: string, days: ReadonlyArray<DayOfUse>): Html => {
  const plot = plotOf(200)
  const costs = days.map(({ cost }) => Number(cost) / 1e6)
  const most = Math.max(...costs)
  const y = scaleLinear()
    .domain([0, most === 0 ? 1 : most])
    .nice(4)
    .range(rangeY(plot))
  const step = (plot.right - plot.left) / days.length
  const total = days.reduce((sum, { cost }) => sum + cost, 0n)
  const calls = days.reduce((sum, each) => sum + each.calls, 0)
  const used = days.filter((each) => each.calls > 0)
  return chart({
    id: "usage",
    title,
    summary: `${creditsOf(total)} credits for ${count(calls, "call")} in ${days.length} days, on the busiest ${plainNumber(most)}.`,
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
      index % 7 === 0
        ? html`<text
            class="tick"
            x=${across(plot.left + step * (index + 0.5))}
            y=${down(plot.bottom + 19)}
            text-anchor="middle"
          >
            ${shortTime(day)}
          </text>`
        : null
    )}`,
    numbers: {
      columns: [
        { title: "Day (UTC)" },
        { title: "Calls", isNumber: true },
        { title: "Credits", isNumber: true }
      ],
      rows: used.map(({ calls: ofDay, cost, day }) => [shortTime(day), ofDay, creditsOf(cost)]),
      note: "Days without a call are left out."
    }
  })
}

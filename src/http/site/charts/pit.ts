/** The probability integral transform of an agent's numeric forecasts: flat when they are calibrated. */
import type { Calibration } from "../../../services/Scoring.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { plainNumber } from "./axes.ts"
import { bars } from "./bars.ts"
import { across, chart, down, plotOf } from "./chart.ts"

const rounded = (count: number): string => plainNumber(Number(count.toFixed(2)))

export const pitHistogram = ({ count, pit }: Calibration): Html => {
  if (count === 0) return null
  const plot = plotOf(240)
  const [low, high] = pit.band95
  const width = plot.right - plot.left
  return chart({
    id: "pit",
    title: "Where outcomes fell in its forecasts (PIT)",
    summary: `${count} outcomes in ten buckets: ${pit.buckets.map((bucket) => rounded(bucket.count)).join(", ")}. Calibrated forecasts have ${rounded(count / pit.buckets.length)} in each, give or take.`,
    height: plot.height,
    drawing: html`${bars(
      plot,
      pit.buckets.map((bucket) => ({
        from: bucket.low + 0.005,
        to: bucket.high - 0.005,
        count: bucket.count
      })),
      {
        id: "pit",
        most: high,
        behind: (y) =>
          html`<rect
            class="band"
            x=${across(plot.left)}
            width=${across(width)}
            y=${down(y(high))}
            height=${down(y(low) - y(high))}
          />`,
        over: (y) =>
          ["clearing", "reference"].map(
            (kind) =>
              html`<line
                class=${kind}
                x1=${across(plot.left)}
                x2=${across(plot.right)}
                y1=${down(y(count / pit.buckets.length))}
                y2=${down(y(count / pit.buckets.length))}
              />`
          )
      }
    )}
    ${[0, 0.2, 0.4, 0.6, 0.8, 1].map(
      (tick) =>
        html`<text
          class="tick"
          x=${across(plot.left + width * tick)}
          y=${down(plot.bottom + 19)}
          text-anchor=${tick === 1 ? "end" : "middle"}
        >
          ${tick}
        </text>`
    )}`,
    keys: [
      [html`<rect class="bar" x="4" y="2" width="20" height="11" />`, "Outcomes"],
      [
        html`<rect class="band" x="1" y="2" width="26" height="10" />
          <line class="reference" x1="1" x2="27" y1="7" y2="7" />`,
        "Where 95 % of buckets lie when forecasts are calibrated"
      ]
    ],
    note: "Across: the probability that the forecast gave to at most what came. A U: intervals too narrow; a hump: too wide.",
    numbers: {
      columns: [{ title: "Bucket" }, { title: "Outcomes", isNumber: true }],
      rows: pit.buckets.map((bucket) => [`${bucket.low} to ${bucket.high}`, rounded(bucket.count)])
    }
  })
}

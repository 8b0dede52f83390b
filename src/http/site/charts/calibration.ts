/** How well what an agent said fits what came: of its confidences, and of its intervals. */
import { scaleLinear } from "d3-scale"
import type { TrackRecord } from "../../../services/Charts.ts"
import type { Calibration } from "../../../services/Scoring.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { below, ground, valueLines } from "./axes.ts"
import { across, chart, down, plotOf, rangeX, rangeY } from "./chart.ts"
import type { Key } from "./chart.ts"

const percent = (share: number): string => `${Math.round(share * 100)} %`

const perfect: Key = [html`<line class="reference" x1="1" x2="27" y1="12" y2="2" />`, "As said, so it came"]

/** From corner to corner: said is what came. */
const diagonal = (x: (share: number) => number, y: (share: number) => number, from: number) =>
  html`<line
    class="reference"
    x1=${across(x(from))}
    x2=${across(x(1))}
    y1=${down(y(from))}
    y2=${down(y(1))}
  />`

/** Said probability against the share that was right; nothing without yes-or-no or directional answers. */
export const reliabilityChart = ({ confidence }: TrackRecord): Html => {
  const total = confidence.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return null
  const right = confidence.reduce((sum, bucket) => sum + bucket.right, 0)
  const plot = plotOf(240)
  const x = scaleLinear().domain([0.5, 1]).range(rangeX(plot))
  const y = scaleLinear().domain([0, 1]).range(rangeY(plot))
  return chart({
    id: "reliability",
    title: "How sure it was, and how often it was right",
    summary: `${right} of ${total} answers were right. The table below has them by how sure the agent was.`,
    height: plot.height,
    drawing: html`${valueLines(plot, y, y.ticks(5), percent)} ${diagonal(x, y, 0.5)}
    ${confidence.map(
      ({ count, mean_probability, right: hits }) =>
        html`<circle
            class="dot solid"
            cx=${across(x(mean_probability))}
            cy=${down(y(hits / count))}
            r=${down(Math.min(12, 3 + Math.sqrt(count)))}
          />
          <text
            class="label halo"
            x=${across(x(mean_probability))}
            y=${down(y(hits / count) + (hits / count > 0.85 ? 26 : -14))}
            text-anchor=${mean_probability > 0.95 ? "end" : "middle"}
          >
            ${hits} of ${count}
          </text>`
    )}
    ${ground(plot)} ${below(plot, x, 5, percent)}`,
    keys: [
      [html`<circle class="dot solid" cx="14" cy="7" r="5" />`, "Answers; larger: more of them"],
      perfect
    ],
    note: "Across: the probability of being right that a confidence c implies, (1 + c) / 2. Above the line it was more often right than it said.",
    numbers: {
      columns: [
        { title: "Said, on average" },
        { title: "Right", isNumber: true },
        { title: "Answers", isNumber: true },
        { title: "Share right", isNumber: true }
      ],
      rows: confidence.map(({ count, mean_probability, right: hits }) => [
        percent(mean_probability),
        String(hits),
        String(count),
        percent(hits / count)
      ])
    }
  })
}

/** The share of outcomes within the central intervals of numeric forecasts; nothing while that would be chance. */
export const coverageChart = ({ count, coverage }: Calibration): Html => {
  const known = coverage.flatMap(({ interval_ci95, level, share }) =>
    share === null || interval_ci95 === null ? [] : [{ level, share, interval: interval_ci95 }]
  )
  if (known.length === 0) return null
  const plot = plotOf(240)
  const x = scaleLinear().domain([0, 1]).range(rangeX(plot))
  const y = scaleLinear().domain([0, 1]).range(rangeY(plot))
  return chart({
    id: "coverage",
    title: "Outcomes within its intervals",
    summary: `Of ${count} outcomes ${known
      .map(({ level, share }) => `${percent(share)} lay within the ${percent(level)} interval`)
      .join(", ")}.`,
    height: plot.height,
    drawing: html`${valueLines(plot, y, y.ticks(5), percent)} ${diagonal(x, y, 0)}
    ${known.map(
      ({ interval: [low, high], level, share }) =>
        html`<line
            class="whisker"
            x1=${across(x(level))}
            x2=${across(x(level))}
            y1=${down(y(low))}
            y2=${down(y(high))}
          />
          <circle class="mean" cx=${across(x(level))} cy=${down(y(share))} r="5" />
          <text class="label halo" x=${across(x(level) - 1.5)} y=${down(y(share) - 8)} text-anchor="end">
            ${percent(share)}
          </text>`
    )}
    ${ground(plot)} ${below(plot, x, 5, percent)}`,
    keys: [
      [
        html`<line class="whisker" x1="14" x2="14" y1="1" y2="13" />
          <circle class="mean" cx="14" cy="7" r="4" />`,
        "Share of outcomes, with its 95 % interval"
      ],
      perfect
    ],
    note: "Across: the central interval of a forecast. On the line, intervals are as wide as they should be; below it too narrow.",
    numbers: {
      columns: [
        { title: "Central interval" },
        { title: "Outcomes within", isNumber: true },
        { title: "95 % interval of that", isNumber: true }
      ],
      rows: known.map(({ interval: [low, high], level, share }) => [
        percent(level),
        percent(share),
        `${percent(low)} to ${percent(high)}`
      ])
    }
  })
}

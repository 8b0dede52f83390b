/** Charts of an agent's record: scores by day, reliability, interval coverage, and the PIT histogram. */
import { scaleLinear, scaleUtc } from "d3-scale"
import { line } from "d3-shape"
import { DateTime } from "effect"
import type { TrackRecord } from "../../../services/Charts.ts"
import type { Calibration } from "../../../services/Scoring.ts"
import type { Messages } from "../messages/messages.ts"
import { day as dayOf } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import {
  across,
  anchorAt,
  bars,
  below,
  chart,
  down,
  ground,
  plotOf,
  rangeX,
  rangeY,
  stretched,
  timesBelow,
  valueLines
} from "./chart.ts"
import type { Key } from "./chart.ts"
import { noSkill } from "./intervals.ts"
import { plainNumber } from "../views/format.ts"

const dayMillis = 86_400_000

interface Day {
  readonly at: Date
  readonly count: number
  readonly mean: number
  /** The average up to that day. */
  readonly soFar: number
}

const running = ({ days }: TrackRecord): ReadonlyArray<Day> => {
  let [count, sum] = [0, 0]
  return days.map((each) => {
    count += each.count
    sum += each.count * each.mean_score
    return {
      at: DateTime.toDateUtc(DateTime.makeUnsafe(each.day)),
      count: each.count,
      mean: each.mean_score,
      soFar: sum / count
    }
  })
}

/** The area of a dot is proportional to the day's answers, up to a maximum. */
const radius = (count: number): number => Math.min(9, 2 + 2 * Math.sqrt(count))

export const trackRecordChart = (record: TrackRecord, t: Messages): Html => {
  const messages = t.agentPage.charts
  const days = running(record)
  const [first, last] = [days.at(0), days.at(-1)]
  if (first === undefined || last === undefined) return null
  const total = days.reduce((sum, { count }) => sum + count, 0)
  const plot = plotOf(240)
  const x = scaleUtc()
    .domain([
      Math.min(first.at.getTime() - dayMillis, last.at.getTime() - 6 * dayMillis),
      last.at.getTime() + dayMillis
    ])
    .range(rangeX(plot))
  const y = scaleLinear().domain([0, 100]).range(rangeY(plot))
  const average = line<Day>()
    .x(({ at }) => x(at))
    .y(({ soFar }) => y(soFar))
    .digits(2)
  return chart({
    id: "track-record",
    title: record.isAll ? messages.byDay : messages.latestByDay(String(total), total === 1),
    summary: messages.averageSummary(
      String(total),
      total === 1,
      String(days.length),
      last.soFar.toFixed(1),
      String(noSkill)
    ),
    height: plot.height,
    t,
    drawing: html`${valueLines(plot, y, y.ticks(5))}
      <line
        class="reference"
        x1=${across(plot.left)}
        x2=${across(plot.right)}
        y1=${down(y(noSkill))}
        y2=${down(y(noSkill))}
      />
      ${days.map(
        ({ at, count, mean }) =>
          html`<circle class="dot" cx=${across(x(at))} cy=${down(y(mean))} r=${down(radius(count))} />`
      )}
      ${stretched(plot, html`<path class="line" d=${average([...days]) ?? ""} />`)}
      ${
        days.length === 1
          ? html`<circle class="mean" cx=${across(x(last.at))} cy=${down(y(last.soFar))} r="4" />`
          : null
      }
      ${ground(plot)} ${timesBelow(plot, x, 6, t)}`,
    keys: [
      [html`<path class="line" d="M1 10 L9 6 L17 7 L27 4" />`, messages.averageSoFar],
      [html`<circle class="dot" cx="14" cy="7" r="5" />`, messages.aDay],
      [html`<line class="reference" x1="1" x2="27" y1="7" y2="7" />`, messages.noSkill(String(noSkill))]
    ],
    numbers: {
      columns: [
        { title: messages.settledOn },
        { title: messages.predictions, isNumber: true },
        { title: t.average, isNumber: true },
        { title: messages.averageSoFar, isNumber: true }
      ],
      rows: days
        .toReversed()
        .map(({ at, count, mean, soFar }) => [
          dayOf(DateTime.fromDateUnsafe(at), t),
          String(count),
          mean.toFixed(1),
          soFar.toFixed(1)
        ])
    }
  })
}

const percent = (share: number): string => `${Math.round(share * 100)} %`

const perfect = ({ perfect: meaning }: Messages["agentPage"]["charts"]): Key => [
  html`<line class="reference" x1="1" x2="27" y1="12" y2="2" />`,
  meaning
]

/** The diagonal of perfect calibration. */
const diagonal = (x: (share: number) => number, y: (share: number) => number, from: number) =>
  html`<line
    class="reference"
    x1=${across(x(from))}
    x2=${across(x(1))}
    y1=${down(y(from))}
    y2=${down(y(1))}
  />`

/** The width of a label such as "100 of 288" on a phone, in percent of a chart. */
const labelWidth = 20

/** Stated confidence against the share that was right; null without directional or yes/no answers. */
export const reliabilityChart = ({ confidence }: TrackRecord, t: Messages): Html => {
  const messages = t.agentPage.charts
  const total = confidence.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return null
  const right = confidence.reduce((sum, bucket) => sum + bucket.right, 0)
  const plot = plotOf(240)
  const x = scaleLinear().domain([0.5, 1]).range(rangeX(plot))
  const y = scaleLinear().domain([0, 1]).range(rangeY(plot))
  return chart({
    id: "reliability",
    title: messages.calibration,
    summary: messages.rightSummary(String(right), String(total)),
    height: plot.height,
    t,
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
            text-anchor=${anchorAt(plot, x(mean_probability), labelWidth)}
          >
            ${messages.rightOf(String(hits), String(count))}
          </text>`
    )}
    ${ground(plot)} ${below(plot, x, 5, percent)}`,
    keys: [
      [html`<circle class="dot solid" cx="14" cy="7" r="5" />`, messages.answersSized],
      perfect(messages)
    ],
    note: messages.calibrationNote,
    numbers: {
      columns: [
        { title: messages.saidOnAverage },
        { title: t.agentPage.right, isNumber: true },
        { title: t.agentPage.answers, isNumber: true },
        { title: messages.shareRight, isNumber: true }
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

/** The share of outcomes within the central intervals of numeric forecasts; null with too few. */
export const coverageChart = ({ count, coverage }: Calibration, t: Messages): Html => {
  const messages = t.agentPage.charts
  const known = coverage.flatMap(({ interval_ci95, level, share }) =>
    share === null || interval_ci95 === null ? [] : [{ level, share, interval: interval_ci95 }]
  )
  if (known.length === 0) return null
  const plot = plotOf(240)
  const x = scaleLinear().domain([0, 1]).range(rangeX(plot))
  const y = scaleLinear().domain([0, 1]).range(rangeY(plot))
  return chart({
    id: "coverage",
    title: messages.coverage,
    summary: messages.coverageSummary(
      String(count),
      known.map(({ level, share }) => [percent(share), percent(level)] as const)
    ),
    height: plot.height,
    t,
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
        messages.shareOfOutcomes
      ],
      perfect(messages)
    ],
    note: messages.coverageNote,
    numbers: {
      columns: [
        { title: messages.centralInterval },
        { title: messages.outcomesWithin, isNumber: true },
        { title: messages.intervalOfThat, isNumber: true }
      ],
      rows: known.map(({ interval: [low, high], level, share }) => [
        percent(level),
        percent(share),
        t.range(percent(low), percent(high))
      ])
    }
  })
}

const rounded = (count: number): string => plainNumber(Number(count.toFixed(2)))

export const pitHistogram = ({ count, pit }: Calibration, t: Messages): Html => {
  const messages = t.agentPage.charts
  if (count === 0) return null
  const plot = plotOf(240)
  const [low, high] = pit.band95
  const width = plot.right - plot.left
  return chart({
    id: "pit",
    title: messages.pit,
    summary: messages.pitSummary(
      String(count),
      pit.buckets.map((bucket) => rounded(bucket.count)),
      rounded(count / pit.buckets.length)
    ),
    height: plot.height,
    t,
    drawing: html`${bars(
      plot,
      pit.buckets.map((bucket) => ({
        from: bucket.low + 0.005,
        to: bucket.high - 0.005,
        count: bucket.count
      })),
      {
        id: "pit",
        max: high,
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
      [html`<rect class="bar" x="4" y="2" width="20" height="11" />`, messages.outcomes],
      [
        html`<rect class="band" x="1" y="2" width="26" height="10" />
          <line class="reference" x1="1" x2="27" y1="7" y2="7" />`,
        messages.pitBand
      ]
    ],
    note: messages.pitNote,
    numbers: {
      columns: [{ title: messages.bucket }, { title: messages.outcomes, isNumber: true }],
      rows: pit.buckets.map((bucket) => [
        t.range(String(bucket.low), String(bucket.high)),
        rounded(bucket.count)
      ])
    }
  })
}

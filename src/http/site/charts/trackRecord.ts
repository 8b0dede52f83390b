/** An agent's scores day by day, and the average they come to. */
import { scaleLinear, scaleUtc } from "d3-scale"
import { line } from "d3-shape"
import { DateTime } from "effect"
import type { TrackRecord } from "../../../services/Charts.ts"
import { day as dayOf } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { ground, timesBelow, valueLines } from "./axes.ts"
import { across, chart, down, plotOf, rangeX, rangeY, stretched } from "./chart.ts"
import { noSkill } from "./intervals.ts"

const dayMillis = 86_400_000

interface Day {
  readonly at: Date
  readonly count: number
  readonly mean: number
  /** The average of all scores until then. */
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

/** The area of a dot is as large as the day had answers, up to what still is a dot. */
const radius = (count: number): number => Math.min(9, 2 + 2 * Math.sqrt(count))

const predictions = (count: number): string => (count === 1 ? "1 prediction" : `${count} predictions`)

export const trackRecordChart = (record: TrackRecord): Html => {
  const days = running(record)
  const [first, last] = [days.at(0), days.at(-1)]
  if (first === undefined || last === undefined) return null
  const total = days.reduce((sum, { count }) => sum + count, 0)
  const plot = plotOf(240)
  const x = scaleUtc()
    .domain([
      first.at.getTime() - dayMillis,
      Math.max(last.at.getTime(), first.at.getTime() + 5 * dayMillis) + dayMillis
    ])
    .range(rangeX(plot))
  const y = scaleLinear().domain([0, 100]).range(rangeY(plot))
  const average = line<Day>()
    .x(({ at }) => x(at))
    .y(({ soFar }) => y(soFar))
    .digits(2)
  return chart({
    id: "track-record",
    title: record.isAll ? "Scores, day by day" : `Its latest ${predictions(total)}, day by day`,
    summary: `The average score of ${predictions(total)} on ${days.length} days is ${last.soFar.toFixed(1)} of 100; without skill it is ${noSkill}.`,
    height: plot.height,
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
      ${ground(plot)} ${timesBelow(plot, x, 6)}`,
    keys: [
      [html`<path class="line" d="M1 10 L9 6 L17 7 L27 4" />`, "Average so far"],
      [html`<circle class="dot" cx="14" cy="7" r="5" />`, "A day's average; larger: more predictions"],
      [html`<line class="reference" x1="1" x2="27" y1="7" y2="7" />`, `${noSkill}: no skill`]
    ],
    numbers: {
      columns: [
        { title: "Settled on" },
        { title: "Predictions", isNumber: true },
        { title: "Average", isNumber: true },
        { title: "Average so far", isNumber: true }
      ],
      rows: days
        .toReversed()
        .map(({ at, count, mean, soFar }) => [
          dayOf(DateTime.fromDateUnsafe(at)),
          String(count),
          mean.toFixed(1),
          soFar.toFixed(1)
        ])
    }
  })
}

/** Charts the confidence sequence of an agent's daily scores as a band. */
import { scaleLinear, scaleUtc } from "d3-scale"
import { area } from "d3-shape"
import { DateTime } from "effect"
import type { Messages } from "../messages/messages.ts"
import { day as dayOf } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import {
  across,
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
import { plainNumber } from "../views/format.ts"

interface Day {
  readonly day: string
  readonly sequence: readonly [number, number]
  /** Further facts about the day, for the table of numbers. */
  readonly more: ReadonlyArray<string>
}

const dayMillis = 86_400_000

/** The chart is null without days. */
export const sequenceChart = (
  days: ReadonlyArray<Day>,
  texts: {
    readonly title: string
    readonly summary: string
    readonly zero: string
    readonly more: ReadonlyArray<string>
  },
  t: Messages
): Html => {
  const dated = days.map((each) => ({ ...each, at: DateTime.toDateUtc(DateTime.makeUnsafe(each.day)) }))
  const [first, last] = [dated.at(0), dated.at(-1)]
  if (first === undefined || last === undefined) return null
  const plot = plotOf(240)
  const x = scaleUtc()
    .domain([first.at.getTime(), Math.max(last.at.getTime(), first.at.getTime() + 5 * dayMillis)])
    .range(rangeX(plot))
  const y = scaleLinear().domain([-1, 1]).range(rangeY(plot))
  const band = area<(typeof dated)[number]>()
    .x(({ at }) => x(at))
    .y0(({ sequence }) => y(sequence[0]))
    .y1(({ sequence }) => y(sequence[1]))
    .digits(2)
  const messages = t.agentPage.charts
  return chart({
    id: "evidence",
    title: texts.title,
    summary: texts.summary,
    height: plot.height,
    t,
    drawing: html`${valueLines(plot, y, y.ticks(5))}
      ${stretched(plot, html`<path class="band" d=${band(dated) ?? ""} />`)}
      <line
        class="reference"
        x1=${across(plot.left)}
        x2=${across(plot.right)}
        y1=${down(y(0))}
        y2=${down(y(0))}
      />
      ${ground(plot)} ${timesBelow(plot, x, 6, t)}`,
    keys: [
      [html`<rect class="band" x="1" y="2" width="26" height="10" />`, messages.alwaysRight],
      [html`<line class="reference" x1="1" x2="27" y1="7" y2="7" />`, texts.zero]
    ],
    numbers: {
      columns: [
        { title: messages.upTo },
        ...texts.more.map((title) => ({ title, isNumber: true as const })),
        { title: messages.from, isNumber: true },
        { title: messages.to, isNumber: true }
      ],
      rows: dated
        .toReversed()
        .map(({ at, more, sequence }) => [
          dayOf(DateTime.fromDateUnsafe(at), t),
          ...more,
          plainNumber(Number(sequence[0].toFixed(3))),
          plainNumber(Number(sequence[1].toFixed(3)))
        ])
    }
  })
}

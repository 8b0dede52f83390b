/** Charts the price of an asset during a challenge, with its dead zone, level or closing price. */
import { scaleLinear, scaleUtc } from "d3-scale"
import { area, line } from "d3-shape"
import { DateTime } from "effect"
import type { PricePoint, PriceSeries } from "../../../services/Charts.ts"
import { instant } from "../views/components.ts"
import { allMessages } from "../messages/messages.ts"
import type { Messages } from "../messages/messages.ts"
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
import type { Key, Plot } from "./chart.ts"
import { plainNumber } from "../views/format.ts"
import type { LevelName } from "../../../services/domain/kinds.ts"

export interface PriceTerms {
  readonly asset: string
  readonly from: Date
  readonly deadline: Date
  readonly resolveAt: Date
  /** A move within the dead zone is neutral. */
  readonly deadZone?: { readonly openPrice: number; readonly pct: number }
  readonly levels?: ReadonlyArray<{ readonly name: LevelName; readonly price: number }>
  /** The price that decided the challenge. */
  readonly settled?: { readonly price: number; readonly as: string }
  /** The start of the window in which a touch counts, if the level was touched. */
  readonly touchedSince?: Date
  /** The start of the days whose closes are counted. */
  readonly daysFrom?: Date
  /** Draws the range of each candle in addition to its close. */
  readonly byRange?: boolean
  /** The time of an event, with its name. */
  readonly moment?: { readonly at: Date; readonly name: string }
}

interface Scales {
  readonly plot: Plot
  readonly x: (time: Date) => number
  readonly y: (price: number) => number
}

const hourMillis = 3_600_000

/** A horizontal line that the legend explains. */
const markedLine = ({ plot, y }: Scales, price: number, kind: string) =>
  html`<line
    class=${kind}
    x1=${across(plot.left)}
    x2=${across(plot.right)}
    y1=${down(y(price))}
    y2=${down(y(price))}
  />`

const deadZone = (
  scales: Scales,
  { openPrice, pct }: NonNullable<PriceTerms["deadZone"]>,
  { downBelow, upAbove }: Messages["question"]["charts"]
) => {
  const { plot, y } = scales
  const [low, high] = [openPrice * (1 - pct / 100), openPrice * (1 + pct / 100)]
  return html`<defs>
      <pattern
        id="dead-zone"
        width="7"
        height="7"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <line class="hatch" x1="0" y1="0" x2="0" y2="7" />
      </pattern>
    </defs>
    <rect
      class="zone"
      fill="url(#dead-zone)"
      x=${across(plot.left)}
      width=${across(plot.right - plot.left)}
      y=${down(y(high))}
      height=${down(Math.max(1, y(low) - y(high)))}
    />
    <text class="label halo" x=${across(plot.left + 1)} y=${down(y(high) - 5)}>${upAbove}</text>
    <text class="label halo" x=${across(plot.left + 1)} y=${down(y(low) + 14)}>${downBelow}</text>`
}

/** A vertical line with its name on top. */
const moment = ({ plot, x }: Scales, time: Date, name: string) => {
  const place = x(time)
  return html`<line
      class="moment"
      x1=${across(place)}
      x2=${across(place)}
      y1=${down(plot.top - 2)}
      y2=${down(plot.bottom)}
    />
    <text
      class="tick"
      x=${across(place)}
      y=${down(plot.top - 5)}
      text-anchor=${place > (plot.left + plot.right) / 2 ? "end" : "start"}
    >
      ${name}
    </text>`
}

/** A longer gap between prices breaks the line: daily closes are further apart than hourly candles, and pause at weekends. */
const maxGap = ({ points, stretch }: PriceSeries): number => {
  const times = points.map(({ time }) => DateTime.toEpochMillis(DateTime.makeUnsafe(time)))
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time))
  const usual = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0
  return Math.max(3 * stretch, 4 * hourMillis, 4 * usual)
}

type Drawn = PricePoint & { readonly at: Date; readonly isAfterGap: boolean }

const drawn = (series: PriceSeries): ReadonlyArray<Drawn> => {
  const longest = maxGap(series)
  let before = Number.NaN
  return series.points.map((point) => {
    const at = DateTime.toDateUtc(DateTime.makeUnsafe(point.time))
    const isAfterGap = at.getTime() - before > longest
    before = at.getTime()
    return { ...point, at, isAfterGap }
  })
}

const withGaps = (points: ReadonlyArray<Drawn>): ReadonlyArray<Drawn | null> =>
  points.flatMap((point) => (point.isAfterGap ? [null, point] : [point]))

/** The first drawn price whose range contains the level. */
const touchOf = (points: ReadonlyArray<Drawn>, { levels = [], touchedSince }: PriceTerms) => {
  const [level] = levels
  if (level === undefined || touchedSince === undefined) return undefined
  const point = points.find(
    ({ at, high, low }) => at > touchedSince && low <= level.price && level.price <= high
  )
  return point && { at: point.at, price: level.price }
}

const dayMillis = 86_400_000

/** Marks the closed days of a count by their close against the day before. */
const dayMarks = (
  { plot, x }: Scales,
  points: ReadonlyArray<Drawn>,
  { daysFrom, resolveAt }: PriceTerms
): Html => {
  if (daysFrom === undefined) return null
  const closeAt = (end: number) => points.findLast(({ at }) => at.getTime() <= end)
  const count = Math.round((resolveAt.getTime() - daysFrom.getTime()) / dayMillis)
  const starts = Array.from({ length: count }, (_, index) => daysFrom.getTime() + index * dayMillis)
  const lastKnown = points.at(-1)?.at.getTime() ?? 0
  return starts
    .filter((start) => start + dayMillis <= lastKnown)
    .map((start) => {
      const [before, close] = [closeAt(start), closeAt(start + dayMillis)]
      if (before === undefined || close === undefined) return null
      const isUp = close.price > before.price
      return html`<text
        class=${`day side ${isUp ? "bullish" : "bearish"}`}
        x=${across(x(DateTime.toDateUtc(DateTime.makeUnsafe(start + dayMillis / 2))))}
        y=${down(plot.bottom - 6)}
        text-anchor="middle"
      >
        ${isUp ? "▲" : "▼"}
      </text>`
    })
}

const curve = ({ plot, x, y }: Scales, points: ReadonlyArray<Drawn>, terms: PriceTerms) => {
  const path = line<Drawn | null>()
    .defined((point) => point !== null)
    .x((point) => (point === null ? 0 : x(point.at)))
    .y((point) => (point === null ? 0 : y(point.price)))
    .digits(2)
  const range = area<Drawn | null>()
    .defined((point) => point !== null)
    .x((point) => (point === null ? 0 : x(point.at)))
    .y0((point) => (point === null ? 0 : y(point.low)))
    .y1((point) => (point === null ? 0 : y(point.high)))
    .digits(2)
  return stretched(
    plot,
    html`${terms.byRange === true ? html`<path class="range" d=${range(withGaps(points)) ?? ""} />` : null}
      <path class="line" d=${path(withGaps(points)) ?? ""} />`
  )
}

/** The table samples the prices; the drawing has all of them. */
const maxRows = 24

const numbersOf = (points: ReadonlyArray<Drawn>, terms: PriceTerms, t: Messages) => {
  const every = Math.ceil(points.length / maxRows)
  // The rows are counted from the end, so that the last price is included.
  const rows = points.filter((_, index) => (points.length - 1 - index) % every === 0)
  const cells = ({ at, high, low, price }: Drawn): ReadonlyArray<Html> => [
    instant(DateTime.fromDateUnsafe(at), t),
    ...(terms.byRange === true ? [plainNumber(low), plainNumber(high)] : []),
    plainNumber(price)
  ]
  return {
    columns: [
      { title: t.time },
      ...(terms.byRange === true
        ? [
            { title: t.low, isNumber: true as const },
            { title: t.high, isNumber: true as const }
          ]
        : []),
      { title: t.price, isNumber: true as const }
    ],
    rows: rows.map(cells),
    ...(every > 1 && { note: t.oneOf(String(every)) })
  }
}

const valuesOf = (points: ReadonlyArray<Drawn>, terms: PriceTerms): ReadonlyArray<number> => [
  ...points.flatMap(({ high, low, price }) => (terms.byRange === true ? [low, high] : [price])),
  ...(terms.levels ?? []).map(({ price }) => price),
  ...(terms.settled === undefined ? [] : [terms.settled.price]),
  ...(terms.deadZone === undefined
    ? []
    : [-1, 1].map((side) => {
        const { openPrice, pct } = terms.deadZone ?? { openPrice: 0, pct: 0 }
        // One and a half times the zone leaves room for its labels.
        return openPrice * (1 + (side * 1.5 * pct) / 100)
      }))
]

const summaryOf = (points: ReadonlyArray<Drawn>, terms: PriceTerms, t: Messages): string => {
  const [first, last] = [points.at(0), points.at(-1)]
  const messages = t.question.charts
  if (first === undefined || last === undefined) return messages.noPriceKnown(terms.asset)
  const zone =
    terms.deadZone === undefined
      ? ""
      : messages.zoneSummary(plainNumber(terms.deadZone.openPrice), String(terms.deadZone.pct))
  const level = (terms.levels ?? [])
    .map(({ name, price }) => messages.levelSummary(t.question.levels[name], plainNumber(price)))
    .join("")
  const end =
    terms.settled === undefined
      ? ""
      : messages.settledSummary(terms.settled.as, plainNumber(terms.settled.price))
  return `${t.priceSummary(terms.asset, plainNumber(first.price), plainNumber(last.price))}${zone}${level}${end}`
}

const keysOf = (terms: PriceTerms, { priceKey, question }: Messages): ReadonlyArray<Key> => [
  [html`<path class="line" d="M1 10 L9 5 L17 9 L27 3" />`, priceKey(terms.asset)],
  ...(terms.byRange === true
    ? [[html`<rect class="range" x="1" y="2" width="26" height="10" />`, question.charts.lowToHigh] as const]
    : []),
  ...(terms.deadZone === undefined
    ? []
    : [
        [
          html`<line class="reference" x1="1" x2="27" y1="7" y2="7" />`,
          question.charts.named(question.openPrice, plainNumber(terms.deadZone.openPrice))
        ] as const,
        [
          html`<rect class="zone" fill="url(#dead-zone)" x="1" y="1" width="26" height="12" />`,
          question.charts.zone(String(terms.deadZone.pct))
        ] as const
      ]),
  ...(terms.levels ?? []).map(
    ({ name, price }) =>
      [
        html`<line class="level" x1="1" x2="27" y1="7" y2="7" />`,
        question.charts.named(question.levels[name], plainNumber(price))
      ] as const
  ),
  ...(terms.settled === undefined
    ? []
    : [
        [
          html`<path class="mark" d="M14 1 L20 7 L14 13 L8 7 Z" />`,
          question.charts.named(terms.settled.as, plainNumber(terms.settled.price))
        ] as const
      ])
]

/** The chart is null with fewer than two prices. */
export const priceChart = (terms: PriceTerms, series: PriceSeries, t = allMessages.en): Html => {
  const points = drawn(series)
  if (points.length < 2) return null
  const plot = plotOf(280)
  const x = scaleUtc().domain([terms.from, terms.resolveAt]).range(rangeX(plot))
  const values = valuesOf(points, terms)
  const y = scaleLinear()
    .domain([Math.min(...values), Math.max(...values)])
    .nice(5)
    .range(rangeY(plot))
  const scales: Scales = { plot, x, y }
  const touch = touchOf(points, terms)
  const messages = t.question.charts
  const isOneMoment = terms.deadline.getTime() === terms.resolveAt.getTime()
  return chart({
    id: `price-${terms.asset}`,
    title: t.priceOf(terms.asset),
    summary: summaryOf(points, terms, t),
    height: plot.height,
    drawing: html`${valueLines(plot, y, y.ticks(5))}
    ${terms.deadZone === undefined ? null : deadZone(scales, terms.deadZone, messages)}
    ${terms.deadZone === undefined ? null : markedLine(scales, terms.deadZone.openPrice, "reference")}
    ${(terms.levels ?? []).map(({ price }) => markedLine(scales, price, "level"))}
    ${
      isOneMoment || terms.deadline <= terms.from || terms.deadline >= terms.resolveAt
        ? null
        : moment(scales, terms.deadline, messages.deadline)
    }
    ${terms.moment === undefined ? null : moment(scales, terms.moment.at, terms.moment.name)}
    ${curve(scales, points, terms)} ${dayMarks(scales, points, terms)} ${ground(plot)}
    ${timesBelow(plot, x, 6, t)}
    ${
      touch === undefined
        ? null
        : html`<circle class="touch" cx=${across(x(touch.at))} cy=${down(y(touch.price))} r="6" />`
    }
    ${
      terms.settled === undefined
        ? null
        : html`<svg overflow="visible" x=${across(x(terms.resolveAt))} y=${down(y(terms.settled.price))}>
            <path class="mark" d="M0 -6 L6 0 L0 6 L-6 0 Z" />
          </svg>`
    }`,
    keys:
      touch === undefined
        ? keysOf(terms, t)
        : [...keysOf(terms, t), [html`<circle class="touch" cx="14" cy="7" r="6" />`, messages.touched]],
    points: points.map(({ at, price }) => [x(at), at, price]),
    note: t.timesUtc,
    t,
    numbers: numbersOf(points, terms, t)
  })
}

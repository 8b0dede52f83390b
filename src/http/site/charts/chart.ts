/**
 * A chart: an SVG drawing with a title, a summary sentence and its numbers as a table. It fills the available width
 * while its texts keep their size, so x is in percent and y in pixels.
 */
import { scaleLinear } from "d3-scale"
import { allMessages } from "../messages/messages.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { plainNumber } from "../views/format.ts"

/** The plot area within the drawing. */
export interface Plot {
  /** Horizontal bounds, in percent of the width. */
  readonly left: number
  readonly right: number
  /** Vertical bounds, in pixels. */
  readonly top: number
  readonly bottom: number
  readonly height: number
}

/** Leaves room for the y axis on the left and one line of labels below. */
export const plotOf = (height: number): Plot => ({
  left: 13,
  right: 98.5,
  top: 14,
  bottom: height - 26,
  height
})

export const rangeX = ({ left, right }: Plot): [number, number] => [left, right]
export const rangeY = ({ bottom, top }: Plot): [number, number] => [bottom, top]

/** Two decimals of a percent or a pixel are finer than any screen. */
const shortened = (place: number): number => Math.round(place * 100) / 100

export const across = (place: number): string => `${shortened(place)}%`
export const down = (place: number): string => String(shortened(place))

/** Paths take no percentages, so they are drawn in a viewBox that is stretched to the width. */
export const stretched = (plot: Plot, content: Html) =>
  html`<svg
    width="100%"
    height=${plot.height}
    viewBox=${`0 0 100 ${plot.height}`}
    preserveAspectRatio="none"
    overflow="visible"
  >
    ${content}
  </svg>`

interface Column {
  readonly title: string
  readonly isNumber?: true
}

interface Numbers {
  readonly columns: ReadonlyArray<Column>
  readonly rows: ReadonlyArray<ReadonlyArray<Html>>
  readonly note?: string
}

const numbersTable = (title: string, { columns, note, rows }: Numbers, t: Messages) =>
  html`<details class="numbers">
    <summary>${t.theNumbers}</summary>
    ${note === undefined ? null : html`<p class="small quiet">${note}</p>`}
    <div class="wide" role="region" aria-label=${t.numbersOf(title)} tabindex="0">
      <table class="bins">
        <thead>
          <tr>
            ${columns.map(
              (column) =>
                html`<th scope="col" class=${column.isNumber ? "number" : undefined}>${column.title}</th>`
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([first, ...others]) =>
              html`<tr>
                <th scope="row">${first}</th>
                ${others.map((cell) => html`<td>${cell}</td>`)}
              </tr>`
          )}
        </tbody>
      </table>
    </div>
  </details>`

/** A legend entry: a sample and its meaning. */
export type Key = readonly [sign: Html, meaning: string]

const sample = (content: Html) =>
  html`<svg class="sample" width="28" height="14" viewBox="0 0 28 14" aria-hidden="true" focusable="false">
    ${content}
  </svg>`

export const chart = (options: {
  /** Unique within its page. */
  readonly id: string
  readonly title: string
  /** The description for readers who cannot see the drawing. */
  readonly summary: string
  readonly height: number
  readonly drawing: Html
  readonly keys?: ReadonlyArray<Key>
  readonly note?: Html
  readonly numbers: Numbers
  /** The values that the live script shows under a pointer: place in percent, time, value. */
  readonly points?: ReadonlyArray<readonly [place: number, at: Date, value: number]>
  readonly t?: Messages
}) => {
  const {
    drawing,
    height,
    id,
    keys = [],
    note,
    numbers,
    points,
    t = allMessages.en,
    summary,
    title
  } = options
  return html`<figure class="chart" aria-labelledby=${`${id}-title`}>
    <figcaption id=${`${id}-title`}>${title}</figcaption>
    <svg
      class="drawing"
      width="100%"
      height=${height}
      role="img"
      aria-label=${summary}
      data-points=${points
        ?.map(([place, at, value]) =>
          [shortened(place), Math.round(at.getTime() / 60_000), plainNumber(value)].join()
        )
        .join(" ")}
    >
      ${drawing}
    </svg>
    ${points === undefined ? null : html`<p class="readout small" aria-hidden="true"></p>`}
    ${
      keys.length === 0
        ? null
        : html`<ul class="keys">
            ${keys.map(([sign, meaning]) => html`<li>${sample(sign)} ${meaning}</li>`)}
          </ul>`
    }
    ${note === undefined ? null : html`<p class="small quiet">${note}</p>`} ${numbersTable(title, numbers, t)}
  </figure>`
}

interface Scale<Value> {
  (value: Value): number
  ticks(count?: number): Array<Value>
}

/** Horizontal grid lines, labelled on the left. */
export const valueLines = (
  plot: Plot,
  scale: (value: number) => number,
  values: ReadonlyArray<number>,
  format: (value: number) => string = plainNumber
) =>
  values.map(
    (value) =>
      html`<line
          class="grid"
          x1=${across(plot.left)}
          x2=${across(plot.right)}
          y1=${down(scale(value))}
          y2=${down(scale(value))}
        />
        <text class="tick" x=${across(plot.left - 1)} y=${down(scale(value) + 4)} text-anchor="end">
          ${format(value)}
        </text>`
  )

/** Keeps labels at the edges within the plot. `width` is the width of a label on a phone, in percent. */
export const anchorAt = (plot: Plot, place: number, width = 14): "start" | "middle" | "end" => {
  if (place < plot.left + width / 2) return "start"
  return place > plot.right - width / 2 ? "end" : "middle"
}

/** The width of a label's character on a narrow screen, in percent of the drawing. */
const narrowCharacter = 2.2

/** The width of a label, in which a Chinese character counts twice. */
const narrowWidth = (label: string): number =>
  narrowCharacter *
  [...label].reduce((sum, character) => sum + (/\p{Script=Han}/u.test(character) ? 2 : 1), 0)

/** The share of a label that lies before its anchor. */
const sharesBefore = { start: 0, middle: 0.5, end: 1 }

/** The x axis: ticks with labels. Narrow screens hide minor ticks, and those whose label would touch the one before. */
export const below = <Value>(
  plot: Plot,
  scale: Scale<Value>,
  count: number,
  format: (value: Value) => string,
  isMinor: (value: Value, index: number) => boolean = (_, index) => index % 2 === 1
) => {
  let free = Number.NEGATIVE_INFINITY
  return scale.ticks(count).map((value, index) => {
    const x = scale(value)
    const anchor = anchorAt(plot, x)
    const width = narrowWidth(format(value))
    const start = x - width * sharesBefore[anchor]
    const isHidden = isMinor(value, index) || start < free
    if (!isHidden) free = start + width
    return html`<g class=${isHidden ? "second" : undefined}>
      <line
        class="axis"
        x1=${across(x)}
        x2=${across(x)}
        y1=${down(plot.bottom)}
        y2=${down(plot.bottom + 5)}
      />
      <text class="tick" x=${across(x)} y=${down(plot.bottom + 19)} text-anchor=${anchor}>
        ${format(value)}
      </text>
    </g>`
  })
}

/** The base line. */
export const ground = (plot: Plot) =>
  html`<line
    class="axis"
    x1=${across(plot.left)}
    x2=${across(plot.right)}
    y1=${down(plot.bottom)}
    y2=${down(plot.bottom)}
  />`

/** The formatters by the locale of a language's dates. */
const daysAndMonths = new Map(
  Object.values(allMessages).map(({ dates }) => [
    dates,
    new Intl.DateTimeFormat(dates, { day: "numeric", month: "short", timeZone: "UTC" })
  ])
)
const hourAndMinute = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC"
})

const isMidnight = (time: Date): boolean => time.getTime() % 86_400_000 === 0

/** The date at midnight, else the time of day; UTC like every time of the site. */
export const shortTime = (time: Date, { dates } = allMessages.en): string =>
  ((isMidnight(time) ? daysAndMonths.get(dates) : undefined) ?? hourAndMinute).format(time)

/** The x axis of times. Narrow screens show only the days, if there are any. */
export const timesBelow = (plot: Plot, scale: Scale<Date>, count: number, t = allMessages.en) => {
  const days = scale.ticks(count).filter(isMidnight)
  return below(
    plot,
    scale,
    count,
    (time) => shortTime(time, t),
    (time, index) => (days.length > 1 && days.length < 6 ? !isMidnight(time) : index % 2 === 1)
  )
}

export interface Bar {
  /** Horizontal extent, from 0 to 1. */
  readonly from: number
  readonly to: number
  readonly count: number
  /** `marked` bars have a pattern as well as a colour. */
  readonly kind?: "marked" | undefined
}

/** The pattern of marked bars; once a drawing. */
const pattern = (id: string) =>
  html`<defs>
    <pattern id=${id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect class="marked-ground" width="6" height="6" />
      <line class="marked-hatch" x1="0" y1="0" x2="0" y2="6" />
    </pattern>
  </defs>`

/** Bars above a base line. `behind` and `over` draw on the same scale. */
export const bars = (
  plot: Plot,
  all: ReadonlyArray<Bar>,
  options: {
    readonly id: string
    readonly max?: number
    readonly behind?: (y: (count: number) => number) => Html
    readonly over?: (y: (count: number) => number) => Html
  }
) => {
  const width = plot.right - plot.left
  const y = scaleLinear()
    .domain([0, Math.max(1, options.max ?? 0, ...all.map(({ count }) => count))])
    .nice(4)
    .range(rangeY(plot))
  const patternId = `${options.id}-marked`
  return html`${pattern(patternId)} ${valueLines(plot, y, y.ticks(4).filter(Number.isInteger))}
  ${options.behind?.(y) ?? null}
  ${all
    .filter(({ count }) => count > 0)
    .map(
      ({ count, from, kind, to }) =>
        html`<rect
          class=${kind === "marked" ? "marked-bar" : "bar"}
          fill=${kind === "marked" ? `url(#${patternId})` : undefined}
          x=${across(plot.left + width * from)}
          width=${across(width * (to - from))}
          y=${down(y(count))}
          height=${down(plot.bottom - y(count))}
        />`
    )}
  ${options.over?.(y) ?? null} ${ground(plot)}`
}

export const markedSample = (id: string) =>
  html`<rect class="marked-bar" fill=${`url(#${id}-marked)`} x="4" y="1" width="20" height="12" />`

/** The axes of charts: lines across at round values with their numbers, and times or values below. */
import { html } from "../views/html.ts"
import { across, down } from "./chart.ts"
import type { Plot } from "./chart.ts"

interface Scale<Value> {
  (value: Value): number
  ticks(count?: number): Array<Value>
}

/** Lines across at these values, each with its number on the left. */
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

/** Texts at the edges of a plot stay within it. */
const anchorAt = (plot: Plot, place: number): "start" | "middle" | "end" => {
  if (place < plot.left + 6) return "start"
  return place > plot.right - 8 ? "end" : "middle"
}

/** Values below, with a short line each; on a narrow screen those that are minor are left out. */
export const below = <Value>(
  plot: Plot,
  scale: Scale<Value>,
  count: number,
  format: (value: Value) => string,
  isMinor: (value: Value, index: number) => boolean = (_, index) => index % 2 === 1
) =>
  scale.ticks(count).map((value, index) => {
    const x = scale(value)
    return html`<g class=${isMinor(value, index) ? "second" : undefined}>
      <line
        class="axis"
        x1=${across(x)}
        x2=${across(x)}
        y1=${down(plot.bottom)}
        y2=${down(plot.bottom + 5)}
      />
      <text class="tick" x=${across(x)} y=${down(plot.bottom + 19)} text-anchor=${anchorAt(plot, x)}>
        ${format(value)}
      </text>
    </g>`
  })

/** The line that a plot stands on. */
export const ground = (plot: Plot) =>
  html`<line
    class="axis"
    x1=${across(plot.left)}
    x2=${across(plot.right)}
    y1=${down(plot.bottom)}
    y2=${down(plot.bottom)}
  />`

const dayAndMonth = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" })
const hourAndMinute = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC"
})

const isMidnight = (time: Date): boolean => time.getTime() % 86_400_000 === 0

/** A day where one begins, else the time of day; UTC, as every time of the site. */
export const shortTime = (time: Date): string => (isMidnight(time) ? dayAndMonth : hourAndMinute).format(time)

/** Times below; on a narrow screen the days stay, if there are some. */
export const timesBelow = (plot: Plot, scale: Scale<Date>, count: number) => {
  const days = scale.ticks(count).filter(isMidnight)
  return below(plot, scale, count, shortTime, (time, index) =>
    days.length > 1 && days.length < 6 ? !isMidnight(time) : index % 2 === 1
  )
}

/** As many digits as tell neighbouring values apart, and no noise of binary fractions. */
export const plainNumber = (value: number): string => String(Number(value.toPrecision(10)))

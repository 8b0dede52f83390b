/**
 * A chart: a drawing with its title, what it shows in a sentence, and its numbers as a table. It is as wide as there is
 * room, and its texts keep their size: across, places are percentages; down, pixels.
 */
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"

/** Where the plot lies in its drawing. */
export interface Plot {
  /** Percent of the width. */
  readonly left: number
  readonly right: number
  /** Pixels. */
  readonly top: number
  readonly bottom: number
  readonly height: number
}

/** Room for the numbers of the axis on the left, and for one line of texts below. */
export const plotOf = (height: number): Plot => ({
  left: 13,
  right: 98.5,
  top: 14,
  bottom: height - 26,
  height
})

export const rangeX = ({ left, right }: Plot): [number, number] => [left, right]
export const rangeY = ({ bottom, top }: Plot): [number, number] => [bottom, top]

/** Two decimals of a percent, or of a pixel, are finer than any screen. */
const shortened = (place: number): number => Math.round(place * 100) / 100

export const across = (place: number): string => `${shortened(place)}%`
export const down = (place: number): string => String(shortened(place))

/** In a drawing that is stretched to the width: paths know no percentages. */
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

export interface Column {
  readonly title: string
  readonly isNumber?: true
}

export interface Numbers {
  readonly columns: ReadonlyArray<Column>
  readonly rows: ReadonlyArray<ReadonlyArray<Html>>
  /** What of the numbers is left out. */
  readonly note?: string
}

const numbersTable = (title: string, { columns, note, rows }: Numbers) =>
  html`<details class="numbers">
    <summary>The numbers</summary>
    ${note === undefined ? null : html`<p class="small quiet">${note}</p>`}
    <div class="wide" role="region" aria-label=${`Numbers: ${title}`} tabindex="0">
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

/** A sign of the drawing, and what it stands for. */
export type Key = readonly [sign: Html, meaning: string]

export const sample = (content: Html) =>
  html`<svg class="sample" width="28" height="14" viewBox="0 0 28 14" aria-hidden="true" focusable="false">
    ${content}
  </svg>`

export const chart = (options: {
  /** Unlike any other of its page. */
  readonly id: string
  readonly title: string
  /** What those learn who do not see it. */
  readonly summary: string
  readonly height: number
  readonly drawing: Html
  readonly keys?: ReadonlyArray<Key>
  readonly note?: Html
  readonly numbers: Numbers
}) => {
  const { drawing, height, id, keys = [], note, numbers, summary, title } = options
  return html`<figure class="chart" aria-labelledby=${`${id}-title`}>
    <figcaption id=${`${id}-title`}>${title}</figcaption>
    <svg class="drawing" width="100%" height=${height} role="img" aria-label=${summary}>${drawing}</svg>
    ${
      keys.length === 0
        ? null
        : html`<ul class="keys">
            ${keys.map(([sign, meaning]) => html`<li>${sample(sign)} ${meaning}</li>`)}
          </ul>`
    }
    ${note === undefined ? null : html`<p class="small quiet">${note}</p>`} ${numbersTable(title, numbers)}
  </figure>`
}

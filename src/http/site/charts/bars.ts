/** Bars that stand side by side, over a line: how many of each. */
import { scaleLinear } from "d3-scale"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { ground, valueLines } from "./axes.ts"
import { across, down, rangeY } from "./chart.ts"
import type { Plot } from "./chart.ts"

export interface Bar {
  /** Where it begins and ends across, 0 to 1. */
  readonly from: number
  readonly to: number
  readonly count: number
  /** `marked` ones are told apart by a pattern, too. */
  readonly kind?: "marked" | undefined
}

/** For the bars that are marked; once a drawing. */
const pattern = (id: string) =>
  html`<defs>
    <pattern id=${id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect class="marked-ground" width="6" height="6" />
      <line class="marked-hatch" x1="0" y1="0" x2="0" y2="6" />
    </pattern>
  </defs>`

/** What is drawn behind them, and what over them, is on the same scale. */
export const bars = (
  plot: Plot,
  all: ReadonlyArray<Bar>,
  options: {
    readonly id: string
    readonly most?: number
    readonly behind?: (y: (count: number) => number) => Html
    readonly over?: (y: (count: number) => number) => Html
  }
) => {
  const width = plot.right - plot.left
  const y = scaleLinear()
    .domain([0, Math.max(1, options.most ?? 0, ...all.map(({ count }) => count))])
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

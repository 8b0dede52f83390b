/** Average scores with their 95 % intervals: one drawing a table row, all on the same scale. */
import { scaleLinear } from "d3-scale"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { across, down } from "./chart.ts"

/** The score of random answers. */
export const noSkill = 50

interface Scored {
  readonly avg_score: number | null
  readonly score_ci95: readonly [number, number] | null
}

export interface IntervalScale {
  (score: number): number
  readonly ticks: ReadonlyArray<number>
}

const height = 22
const middle = height / 2

/** A scale that holds all rows and the score without skill. */
export const intervalScale = (rows: ReadonlyArray<Scored>): IntervalScale => {
  const scores = rows.flatMap(({ avg_score, score_ci95 }) => [
    ...(avg_score === null ? [] : [avg_score]),
    ...(score_ci95 ?? [])
  ])
  const scale = scaleLinear()
    .domain([
      Math.max(0, Math.min(noSkill - 10, ...scores)),
      Math.min(100, Math.max(noSkill + 10, ...scores))
    ])
    .nice(4)
    .range([4, 96])
  return Object.assign((score: number) => scale(Math.min(100, Math.max(0, score))), { ticks: scale.ticks(4) })
}

/** The axis, for the head of the column. */
export const intervalAxis = (scale: IntervalScale) =>
  html`<svg class="interval" width="100%" height="16" aria-hidden="true" focusable="false">
    ${scale.ticks.map(
      (tick) => html`<text class="tick" x=${across(scale(tick))} y="12" text-anchor="middle">${tick}</text>`
    )}
  </svg>`

/** Hidden from readers: the numbers stand beside it as text. */
export const interval = (scale: IntervalScale, { avg_score, score_ci95 }: Scored): Html => {
  if (avg_score === null) return null
  const [low, high] = score_ci95 ?? [avg_score, avg_score]
  return html`<svg class="interval" width="100%" height=${height} aria-hidden="true" focusable="false">
    ${scale.ticks.map(
      (tick) =>
        html`<line class="grid" x1=${across(scale(tick))} x2=${across(scale(tick))} y1="0" y2=${height} />`
    )}
    <line class="no-skill" x1=${across(scale(noSkill))} x2=${across(scale(noSkill))} y1="0" y2=${height} />
    ${
      score_ci95 === null
        ? null
        : html`<line
              class="whisker"
              x1=${across(scale(low))}
              x2=${across(scale(high))}
              y1=${middle}
              y2=${middle}
            />
            ${[low, high].map(
              (end) =>
                html`<line
                  class="whisker"
                  x1=${across(scale(end))}
                  x2=${across(scale(end))}
                  y1=${middle - 4}
                  y2=${middle + 4}
                />`
            )}`
    }
    <circle class="mean" cx=${across(scale(avg_score))} cy=${down(middle)} r="5" />
  </svg>`
}

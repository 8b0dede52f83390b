/** Charts of values with their intervals: one drawing a table row, all on the same scale. */
import { scaleLinear } from "d3-scale"
import type { SkillFields } from "../../../services/Skill.ts"
import { allMessages } from "../messages/messages.ts"
import { html } from "../views/html.ts"
import { withMinus } from "../views/format.ts"
import type { Html } from "../views/html.ts"
import { across, down } from "./chart.ts"

/** The score of random answers. */
export const noSkill = 50

interface WithEvidence {
  readonly evidence: (typeof SkillFields.evidence)["Type"]
}

/** A value and its interval; both are null if unknown. */
export interface Ranged {
  readonly value: number | null
  readonly range: readonly [number, number] | null
}

/** Formats with a fixed number of decimals; a value that rounds to zero has no sign. */
const rounded = (value: number, places: number): string =>
  withMinus((Number(value.toFixed(places)) || 0).toFixed(places))

/** Skill with its sign; 0 is the random walk. */
export const signed = (skill: number | null): string => {
  if (skill === null) return "–"
  const text = rounded(skill, 3)
  return Number(text) > 0 ? `+${text}` : text
}

/** A score or an end of an interval. */
export const hundredths = (value: number): string => rounded(value, 2)

/** The mean daily score and its confidence sequence, as text beside the drawing. */
export const dailyScoreText = ({ evidence }: WithEvidence, t = allMessages.en): string => {
  if (evidence === null) return t.noDay
  const [low, high] = evidence.sequence
  return t.within95(hundredths(evidence.score), hundredths(low), hundredths(high))
}

/** The value without skill, the minimum reach of the scale on either side of it, and the bounds of the scale. */
interface Axis {
  readonly noSkill: number
  readonly reach: number
  readonly ends: readonly [number, number]
}

const scores: Axis = { noSkill, reach: 10, ends: [0, 100] }
/** Daily scores against the reference, which earns 0. */
const skills: Axis = { noSkill: 0, reach: 0.1, ends: [-1, 1] }

export const averageOf = (row: {
  readonly avg_score: number | null
  readonly score_ci95: readonly [number, number] | null
}): Ranged => ({ value: row.avg_score, range: row.score_ci95 })

/** The mean daily score against the reference; leaderboards use skill instead. */
export const dailyScoreOf = ({ evidence }: WithEvidence): Ranged =>
  evidence === null ? { value: null, range: null } : { value: evidence.score, range: evidence.sequence }

export interface IntervalScale {
  (score: number): number
  readonly noSkill: number
  readonly ticks: ReadonlyArray<number>
}

const height = 22
const middle = height / 2

/** An interval this many times wider than usual ends at the edge of the drawing; otherwise it would squeeze all others into dots. */
const maxWidths = 3

/** The intervals that determine a scale. */
const usualRanges = (rows: ReadonlyArray<Ranged>): ReadonlyArray<readonly [number, number]> => {
  const ranges = rows.flatMap(({ range }) => (range === null ? [] : [range]))
  const widths = ranges.map(([low, high]) => high - low).toSorted((a, b) => a - b)
  const usual = widths[Math.floor(widths.length / 2)] ?? 0
  return ranges.filter(([low, high]) => high - low <= maxWidths * usual)
}

/** A scale that contains the value of each row, its interval unless it is unusually wide, and the value without skill. */
const scaleOn =
  ({ ends: [lowest, highest], noSkill: none, reach }: Axis) =>
  (rows: ReadonlyArray<Ranged>): IntervalScale => {
    const values = [
      ...rows.flatMap(({ value }) => (value === null ? [] : [value])),
      ...usualRanges(rows).flat()
    ]
    const scale = scaleLinear()
      .domain([
        Math.max(lowest, Math.min(none - reach, ...values)),
        Math.min(highest, Math.max(none + reach, ...values))
      ])
      .nice(4)
      .range([4, 96])
      .clamp(true)
    return Object.assign((value: number) => scale(Math.min(highest, Math.max(lowest, value))), {
      noSkill: none,
      ticks: scale.ticks(4)
    })
  }

export const intervalScale = scaleOn(scores)
export const skillScale = scaleOn(skills)

/** The axis, for the head of the column. */
export const intervalAxis = (scale: IntervalScale) =>
  html`<svg class="interval" width="100%" height="16" aria-hidden="true" focusable="false">
    ${scale.ticks.map(
      (tick) => html`<text class="tick" x=${across(scale(tick))} y="12" text-anchor="middle">${tick}</text>`
    )}
  </svg>`

/** The drawing is hidden from screen readers, because the numbers stand beside it as text. */
export const interval = (scale: IntervalScale, { range, value }: Ranged): Html => {
  if (value === null) return null
  const [low, high] = range ?? [value, value]
  return html`<svg class="interval" width="100%" height=${height} aria-hidden="true" focusable="false">
    ${scale.ticks.map(
      (tick) =>
        html`<line class="grid" x1=${across(scale(tick))} x2=${across(scale(tick))} y1="0" y2=${height} />`
    )}
    <line
      class="no-skill"
      x1=${across(scale(scale.noSkill))}
      x2=${across(scale(scale.noSkill))}
      y1="0"
      y2=${height}
    />
    ${
      range === null
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
    <circle class="mean" cx=${across(scale(value))} cy=${down(middle)} r="5" />
  </svg>`
}

/** Charts of the predictions, from the deadline on: counts by answer and by confidence. */
import { scaleLinear } from "d3-scale"
import type { Answers } from "../../../services/Charts.ts"
import { distributionOf } from "../../../services/domain/Answer.ts"
import type { Direction } from "../../../services/domain/Challenge.ts"
import { allMessages } from "../messages/messages.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "../views/html.ts"
import { forecastOf, plainNumber } from "../views/format.ts"
import type { Html } from "../views/html.ts"
import { across, bars, below, chart, down, ground, markedSample, plotOf, rangeX } from "./chart.ts"
import type { Bar, Key } from "./chart.ts"

const ofSome = ({ isAll, values }: Answers, { question }: Messages): string | undefined =>
  isAll ? undefined : question.charts.ofSome(String(values.length))

const countedIn = (message: (count: string, isOne: boolean) => string, count: number): string =>
  message(String(count), count === 1)

const percent = (share: number) => Number((100 * share).toFixed(1))

/** The names of directions as answers to the question. */
export type Names = Readonly<Partial<Record<Direction, string>>>

const directions = ["bearish", "neutral", "bullish"] as const
const levels = [0, 1, 2, 3, 4] as const
const levelOf = (confidence: number): number => Math.min(4, Math.floor(confidence * 5))

/** A histogram of confidences for each direction. */
export const directionChart = (
  answers: Answers,
  names: Names,
  result: Direction | null,
  t = allMessages.en
): Html => {
  const { charts, ...messages } = t.question
  const named = directions.filter((direction) => direction in names)
  const groups = named.map((direction, place) => {
    const confidences = answers.values.flatMap((each) =>
      each.direction === direction && each.confidence !== null ? [each.confidence] : []
    )
    return {
      direction,
      name: names[direction] ?? direction,
      place,
      count: confidences.length,
      levels: levels.map((level) => confidences.filter((each) => levelOf(each) === level).length)
    }
  })
  const total = groups.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return null
  const plot = plotOf(220)
  const width = plot.right - plot.left
  const all: ReadonlyArray<Bar> = groups.flatMap(({ direction, levels: counts, place }) =>
    counts.map((count, level) => ({
      from: (place + 0.08 + level * 0.17) / groups.length,
      to: (place + 0.08 + level * 0.17 + 0.15) / groups.length,
      count,
      kind: direction === result ? ("marked" as const) : undefined
    }))
  )
  const vectors = answers.values.flatMap(({ probabilities }) =>
    probabilities === null ? [] : [probabilities]
  )
  const means = groups.map(
    ({ direction, name }) =>
      `${name} ${percent(vectors.reduce((sum, vector) => sum + (vector[direction] ?? 0), 0) / vectors.length)} %`
  )
  const keys: ReadonlyArray<Key> =
    result === null
      ? []
      : [
          [html`<rect class="bar" x="4" y="1" width="20" height="12" />`, messages.wrong],
          [markedSample("answers"), messages.right]
        ]
  return chart({
    id: "answers",
    title: charts.saidTitle,
    summary: charts.answersBy(
      countedIn(messages.answerCount, total),
      groups.map(({ count, name }) => [name, String(count)])
    ),
    height: plot.height,
    drawing: html`${bars(plot, all, { id: "answers" })}
    ${groups.map(({ count, name, place }) => {
      const at = (share: number) => across(plot.left + (width * (place + share)) / groups.length)
      const y = down(plot.bottom + 19)
      return html`<text class="tick second" x=${at(0.08)} y=${y}>0</text>
        <text class="label" x=${at(0.5)} y=${y} text-anchor="middle"
          >${charts.group(name, String(count))}</text
        >
        <text class="tick second" x=${at(0.92)} y=${y} text-anchor="end">1</text>`
    })}`,
    keys,
    t,
    note: html`${charts.fiveBars}
    ${
      vectors.length === 0
        ? null
        : charts.withProbabilities(countedIn(messages.answerCount, vectors.length), means)
    }
    ${ofSome(answers, t)}`,
    numbers: {
      columns: [
        { title: charts.confidence },
        ...groups.map(({ name }) => ({ title: name, isNumber: true as const }))
      ],
      rows: levels.map((level) => [
        t.range(plainNumber(level / 5), plainNumber((level + 1) / 5)),
        ...groups.map(({ levels: counts }) => String(counts[level]))
      ])
    }
  })
}

/** The range around the quartiles: a few outliers would squeeze all others into one bar. */
const middleOf = (values: ReadonlyArray<number>): readonly [number, number] => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0
  const reach = 3 * (at(0.75) - at(0.25)) || Math.abs(at(0.5)) * 0.01 || 1
  const [low, high] = [Math.max(at(0), at(0.25) - reach), Math.min(at(1), at(0.75) + reach)]
  return low < high ? [low, high] : [low - reach / 2, high + reach / 2]
}

/** At most this many forecasts can be told apart in one drawing. */
const maxStrips = 24
const stripHeight = 12

/** Half-widths of the central 50 % and 90 % intervals of a normal distribution, in standard deviations. */
const half = 0.6745
const ninety = 1.6449

/** Each forecast as a line: its central 50 % and 90 % intervals, sorted by centre, with the outcome. */
const forecastStrips = (
  forecasts: ReadonlyArray<{ readonly centre: number; readonly spread: number }>,
  options: { readonly unit: string | null; readonly actual: number | null },
  t: Messages
): Html => {
  if (forecasts.length < 2) return null
  const { charts, forecastCount } = t.question
  const { actual, unit } = options
  const shown = forecasts.toSorted((a, b) => a.centre - b.centre).slice(0, maxStrips)
  const plot = plotOf(40 + stripHeight * shown.length)
  const [low, high] = middleOf(
    shown.flatMap(({ centre, spread }) => [centre - ninety * spread, centre, centre + ninety * spread])
  )
  const x = scaleLinear()
    .domain([Math.min(low, actual ?? low), Math.max(high, actual ?? high)])
    .nice(8)
    .range(rangeX(plot))
    .clamp(true)
  const named = (value: number) => `${plainNumber(value)}${unit === null ? "" : ` ${unit}`}`
  const held =
    actual === null
      ? 0
      : shown.filter(({ centre, spread }) => Math.abs(actual - centre) <= ninety * spread).length
  return chart({
    id: "forecasts",
    title: charts.each,
    summary: `${charts.eachSummary(countedIn(forecastCount, shown.length))}${actual === null ? "" : charts.hold(String(held), named(actual))}`,
    height: plot.height,
    drawing: html`${below(plot, x, 8, plainNumber)}
    ${shown.map(({ centre, spread }, row) => {
      const y = down(plot.top + stripHeight * (row + 0.5))
      const bar = (reach: number, kind: string) =>
        html`<line
          class=${kind}
          x1=${across(x(centre - reach * spread))}
          x2=${across(x(centre + reach * spread))}
          y1=${y}
          y2=${y}
        />`
      return html`${bar(ninety, "thin")} ${bar(half, "thick")}
        <circle class="dot" cx=${across(x(centre))} cy=${y} r="3" />`
    })}
    ${
      actual === null
        ? null
        : html`<line
            class="level"
            x1=${across(x(actual))}
            x2=${across(x(actual))}
            y1=${down(plot.top - 6)}
            y2=${down(plot.bottom)}
          />`
    }
    ${ground(plot)}`,
    keys: [
      [html`<line class="thin" x1="1" x2="27" y1="7" y2="7" />`, charts.likely("90 %")],
      [html`<line class="thick" x1="6" x2="22" y1="7" y2="7" />`, charts.likely("50 %")],
      ...(actual === null
        ? []
        : [
            [
              html`<line class="level" x1="14" x2="14" y1="0" y2="14" />`,
              charts.whatCame(named(actual))
            ] as const
          ])
    ],
    ...(forecasts.length > maxStrips && {
      note: charts.someDrawn(String(maxStrips), String(forecasts.length))
    }),
    t,
    numbers: {
      columns: [
        { title: charts.centre },
        { title: "5 %", isNumber: true },
        { title: "95 %", isNumber: true }
      ],
      rows: shown.map(({ centre, spread }) => [
        forecastOf(centre),
        forecastOf(centre - ninety * spread),
        forecastOf(centre + ninety * spread)
      ])
    }
  })
}

/** The average distribution of all forecasts as a histogram, with the published value, and each forecast below it. */
export const forecastChart = (
  answers: Answers,
  options: {
    readonly unit: string | null
    readonly actual: number | null
    /** The maximum of a count. */
    readonly max?: number
  },
  t = allMessages.en
): Html => {
  const { charts, forecastCount } = t.question
  const forecasts = answers.values.flatMap((each) =>
    each.predicted_value === null || each.predicted_std === null
      ? []
      : [distributionOf(each, each.predicted_value, each.predicted_std)]
  )
  if (forecasts.length === 0) return null
  const centres = forecasts.map(({ centre }) => centre)
  const { actual, unit } = options
  const plot = plotOf(220)
  const [low, high] = middleOf(
    forecasts.flatMap(({ centre, spread }) => [centre - 2 * spread, centre, centre + 2 * spread])
  )
  const scale = scaleLinear()
    .domain([Math.min(low, actual ?? low), Math.max(high, actual ?? high)])
    .nice(8)
  const edges =
    options.max === undefined
      ? scale.ticks(12)
      : Array.from({ length: options.max + 2 }, (_, index) => index - 0.5)
  const [first = 0, last = 1] = [edges.at(0), edges.at(-1)]
  const share = (value: number) => (value - first) / (last - first)
  const meanOf = (of: (forecast: (typeof forecasts)[number]) => number) =>
    forecasts.reduce((sum, forecast) => sum + of(forecast), 0) / forecasts.length
  const belowEdges = edges.map((edge) => meanOf(({ cdfBelow }) => cdfBelow(edge)))
  const above = 1 - meanOf(({ cdf }) => cdf(last))
  const countOf = (isWithin: (value: number) => boolean) => String(centres.filter(isWithin).length)
  const bins = edges.slice(1).map((edge, index) => ({
    from: edges[index] ?? first,
    to: edge,
    probability: (edge === last ? 1 - above : (belowEdges[index + 1] ?? 1)) - (belowEdges[index] ?? 0)
  }))
  // A count has one bar for each whole number.
  const isCount = options.max !== undefined
  const labelled = isCount ? edges.slice(1).map((edge) => edge - 0.5) : edges
  const binName = (from: number, to: number) =>
    isCount ? plainNumber((from + to) / 2) : t.range(plainNumber(from), plainNumber(to))
  const named = (value: number) => `${plainNumber(value)}${unit === null ? "" : ` ${unit}`}`
  const width = plot.right - plot.left
  const outside = percent((belowEdges[0] ?? 0) + above)
  const together = chart({
    id: "answers",
    title: charts.expected,
    summary: `${charts.expectedSummary(
      countedIn(forecastCount, centres.length),
      named(Math.min(...centres)),
      named(Math.max(...centres))
    )}${actual === null ? "" : charts.cameTo(named(actual))}`,
    height: plot.height,
    drawing: html`${bars(
      plot,
      bins.map(({ from, probability, to }) => ({
        from: share(from) + 0.003,
        to: share(to) - 0.003,
        count: percent(probability)
      })),
      {
        id: "answers",
        over: () =>
          actual === null
            ? null
            : ["clearing", "level"].map(
                (kind) =>
                  html`<line
                    class=${kind}
                    x1=${across(plot.left + width * share(actual))}
                    x2=${across(plot.left + width * share(actual))}
                    y1=${down(plot.top - 6)}
                    y2=${down(plot.bottom)}
                  />`
              )
      }
    )}
    ${labelled.map(
      (value, index) =>
        html`<text
          class=${index % 2 === 1 ? "tick second" : "tick"}
          x=${across(plot.left + width * share(value))}
          y=${down(plot.bottom + 19)}
          text-anchor=${value === last ? "end" : "middle"}
        >
          ${labelled.length > 8 && index % 2 === 1 ? null : plainNumber(value)}
        </text>`
    )}`,
    keys: [
      [html`<rect class="bar" x="4" y="1" width="20" height="12" />`, charts.inPercent],
      ...(actual === null
        ? []
        : [
            [
              html`<line class="level" x1="14" x2="14" y1="0" y2="14" />`,
              charts.whatCame(named(actual))
            ] as const
          ])
    ],
    t,
    note: html`${charts.meanOfAll} ${ofSome(answers, t)}
    ${outside === 0 ? null : charts.outside(`${outside} %`)}`,
    numbers: {
      columns: [
        { title: charts.value(unit) },
        { title: charts.probability, isNumber: true },
        { title: charts.centres, isNumber: true }
      ],
      rows: [
        [
          charts.below(plainNumber(first)),
          `${percent(belowEdges[0] ?? 0)} %`,
          countOf((value) => value < first)
        ],
        ...bins.map(({ from, probability, to }) => [
          binName(from, to),
          `${percent(probability)} %`,
          countOf((value) => value >= from && (value < to || (to === last && value === last)))
        ]),
        [charts.above(plainNumber(last)), `${percent(above)} %`, countOf((value) => value > last)]
      ]
    }
  })
  return html`${together} ${forecastStrips(forecasts, options, t)}`
}

/** The average probability of each category, beside the reference. */
export const categoryChart = (
  answers: Answers,
  categories: ReadonlyArray<{ readonly name: string; readonly probability: number }>,
  outcome: number | null,
  t = allMessages.en
): Html => {
  const { answerCount, charts } = t.question
  const vectors = answers.values.flatMap(({ probabilities }) =>
    probabilities === null ? [] : [probabilities]
  )
  if (vectors.length === 0) return null
  const groups = categories.map(({ name, probability }, place) => ({
    name,
    place,
    probability,
    mean: vectors.reduce((sum, vector) => sum + (vector[name] ?? 0), 0) / vectors.length
  }))
  const plot = plotOf(220)
  const width = plot.right - plot.left
  const all: ReadonlyArray<Bar> = groups.flatMap(({ mean, place, probability }) =>
    [mean, probability].map((share, which) => ({
      from: (place + 0.1 + which * 0.4) / groups.length,
      to: (place + 0.45 + which * 0.4) / groups.length,
      count: percent(share),
      kind: which === 0 && place === outcome ? ("marked" as const) : undefined
    }))
  )
  return chart({
    id: "answers",
    title: charts.categoryTitle,
    summary: charts.onAverage(
      countedIn(answerCount, vectors.length),
      groups.map(({ mean, name }) => `${name} ${percent(mean)} %`)
    ),
    height: plot.height,
    drawing: html`${bars(plot, all, { id: "answers" })}
    ${groups.map(
      ({ name, place }) =>
        html`<text
          class="label"
          x=${across(plot.left + (width * (place + 0.45)) / groups.length)}
          y=${down(plot.bottom + 19)}
          text-anchor="middle"
        >
          ${name}
        </text>`
    )}`,
    keys: outcome === null ? [] : [[markedSample("answers"), charts.came]],
    t,
    note: html`${charts.twoBars} ${ofSome(answers, t)}`,
    numbers: {
      columns: [
        { title: charts.category },
        { title: charts.mean, isNumber: true },
        { title: charts.reference, isNumber: true }
      ],
      rows: groups.map(({ mean, name, probability }) => [
        name,
        `${percent(mean)} %`,
        `${percent(probability)} %`
      ])
    }
  })
}

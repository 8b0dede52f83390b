/** Aligned text tables that fit the terminal. */
import { CliOutput } from "effect/cli"
import type { Leaderboard } from "../../src/services/Scoring.ts"

export interface Column<Row> {
  readonly title: string
  readonly of: (row: Row) => string | number | boolean | null
  /** The treatment on a narrow terminal: texts are cut or the column is dropped. Identifiers are kept. */
  readonly yields?: "cut" | "dropped"
}

const gap = "  "
const numeric = /^([-+]?\d+(\.\d+)?( ?%)?|-)$/
/** Columns are dropped before a text is cut below the first; no text is cut below the second. */
const readableWidth = 24
const minWidth = 12

// C0 controls break rows, and terminals take C1 controls for escape sequences.
// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

/** The text on one line, without control characters. */
export const printable = (text: string): string => text.replace(unprintable, " ")

const graphemes = new Intl.Segmenter()

const cutTo = (text: string, width: number): string => {
  if (CliOutput.displayWidth(text) <= width) return text
  let kept = ""
  for (const { segment } of graphemes.segment(text)) {
    if (CliOutput.displayWidth(kept + segment) > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

interface Laid {
  readonly title: string
  readonly cells: ReadonlyArray<string>
  readonly right: boolean
  readonly yields: "cut" | "dropped" | undefined
  readonly width: number
}

const lay = <Row>(column: Column<Row>, rows: ReadonlyArray<Row>): Laid => {
  const values = rows.map(column.of)
  const cells = values.map((value) => (value === null ? "-" : printable(String(value))))
  return {
    title: column.title,
    cells,
    right: cells.length > 0 && cells.every((cell) => numeric.test(cell)),
    yields: column.yields,
    width: Math.max(...[column.title, ...cells].map(CliOutput.displayWidth))
  }
}

const widthOf = (columns: ReadonlyArray<Laid>): number =>
  columns.reduce((sum, { width }) => sum + width + gap.length, -gap.length)

/** Cuts texts from the right, to at least `min`. */
const cutColumns = (columns: ReadonlyArray<Laid>, width: number, min: number): ReadonlyArray<Laid> => {
  let excess = widthOf(columns) - width
  return columns
    .toReversed()
    .map((column) => {
      const spare = column.yields === "cut" ? Math.max(0, column.width - min) : 0
      const taken = Math.max(0, Math.min(spare, excess))
      excess -= taken
      return { ...column, width: column.width - taken }
    })
    .toReversed()
}

/** Cuts texts while they stay readable, then drops columns from the right, then cuts further. */
const fit = (columns: ReadonlyArray<Laid>, width: number): ReadonlyArray<Laid> => {
  const cut = cutColumns(columns, width, readableWidth)
  if (widthOf(cut) <= width) return cut
  const dropped = columns.findLastIndex((column) => column.yields === "dropped")
  return dropped === -1 ? cutColumns(columns, width, minWidth) : fit(columns.toSpliced(dropped, 1), width)
}

const padded = (text: string, { right, width }: Laid): string => {
  const shown = cutTo(text, width)
  const space = " ".repeat(Math.max(0, width - CliOutput.displayWidth(shown)))
  return right ? space + shown : shown + space
}

/** A table has a heading and one line a row, with numbers on the right. Without a `width` nothing is cut. */
export const table = <Row>(
  rows: ReadonlyArray<Row>,
  columns: ReadonlyArray<Column<Row>>,
  width = Number.POSITIVE_INFINITY
): string => {
  const laid = fit(
    columns.map((column) => lay(column, rows)),
    width
  )
  const line = (textOf: (column: Laid) => string) =>
    laid
      .map((column) => padded(textOf(column), column))
      .join(gap)
      .trimEnd()
  return [
    line(({ title }) => title),
    ...rows.map((_, index) => line(({ cells }) => cells[index] ?? ""))
  ].join("\n")
}

/** A record has one line a field. */
export const record = (
  fields: ReadonlyArray<readonly [name: string, value: string | number | boolean | null]>
) => {
  const widest = Math.max(...fields.map(([name]) => name.length))
  return fields
    .map(([name, value]) => `${name.padEnd(widest)}${gap}${value === null ? "-" : printable(String(value))}`)
    .join("\n")
}

/** An instant in a column whose heading says UTC. */
export const moment = (instant: string | null): string | null =>
  instant === null ? null : instant.replace("T", " ").replace(/(\.\d+)?Z$/, "")

export const decimals = (value: number | null, places: number): string | null =>
  value === null ? null : value.toFixed(places)

/** An instant with its zone. */
export const utc = (instant: string | null): string | null =>
  instant === null ? null : `${moment(instant)} UTC`

/** A number with its noun. */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? "" : "s"}`

type LeaderboardRow = Leaderboard["items"][number]

const percent = (share: number | null): string | null =>
  share === null ? null : `${(share * 100).toFixed(1)} %`

export const leaderboardColumns: ReadonlyArray<Column<LeaderboardRow>> = [
  { title: "rank", of: ({ rank }) => rank },
  { title: "agent", of: ({ agent_name }) => agent_name, yields: "cut" },
  { title: "score", of: ({ avg_score }) => decimals(avg_score, 2) },
  {
    title: "95 % interval",
    of: ({ score_ci95 }) =>
      score_ci95 === null ? null : `${score_ci95[0].toFixed(2)} to ${score_ci95[1].toFixed(2)}`,
    yields: "dropped"
  },
  { title: "right", of: ({ accuracy_rate }) => percent(accuracy_rate) },
  { title: "scored", of: ({ prediction_count }) => prediction_count },
  { title: "Brier index", of: ({ brier_index }) => decimals(brier_index, 1), yields: "dropped" },
  { title: "status", of: ({ status }) => status, yields: "dropped" },
  { title: "agent_id", of: ({ agent_id }) => agent_id, yields: "dropped" }
]

export const skillColumns: ReadonlyArray<Column<LeaderboardRow>> = [
  { title: "rank", of: ({ rank }) => rank },
  { title: "agent", of: ({ agent_name }) => agent_name, yields: "cut" },
  { title: "skill", of: ({ skill }) => decimals(skill, 3) },
  { title: "days", of: ({ evidence }) => evidence?.days ?? null },
  {
    title: "mean daily score, 95 %",
    of: ({ evidence }) =>
      evidence === null
        ? null
        : `${evidence.score.toFixed(3)} (${evidence.sequence.map((bound) => bound.toFixed(3)).join(" to ")})`
  },
  {
    title: "e-value",
    of: ({ evidence, status }) => (status === "reference" ? null : (evidence?.e_value.toPrecision(3) ?? null))
  },
  {
    title: "beside the random walk",
    of: ({ evidence, needed, status }) => {
      if (status === "reference") return "a reference"
      if (evidence === null) return null
      if (evidence.told) return "better, and not by luck"
      if (evidence.sequence[1] < 0) return "worse, and that is not luck"
      return needed === null ? "nothing says so" : `cannot be told yet: about ${needed} more days`
    }
  }
]

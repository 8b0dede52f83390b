/** Aligned text tables that fit the terminal. */
import { CliOutput } from "effect/cli"

export interface Column<Row> {
  readonly title: string
  readonly of: (row: Row) => string | number | boolean | null
  /** How it yields when the terminal is too narrow: it is cut short, or left out. Identifiers do neither. */
  readonly yields?: "cut" | "dropped"
}

const gap = "  "
const numeric = /^([-+]?\d+(\.\d+)?( ?%)?|-)$/
/** Columns are dropped before a text is cut below the first, and no text is cut below the second. */
const readable = 24
const shortest = 12

// C0 controls would break the rows, and C1 controls reach terminals as escape sequences.
// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

/** A text in one line, without what a terminal would act on. */
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

/** Cuts what may be cut, the rightmost column first, to no less than `least`. */
const cutColumns = (columns: ReadonlyArray<Laid>, width: number, least: number): ReadonlyArray<Laid> => {
  let excess = widthOf(columns) - width
  return columns
    .toReversed()
    .map((column) => {
      const spare = column.yields === "cut" ? Math.max(0, column.width - least) : 0
      const taken = Math.max(0, Math.min(spare, excess))
      excess -= taken
      return { ...column, width: column.width - taken }
    })
    .toReversed()
}

/** Cuts texts while they stay readable; then drops columns, the rightmost first; then cuts further. */
const fit = (columns: ReadonlyArray<Laid>, width: number): ReadonlyArray<Laid> => {
  const cut = cutColumns(columns, width, readable)
  if (widthOf(cut) <= width) return cut
  const dropped = columns.findLastIndex((column) => column.yields === "dropped")
  return dropped === -1 ? cutColumns(columns, width, shortest) : fit(columns.toSpliced(dropped, 1), width)
}

const padded = (text: string, { right, width }: Laid): string => {
  const shown = cutTo(text, width)
  const space = " ".repeat(Math.max(0, width - CliOutput.displayWidth(shown)))
  return right ? space + shown : shown + space
}

/** A heading and a line for each row; numbers stand to the right. Without a `width` nothing is left out. */
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

/** One thing, a line for each of its fields. */
export const record = (
  fields: ReadonlyArray<readonly [name: string, value: string | number | boolean | null]>
) => {
  const widest = Math.max(...fields.map(([name]) => name.length))
  return fields
    .map(([name, value]) => `${name.padEnd(widest)}${gap}${value === null ? "-" : printable(String(value))}`)
    .join("\n")
}

/** An instant as a table shows it, in UTC. */
export const moment = (instant: string | null): string | null =>
  instant === null ? null : instant.replace("T", " ").replace(/(\.\d+)?Z$/, "")

/** A figure with so many decimals. */
export const decimals = (value: number | null, places: number): string | null =>
  value === null ? null : value.toFixed(places)

/** An instant in a text, where no heading says that it is UTC. */
export const utc = (instant: string | null): string | null =>
  instant === null ? null : `${moment(instant)} UTC`

/** A number of things, as people count them. */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? "" : "s"}`

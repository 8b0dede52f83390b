/** The report of a scenario, and its printed form: tables, and each ratio beside its aim. */
import type { Machine } from "./machine/describe.ts"
import { medianOf } from "./measurement.ts"
import type { Case } from "./measurement.ts"

type Row = ReadonlyArray<string>

export interface Aim {
  readonly what: string
  /** null if a contender was omitted. */
  readonly ratio: number | null
  readonly bound: "at least" | "at most"
  readonly aim: number
}

export const atLeast = (aim: number, what: string, ratio: number | null): Aim => ({
  what,
  ratio,
  bound: "at least",
  aim
})
export const atMost = (aim: number, what: string, ratio: number | null): Aim => ({
  ...atLeast(aim, what, ratio),
  bound: "at most"
})

export interface Result {
  readonly scenario: string
  /** The first row of each table names its columns. */
  readonly tables: ReadonlyArray<ReadonlyArray<Row>>
  readonly aims: ReadonlyArray<Aim>
  readonly remarks: ReadonlyArray<string>
  /** All measurements, for `--json`. */
  readonly measured: unknown
}

export const fixed = (value: number | null, digits: number) =>
  value === null || Number.isNaN(value) ? "-" : value.toFixed(digits)

/** A table with columns as wide as their widest cell and numbers on the right. */
export const table = (rows: ReadonlyArray<Row>): string => {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const cellOf = (cell: string, column: number) => {
    const width = widths[column] ?? 0
    return column === 0 ? cell.padEnd(width) : cell.padStart(width)
  }
  return rows.map((row) => row.map(cellOf).join("  ").trimEnd()).join("\n")
}

const columns = [
  ["req/s", "perSecond", 0],
  ["p50 ms", "p50", 2],
  ["p99 ms", "p99", 1],
  ["first byte ms", "firstByte", 2],
  ["CPU us: server", "serverMicros", 0],
  ["postgres", "postgresMicros", 0]
] as const

/** One line for each contender, with medians over the rounds. */
export const casesTable = (cases: ReadonlyArray<Case>): ReadonlyArray<Row> => [
  ["load, connections", "contender", ...columns.map(([name]) => name)],
  ...cases.flatMap(({ connections, load, rounds }) =>
    Object.entries(rounds).map(([contender, measured]) => [
      `${load}, ${connections}`,
      contender,
      ...columns.map(([, figure, digits]) => fixed(medianOf(measured, figure), digits))
    ])
  )
]

const verdict = ({ aim, bound, ratio }: Aim): string => {
  if (ratio === null) return "not measured"
  const isMet = bound === "at least" ? ratio >= aim : ratio <= aim
  return isMet ? "met" : "MISSED"
}

export const aimsTable = (results: ReadonlyArray<Result>): string =>
  table([
    ["ratio", "measured", "aim", ""],
    ...results.flatMap(({ aims }) =>
      aims.map((each) => [each.what, fixed(each.ratio, 2), `${each.bound} ${each.aim}`, verdict(each)])
    )
  ])

export const resultText = ({ remarks, scenario, tables }: Result): string =>
  [`\n${scenario}`, ...tables.map(table), ...remarks].join("\n")

export const machineLines = (machine: Machine): string =>
  [
    `${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB, ${machine.system}, load before ${machine.loadBefore.toFixed(1)}`,
    `Node ${machine.node}, source ${machine.revision}`,
    `PostgreSQL: ${Object.entries(machine.postgres)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ")}`
  ].join("\n")

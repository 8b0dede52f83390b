/** A monthly series to forecast: read from a file, and turned into the figure that is published of it. */
import { Effect, FileSystem } from "effect"
import { CommandFailed } from "../client/connection.ts"

/** The change of the index over a year in percent, to the one decimal that is published. */
export interface Month {
  readonly month: string
  readonly value: number
}

export interface Series {
  readonly index: ReadonlyArray<{ readonly month: string; readonly index: number }>
  readonly months: ReadonlyArray<Month>
}

const line = /^(\d{4}-(?:0[1-9]|1[0-2])),(\d+(?:\.\d+)?)$/

const oneDecimal = (value: number): number => Math.round(value * 10) / 10

const following = (month: string): string => {
  const [year = 0, number = 0] = month.split("-").map(Number)
  return number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, "0")}`
}

/** CSV with the header `month,index`, a line for each month, none missing. */
export const seriesOf = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(file)
    .pipe(Effect.mapError(() => new CommandFailed({ message: `${file} cannot be read.` })))
  const [header = "", ...lines] = text.trim().split(/\r?\n/)
  if (header.trim() !== "month,index") {
    return yield* new CommandFailed({ message: `${file} does not begin with the line month,index.` })
  }
  const index: Array<{ readonly month: string; readonly index: number }> = []
  for (const [position, each] of lines.entries()) {
    const [, month, level] = line.exec(each.trim()) ?? []
    const previous = index.at(-1)
    const isNext = previous === undefined || month === following(previous.month)
    if (month === undefined || level === undefined || Number(level) <= 0 || !isNext) {
      return yield* new CommandFailed({
        message: `${file}, line ${position + 2}: expected ${previous === undefined ? "a month" : following(previous.month)} and an index above 0, such as 2020-01,257.971.`
      })
    }
    index.push({ month, index: Number(level) })
  }
  const months = index.flatMap(({ index: level, month }, position): ReadonlyArray<Month> => {
    const before = index[position - 12]
    return before === undefined ? [] : [{ month, value: oneDecimal((level / before.index - 1) * 100) }]
  })
  return { index, months }
})

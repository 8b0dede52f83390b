/** Files of prices: CSV with a header, or the API's JSON. Numbers are sent exactly as read. */
import { DateTime, Effect, FileSystem, Option, Schema } from "effect"
import { Candle, Quote } from "../../src/services/Prices.ts"
import { numberIn } from "../../src/services/domain/numbers.ts"
import { CommandFailed } from "./connection.ts"
import { problemsOf } from "./failures.ts"

/** `asset` and `interval` are present if the file names them. */
export type PriceFile = { readonly asset?: string; readonly interval?: "1h" | "1d" } & (
  | { readonly candles: ReadonlyArray<Candle> }
  | { readonly quotes: ReadonlyArray<Quote> }
)

const Asset = Schema.optionalKey(Schema.String)
const PriceDocument = Schema.Union([
  Schema.Struct({
    asset: Asset,
    interval: Schema.optionalKey(Schema.Literals(["1h", "1d"])),
    candles: Schema.Array(Candle)
  }),
  Schema.Struct({ asset: Asset, quotes: Schema.Array(Quote) })
])

const decodeDocument = Schema.decodeUnknownEffect(Schema.fromJsonString(PriceDocument))
const decodeCandle = Schema.decodeUnknownEffect(Candle)
const decodeQuote = Schema.decodeUnknownEffect(Quote)

interface Line {
  readonly number: number
  readonly cell: (column: string) => string
}

const cellsOf = (line: string): ReadonlyArray<string> =>
  line.split(",").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"))

const linesOf = (text: string): { readonly header: ReadonlyArray<string>; readonly lines: Array<Line> } => {
  const [first = "", ...rest] = text.replace(/^\uFEFF/, "").split(/\r?\n/)
  const header = cellsOf(first).map((name) => name.toLowerCase())
  const lines = rest.flatMap((line, index): Array<Line> => {
    if (line.trim() === "") return []
    const cells = cellsOf(line)
    return [{ number: index + 2, cell: (column) => cells[header.indexOf(column)] ?? "" }]
  })
  return { header, lines }
}

/** A number, or the text itself, which the schema rejects. */
const priceIn = (text: string): number | string => Option.getOrElse(numberIn(text), () => text)

const day = /^\d{4}-\d{2}-\d{2}$/

/** The first instant of a UTC day; the schema rejects anything else. */
const startOf = (date: string): string => (day.test(date) ? `${date}T00:00:00Z` : date)

/** The end of a UTC day, at which its close is known. */
const endOf = (date: string): string => {
  const start = DateTime.make(startOf(date))
  return Option.isNone(start) ? date : DateTime.formatIso(DateTime.add(start.value, { days: 1 }))
}

const prices = ["open", "high", "low", "close"] as const

const candleOf = ({ cell }: Line, time: string) => ({
  time,
  ...Object.fromEntries(prices.map((name) => [name, priceIn(cell(name))]))
})

const each = <A>(
  file: string,
  lines: ReadonlyArray<Line>,
  decode: (line: Line) => Effect.Effect<A, Schema.SchemaError>
): Effect.Effect<ReadonlyArray<A>, CommandFailed> =>
  Effect.forEach(lines, (line) =>
    decode(line).pipe(
      Effect.mapError(
        (error) => new CommandFailed({ message: `${file}, line ${line.number}: ${problemsOf(error)}` })
      )
    )
  )

const fromCsv = Effect.fnUntraced(function* (file: string, text: string) {
  const { header, lines } = linesOf(text)
  const has = (...columns: ReadonlyArray<string>) => columns.every((column) => header.includes(column))
  if (has("time", ...prices)) {
    return { candles: yield* each(file, lines, (line) => decodeCandle(candleOf(line, line.cell("time")))) }
  }
  if (has("date", ...prices)) {
    const candles = each(file, lines, (line) => decodeCandle(candleOf(line, startOf(line.cell("date")))))
    return { interval: "1d" as const, candles: yield* candles }
  }
  const [time, price] = has("time", "price") ? ["time", "price"] : ["date", "close"]
  if (!has(time, price)) {
    return yield* new CommandFailed({
      message: `${file}: expected a header with time,open,high,low,close or date,open,high,low,close (candles), time,price (quotes) or date,close (daily closes), got "${header.join(",").slice(0, 100)}".`
    })
  }
  const timeOf = (text: string) => (time === "date" ? endOf(text) : text)
  return {
    quotes: yield* each(file, lines, ({ cell }) =>
      decodeQuote({ time: timeOf(cell(time)), price: priceIn(cell(price)) })
    )
  }
})

const fromJson = (file: string, text: string) =>
  decodeDocument(text).pipe(
    Effect.mapError((error) => new CommandFailed({ message: `${file}: ${problemsOf(error)}` }))
  )

export const readText = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFileString(file).pipe(
    Effect.mapError((error) => {
      const why = error.reason._tag === "NotFound" ? "there is no such file" : error.reason._tag
      return new CommandFailed({ message: `${file} cannot be read: ${why}.` })
    })
  )
})

/** Reads candles or quotes, in the order of the file. A file of daily closes has a quote at the end of each day. */
export const readPrices = Effect.fnUntraced(function* (file: string) {
  const text = yield* readText(file)
  const read: PriceFile = yield* /\.json$/i.test(file) ? fromJson(file, text) : fromCsv(file, text)
  const count = "candles" in read ? read.candles.length : read.quotes.length
  if (count === 0) return yield* new CommandFailed({ message: `${file} holds no prices.` })
  return read
})

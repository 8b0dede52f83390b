import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ImportReport, PriceImport, QuarantinedPrice } from "../../src/services/Prices.ts"
import { CommandFailed } from "../client/connection.ts"
import { readPrices } from "../client/priceFile.ts"
import type { PriceFile } from "../client/priceFile.ts"
import { moment, printable } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session, pageFlags, pageQueryOf } from "./session.ts"

/** The size is well below the maximum of a request, so that progress shows on slow lines. */
const chunkSize = 5000

const chunksOf = <Item>(items: ReadonlyArray<Item>): ReadonlyArray<ReadonlyArray<Item>> =>
  Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, index) =>
    items.slice(index * chunkSize, (index + 1) * chunkSize)
  )

const missing = (flag: string, what: string) =>
  new CommandFailed({ message: `${flag} is needed: the file does not say ${what}.` })

const importsOf = Effect.fnUntraced(function* (
  read: PriceFile,
  flags: { readonly asset: Option.Option<string>; readonly interval: Option.Option<"1h" | "1d"> }
): Effect.fn.Return<ReadonlyArray<PriceImport>, CommandFailed> {
  const asset = Option.getOrUndefined(flags.asset) ?? read.asset
  if (asset === undefined) return yield* missing("--asset", "what it prices")
  if ("quotes" in read) return chunksOf(read.quotes).map((quotes) => ({ asset, quotes }))
  const interval = Option.getOrUndefined(flags.interval) ?? read.interval
  if (interval === undefined) return yield* missing("--interval 1h or 1d", "how long its candles are")
  return chunksOf(read.candles).map((candles) => ({ asset, interval, candles }))
})

const sizeOf = (prices: PriceImport): number =>
  "candles" in prices ? prices.candles.length : prices.quotes.length

const quarantineColumns: ReadonlyArray<Column<QuarantinedPrice>> = [
  { title: "id", of: ({ id }) => id },
  { title: "asset", of: ({ asset }) => asset },
  { title: "interval", of: ({ interval }) => interval },
  { title: "time (UTC)", of: ({ time }) => moment(time) },
  { title: "stored", of: ({ stored_close }) => stored_close },
  { title: "offered", of: ({ offered_close }) => offered_close },
  { title: "received (UTC)", of: ({ received_at }) => moment(received_at), yields: "dropped" }
]

const summed = (reports: ReadonlyArray<ImportReport>, asset: string): ImportReport => ({
  asset,
  inserted: reports.reduce((sum, { inserted }) => sum + inserted, 0),
  unchanged: reports.reduce((sum, { unchanged }) => sum + unchanged, 0),
  quarantined: reports.flatMap(({ quarantined }) => quarantined)
})

const importPrices = Command.make(
  "import",
  {
    file: Argument.String("FILE").pipe(Argument.withDescription("A .csv or .json file of candles or quotes")),
    asset: Flag.String("asset").pipe(
      Flag.withDescription("The target's key, for example ETH"),
      Flag.optional
    ),
    interval: Flag.Literals("interval", ["1h", "1d"]).pipe(
      Flag.withDescription("The length of the file's candles"),
      Flag.optional
    )
  },
  Effect.fn("prices.import")(function* ({ asset, file, interval }) {
    const session = yield* Session
    const imports = yield* importsOf(yield* readPrices(file), { asset, interval })
    const client = yield* session.administrator
    const all = imports.reduce((sum, prices) => sum + sizeOf(prices), 0)
    let sent = 0
    const reports: Array<ImportReport> = []
    for (const payload of imports) {
      reports.push(yield* client.admin.importPrices({ payload }))
      sent += sizeOf(payload)
      if (imports.length > 1) yield* Console.error(`${sent} of ${all} points sent`)
    }
    yield* session.show(summed(reports, imports[0]?.asset ?? ""), (report) => {
      const counts = `${report.asset}: ${report.inserted} inserted, ${report.unchanged} known already, ${report.quarantined.length} kept aside`
      if (report.quarantined.length === 0) return counts
      return `${counts} because they contradict stored prices:\n\n${session.fitted(report.quarantined, quarantineColumns)}\n\nDecide each with: npm run admin -- prices decide ID --accept --reason "..." (or --reject)`
    })
  })
).pipe(
  Command.withDescription(
    "Import candles (time,open,high,low,close with the open time), quotes (time,price), or daily closes (date,close), which become quotes at the end of the UTC day. A price that contradicts a stored one is kept aside."
  ),
  Command.withExamples([
    {
      command: "npm run admin -- prices import eth.csv --asset ETH --interval 1h",
      description: "Hourly candles"
    },
    { command: "npm run admin -- prices import cl.csv --asset CL", description: "Daily closes" }
  ])
)

const showQuarantine = Effect.fn("prices.quarantine")(function* (flags: Parameters<typeof pageQueryOf>[0]) {
  const session = yield* Session
  const client = yield* session.administrator
  const page = yield* client.admin.quarantine({ query: pageQueryOf(flags) })
  yield* session.showPage(page, quarantineColumns, "No price waits for a decision.")
})

const quarantine = Command.make("quarantine", {}, () =>
  showQuarantine({ limit: Option.none(), cursor: Option.none() })
).pipe(
  Command.withSubcommands([
    Command.make("list", pageFlags, showQuarantine).pipe(
      Command.withDescription("Prices that contradict stored ones, oldest first")
    )
  ]),
  Command.withDescription("Prices that await a decision")
)

const decide = Command.make(
  "decide",
  {
    id: Argument.String("ID"),
    accept: Flag.Boolean("accept").pipe(
      Flag.withDescription("The offered price is right"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    ),
    reject: Flag.Boolean("reject").pipe(
      Flag.withDescription("The stored price is right"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    ),
    reason: Flag.String("reason").pipe(Flag.withDescription("The reason; kept for ever"))
  },
  Effect.fn("prices.decide")(function* ({ accept, id, reason, reject }) {
    if (accept === reject) {
      return yield* new CommandFailed({ message: "Say either --accept or --reject." })
    }
    const session = yield* Session
    const client = yield* session.administrator
    const decided = yield* client.admin.decideQuarantined({ params: { id }, payload: { accept, reason } })
    yield* session.show(
      decided,
      (price) =>
        `${price.asset} at ${moment(price.time) ?? ""}: ${price.decision ?? ""} ${price.offered_close} (stored was ${price.stored_close}). ${printable(reason)}`
    )
  })
).pipe(Command.withDescription("Accept or reject a price kept aside, once"))

export const prices = Command.make("prices").pipe(
  Command.withSubcommands([importPrices, quarantine, decide]),
  Command.withDescription("Import prices, and decide on those that contradict one another")
)

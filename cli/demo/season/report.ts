/** What a season came to: challenges by type, the leaderboard, and the checks that nothing of it is amiss. */
import { Console, Effect } from "effect"
import { creditsOf } from "../../../src/services/Credits.ts"
import type { ApiClient } from "../../client/connection.ts"
import { standingColumns } from "../../client/standings.ts"
import { table } from "../../client/table.ts"
import type { Column } from "../../client/table.ts"

interface Counted {
  readonly what: string
  readonly made: number
  readonly settled: number
  readonly ended: number
  readonly predictions: number
}

interface Listed {
  readonly status: string
  readonly prediction_count: number
}

const columns: ReadonlyArray<Column<Counted>> = [
  { title: "challenges", of: ({ what }) => what },
  { title: "made", of: ({ made }) => made },
  { title: "settled", of: ({ settled }) => settled },
  { title: "cancelled or void", of: ({ ended }) => ended },
  { title: "still to come", of: ({ ended, made, settled }) => made - settled - ended },
  { title: "predictions", of: ({ predictions }) => predictions }
]

const counted = (what: string, listed: ReadonlyArray<Listed>): Counted => ({
  what,
  made: listed.length,
  settled: listed.filter(({ status }) => status === "resolved").length,
  ended: listed.filter(({ status }) => status === "cancelled" || status === "void").length,
  predictions: listed.reduce((sum, { prediction_count }) => sum + prediction_count, 0)
})

interface Asked {
  readonly limit: number
  readonly cursor?: string
}

const everyPage = Effect.fnUntraced(function* <Item, E>(
  read: (
    page: Asked
  ) => Effect.Effect<{ readonly items: ReadonlyArray<Item>; readonly next_cursor: string | null }, E>
) {
  const all: Array<Item> = []
  let page: Asked | undefined = { limit: 200 }
  while (page !== undefined) {
    const { items, next_cursor }: { items: ReadonlyArray<Item>; next_cursor: string | null } =
      yield* read(page)
    all.push(...items)
    page = next_cursor === null ? undefined : { limit: 200, cursor: next_cursor }
  }
  return all
})

/** What was made, by kind. */
export const countsOf = Effect.fnUntraced(function* (anyone: ApiClient) {
  const directional = yield* everyPage((query) => anyone.public.challenges({ query }))
  const events = yield* everyPage((page) => anyone.public.priceEvents({ query: { ...page, status: "all" } }))
  const macro = yield* everyPage((page) =>
    Effect.map(
      anyone.public.macroChallenges({ query: { ...page, status: "all" } }),
      ({ challenges, next_cursor }) => ({ items: challenges, next_cursor })
    )
  )
  const ofKind = (kind: string) => [...directional, ...events].filter((each) => each.kind === kind)
  const kinds = ["session", "flash", "numeric_close", "count_days", "threshold", "barrier"]
  return [...kinds.map((kind) => counted(kind, ofKind(kind))), counted("macro", macro)]
})

/** Whatever is not as it must be, in the ledger, the figures and the public log. */
const checked = Effect.fnUntraced(function* (administrator: ApiClient) {
  const ledger = yield* administrator.admin.checkLedger()
  const figures = yield* administrator.admin.checkFigures()
  const log = yield* administrator.admin.auditLog()
  yield* Console.log(
    [
      `Ledger:  ${ledger.transfers} transfers of ${ledger.accounts} accounts; ${ledger.pools_settled} pools settled, ${creditsOf(ledger.rewards)} credits of rewards paid; ${ledger.differences.length} differences.`,
      `Figures: those of ${figures.agents} agents equal a recomputation from their scores; ${figures.differences.length} differences.`,
      `Log:     ${log.entries} entries, ${log.challenges} challenges, ${log.predictions} predictions and ${log.settlements} settlements compared; ${log.difference_count} differences.`
    ].join("\n")
  )
  return [...ledger.differences, ...figures.differences, ...log.differences]
})

export const reportSeason = Effect.fn("demo.season.report")(function* (
  anyone: ApiClient,
  administrator: ApiClient
) {
  yield* Console.log(`\n${table(yield* countsOf(anyone), columns)}`)
  const board = yield* anyone.public.leaderboard({ query: {} })
  const shown = standingColumns.filter(({ title }) => title !== "agent_id")
  yield* Console.log(
    `\nLeaderboard (a rank needs an operator's claim and ${board.min_count} scored predictions):\n\n${table(board.items, shown)}\n`
  )
  return yield* checked(administrator)
})

/** Credit that owners buy. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { creditsOf } from "../../src/services/Credits.ts"
import { moneyText } from "../../src/services/Payments.ts"
import type { Purchase } from "../../src/services/Payments.ts"
import { moment } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { pageFlags, pageQueryOf, Session } from "./session.ts"

/** What is more than a payment that went well: refunds, disputes, and payments that did not fit. */
const remarks = ({ events, taken_back }: Purchase): string =>
  [
    ...events.filter(({ outcome }) => outcome === "mismatch").map(() => "mismatch"),
    ...events.filter(({ kind }) => /^(refunded|dispute)/.test(kind)).map(({ kind }) => kind),
    ...(taken_back > 0n ? [`${creditsOf(taken_back)} taken back`] : [])
  ].join(", ")

const columns: ReadonlyArray<Column<Purchase>> = [
  { title: "begun (UTC)", of: ({ created_at }) => moment(created_at) },
  { title: "owner_id", of: ({ owner_id }) => owner_id },
  { title: "credits", of: ({ credits }) => creditsOf(credits) },
  { title: "price", of: ({ amount, currency }) => moneyText({ amount, currency }) },
  { title: "state", of: ({ state }) => state },
  { title: "remarks", of: remarks, yields: "cut" },
  { title: "payment", of: ({ payment_id }) => payment_id ?? "", yields: "dropped" },
  { title: "purchase_id", of: ({ purchase_id }) => purchase_id, yields: "dropped" }
]

const list = Command.make(
  "list",
  pageFlags,
  Effect.fn("purchases.list")(function* (flags) {
    const session = yield* Session
    const client = yield* session.administrator
    const page = yield* client.admin.purchases({ query: pageQueryOf(flags) })
    yield* session.showPage(page, columns, "Nobody has set out to buy credit.")
  })
).pipe(Command.withDescription("What owners set out to buy, newest first, with refunds and disputes"))

export const purchases = Command.make("purchases").pipe(
  Command.withSubcommands([list]),
  Command.withDescription("Credit that owners buy")
)

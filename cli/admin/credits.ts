/** Grants, purchases, and the check of the ledger. */
import { Effect, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { LedgerCheck } from "../../src/services/Audit.ts"
import { Grant, NewGrant, creditsOf } from "../../src/services/Credits.ts"
import { moneyText } from "../../src/services/Payments.ts"
import type { Purchase } from "../../src/services/Payments.ts"
import { CommandFailed } from "../client/connection.ts"
import { problemsOf } from "../client/failures.ts"
import { counted, moment, record, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session, pageFlags, pageQueryOf } from "./session.ts"

export const grantFlags = {
  amount: Argument.Finite("AMOUNT").pipe(Argument.withDescription("Credits, with at most 6 decimals")),
  reason: Flag.String("reason").pipe(Flag.withDescription("The reason, which the receiver sees")),
  key: Flag.String("key").pipe(
    Flag.withDescription("The grant's key: a second request with the same key grants nothing more")
  )
}

const decodeGrant = Schema.decodeUnknownEffect(NewGrant, { errors: "all" })

/** Validates like the server before anything is sent. */
export const newGrant = ({ amount, key, reason }: { amount: number; key: string; reason: string }) =>
  decodeGrant({ amount, reason, idempotency_key: key }).pipe(
    Effect.mapError((error) => new CommandFailed({ message: problemsOf(error) }))
  )

const encodeGrant = Schema.encodeSync(Grant)
const encodeCheck = Schema.encodeSync(LedgerCheck)

export const printGrant = Effect.fnUntraced(function* <E, R>(sent: Effect.Effect<Grant, E, R>) {
  const session = yield* Session
  yield* session.show(encodeGrant(yield* sent), ({ account, amount, created_at, id, reason }) =>
    record([
      ["id", id],
      ["account", account],
      ["amount", amount],
      ["reason", reason],
      ["given", utc(created_at)]
    ])
  )
})

const check = Command.make(
  "check",
  {},
  Effect.fn("ledger.check")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    const checked = encodeCheck(yield* client.admin.checkLedger())
    yield* session.show(checked, ({ differences, ...totals }) =>
      [
        record(Object.entries(totals).map(([name, value]) => [name.replaceAll("_", " "), value] as const)),
        "",
        differences.length === 0 ? "Everything holds." : `${counted(differences.length, "difference")}:`,
        ...differences.map((difference) => `  ${difference}`)
      ].join("\n")
    )
    if (checked.differences.length > 0) {
      return yield* new CommandFailed({ message: "The ledger violates an invariant: see above." })
    }
  })
).pipe(
  Command.withDescription(
    "Check every invariant of the ledger at one moment, and show where the credit is; exits with 1 if one fails"
  )
)

export const ledger = Command.make("ledger").pipe(
  Command.withSubcommands([check]),
  Command.withDescription("The credit ledger")
)

/** The refunds, disputes, and mismatched payments of a purchase. */
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
).pipe(Command.withDescription("Purchases that owners began, newest first, with refunds and disputes"))

export const purchases = Command.make("purchases").pipe(
  Command.withSubcommands([list]),
  Command.withDescription("Credit that owners buy")
)

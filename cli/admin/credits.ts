/** Credit that administrators give, and the proof of the ledger. */
import { Effect, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Grant, LedgerCheck, NewGrant } from "../../src/services/Credits.ts"
import { CommandFailed } from "../client/connection.ts"
import { problemsOf } from "../client/failures.ts"
import { counted, record, utc } from "../client/table.ts"
import { Session } from "./session.ts"

export const grantFlags = {
  amount: Argument.Finite("AMOUNT").pipe(Argument.withDescription("Credits, with at most 6 decimals")),
  reason: Flag.String("reason").pipe(Flag.withDescription("What for; the receiver sees it")),
  key: Flag.String("key").pipe(
    Flag.withDescription("What makes this grant one: sent again with the same key, it gives nothing more")
  )
}

const decodeGrant = Schema.decodeUnknownEffect(NewGrant, { errors: "all" })

/** Checked here as the server checks it: whatever is wrong is named before anything is sent. */
export const newGrant = ({ amount, key, reason }: { amount: number; key: string; reason: string }) =>
  decodeGrant({ amount, reason, idempotency_key: key }).pipe(
    Effect.mapError((error) => new CommandFailed({ message: problemsOf(error) }))
  )

const encodeGrant = Schema.encodeSync(Grant)
const encodeCheck = Schema.encodeSync(LedgerCheck)

/** Sends a grant, and shows it. */
export const shownGrant = Effect.fnUntraced(function* <E, R>(sent: Effect.Effect<Grant, E, R>) {
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
    yield* session.show(checked, ({ differences, ...figures }) =>
      [
        record(Object.entries(figures).map(([name, figure]) => [name.replaceAll("_", " "), figure] as const)),
        "",
        differences.length === 0 ? "Everything holds." : `${counted(differences.length, "difference")}:`,
        ...differences.map((difference) => `  ${difference}`)
      ].join("\n")
    )
    if (checked.differences.length > 0) {
      return yield* new CommandFailed({ message: "The ledger is not as it must be: see above." })
    }
  })
).pipe(
  Command.withDescription(
    "Prove every invariant of the ledger at one moment, and say how much credit is where; exits with 1 when one fails"
  )
)

export const ledger = Command.make("ledger").pipe(
  Command.withSubcommands([check]),
  Command.withDescription("The credit ledger")
)

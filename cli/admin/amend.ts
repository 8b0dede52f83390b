/** Correcting what a settled challenge was decided by. */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Amendment, SettledChallenge } from "../../src/services/Amendments.ts"
import { moment, record } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session } from "./session.ts"

const columns: ReadonlyArray<Column<SettledChallenge["versions"][number]>> = [
  { title: "version", of: ({ version }) => version },
  { title: "settled (UTC)", of: ({ settled_at }) => moment(settled_at) },
  { title: "result", of: ({ result }) => result },
  { title: "value", of: ({ actual_value, close_price }) => close_price ?? actual_value },
  { title: "source", of: ({ source }) => source, yields: "dropped" },
  { title: "reason", of: ({ reason }) => reason, yields: "cut" }
]

const amend = Effect.fnUntraced(function* (challenge_id: string, payload: Amendment) {
  const session = yield* Session
  const client = yield* session.administrator
  const amended = yield* client.admin.amendChallenge({ params: { challenge_id }, payload })
  yield* session.show(amended, ({ question, versions, ...challenge }) =>
    [
      record([
        ["id", challenge.challenge_id],
        ["question", question],
        challenge.result === null ? ["published value", challenge.actual_value] : ["result", challenge.result]
      ]),
      "",
      session.fitted(versions, columns)
    ].join("\n")
  )
})

const id = Argument.String("ID")
const reason = Flag.String("reason").pipe(Flag.withDescription("Shown to everybody, for ever"))

export const amendDirectional = Command.make(
  "amend",
  {
    id,
    closePrice: Flag.Finite("close-price").pipe(Flag.withDescription("What it is decided by instead")),
    reason
  },
  Effect.fn("challenges.amend")(function* ({ closePrice, id: challenge_id, reason: why }) {
    yield* amend(challenge_id, { close_price: closePrice, reason: why })
  })
).pipe(
  Command.withDescription("Correct the price that a settled challenge was decided by: it is scored anew"),
  Command.withExamples([
    {
      command: 'npm run admin -- challenges amend ID --close-price 2031 --reason "The exchange corrected it"'
    }
  ])
)

export const amendMacro = Command.make(
  "amend",
  {
    id,
    value: Flag.Finite("value").pipe(
      Flag.withDescription("What it is decided by instead; below zero as --value=-0.1")
    ),
    reason
  },
  Effect.fn("macro.amend")(function* ({ id: challenge_id, reason: why, value }) {
    yield* amend(challenge_id, { actual_value: value, reason: why })
  })
).pipe(
  Command.withDescription(
    "Correct the value that a challenge was settled by: it is scored anew; no credit moves"
  ),
  Command.withExamples([
    { command: 'npm run admin -- macro amend ID --value 3.2 --reason "The office corrected its own figure"' }
  ])
)

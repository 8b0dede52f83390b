/** First prints that a source shows, and taking them. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import type { MacroProposal } from "../../src/services/MacroProposals.ts"
import { CommandFailed } from "../client/connection.ts"
import { moment } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { confirm, details } from "./macroResolution.ts"
import { Session } from "./session.ts"

const columns: ReadonlyArray<Column<MacroProposal>> = [
  { title: "challenge", of: ({ challenge_id }) => challenge_id },
  { title: "asset", of: ({ asset }) => asset },
  { title: "period", of: ({ period }) => period },
  { title: "value", of: ({ value }) => value },
  { title: "unit", of: ({ unit }) => unit, yields: "dropped" },
  { title: "released", of: ({ released_on }) => released_on },
  { title: "source", of: ({ source }) => source },
  { title: "fetched (UTC)", of: ({ fetched_at }) => moment(fetched_at), yields: "dropped" }
]

const list = Command.make(
  "list",
  {},
  Effect.fn("macro.proposals")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    const { items } = yield* client.admin.macroProposals()
    yield* session.showPage(
      { items, next_cursor: null },
      columns,
      "No first print waits for an administrator."
    )
  })
).pipe(Command.withDescription("First prints found for challenges that wait for their value, oldest first"))

const accept = Command.make(
  "accept",
  { id: Argument.String("ID").pipe(Argument.withDescription("Of the challenge")), confirm },
  Effect.fn("macro.accept")(function* ({ confirm, id: challenge_id }) {
    const session = yield* Session
    const client = yield* session.administrator
    const { items } = yield* client.admin.macroProposals()
    const proposal = items.find((each) => each.challenge_id === challenge_id.toLowerCase())
    if (proposal === undefined) {
      return yield* new CommandFailed({
        message: `Nothing is proposed for ${challenge_id}: see npm run admin -- macro proposals list.`
      })
    }
    const resolved = yield* client.admin.resolveMacroChallenge({
      params: { challenge_id },
      payload: { actual_value: proposal.value, confirm }
    })
    yield* session.show(resolved, details)
  })
).pipe(
  Command.withDescription(
    "Settle a challenge by its proposed value; instead of one that is wrong, resolve it by the right one, or void it"
  )
)

export const proposals = Command.make("proposals").pipe(
  Command.withSubcommands([list, accept]),
  Command.withDescription("First prints that a source shows, until a value is recorded")
)

import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { Plan } from "../../src/services/Owners.ts"
import type { Owner } from "../../src/services/Owners.ts"
import { record, utc } from "../client/table.ts"
import { grantFlags, newGrant, shownGrant } from "./credits.ts"
import { Session } from "./session.ts"

const id = Argument.String("ID").pipe(Argument.withDescription("The owner_id, which an agent's details show"))

const details = (owner: Owner): string =>
  record([
    ["owner_id", owner.owner_id],
    ["e-mail", owner.email],
    ["plan", owner.plan],
    ["since", utc(owner.created_at)],
    ...owner.agents.map((agent) => ["agent", `${agent.agent_id} ${agent.status} ${agent.name}`] as const)
  ])

const show = Command.make(
  "show",
  { id },
  Effect.fn("owners.show")(function* ({ id }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* session.show(yield* client.admin.getOwner({ params: { owner_id: id } }), details)
  })
).pipe(Command.withDescription("An owner with its plan and its agents"))

const setPlan = Command.make(
  "set-plan",
  { id, plan: Argument.Literals("PLAN", Plan.literals) },
  Effect.fn("owners.setPlan")(function* ({ id, plan }) {
    const session = yield* Session
    const client = yield* session.administrator
    const changed = yield* client.admin.changeOwner({ params: { owner_id: id }, payload: { plan } })
    yield* session.show(changed, details)
  })
).pipe(Command.withDescription("Put an owner on a plan: free, pro or team"))

const grant = Command.make(
  "grant",
  { id, ...grantFlags },
  Effect.fn("owners.grant")(function* ({ id, ...payload }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* shownGrant(
      client.admin.grantOwner({ params: { owner_id: id }, payload: yield* newGrant(payload) })
    )
  })
).pipe(
  Command.withDescription("Give credit to an owner, once for a key"),
  Command.withExamples([
    { command: 'npm run admin -- owners grant ID 1000 --reason "invoice 4711" --key invoice-4711' }
  ])
)

export const owners = Command.make("owners").pipe(
  Command.withSubcommands([show, setPlan, grant]),
  Command.withDescription("Owners: the operators that claimed agents")
)

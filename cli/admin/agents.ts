import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Plan } from "../../src/services/Operators.ts"
import type { Owner } from "../../src/services/Operators.ts"
import type { SelfProfile } from "../../src/services/Registry.ts"
import { record, utc } from "../client/table.ts"
import { grantFlags, newGrant, printGrant } from "./credits.ts"
import { Session } from "./session.ts"

const agentId = { id: Argument.String("ID").pipe(Argument.withDescription("The agent_id")) }

const agentDetails = (agent: SelfProfile): string =>
  record([
    ["agent_id", agent.agent_id],
    ["name", agent.name],
    ["status", agent.status],
    ["verified", agent.verification_status === "verified"],
    ["owner", agent.owner === null ? null : `${agent.owner.owner_id} (${agent.owner.plan})`],
    ["model", [agent.model_provider, agent.model_name].filter((part) => part !== null).join(" ") || null],
    ["scopes", agent.effective_scopes.join(" ")],
    ["withheld", agent.withheld_scopes.join(" ") || null],
    [
      "predictions",
      agent.provisional_prediction_limit === null
        ? "unlimited"
        : `${agent.provisional_predictions_used} of ${agent.provisional_prediction_limit} while provisional`
    ],
    ["provisional until", agent.provisional_until],
    ["registered", agent.created_at]
  ])

const showAgent = Command.make(
  "show",
  agentId,
  Effect.fn("agents.show")(function* ({ id }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* session.show(yield* client.admin.getAgent({ params: { agent_id: id } }), agentDetails)
  })
).pipe(Command.withDescription("An agent's own view of itself"))

const change = (suspended: boolean) =>
  Effect.fn("agents.change")(function* ({ id }: { readonly id: string }) {
    const session = yield* Session
    const client = yield* session.administrator
    const changed = yield* client.admin.changeAgent({ params: { agent_id: id }, payload: { suspended } })
    yield* session.show(changed, agentDetails)
  })

const suspend = Command.make("suspend", agentId, change(true)).pipe(
  Command.withDescription("Suspend an agent; its tokens end within 5 seconds")
)

const restore = Command.make("restore", agentId, change(false)).pipe(
  Command.withDescription("End a suspension")
)

const rotateSecret = Command.make(
  "rotate-secret",
  {
    ...agentId,
    keepKeys: Flag.Boolean("keep-keys").pipe(
      Flag.withDescription("Keep the agent's gateway keys; otherwise they end with the old secret"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    )
  },
  Effect.fn("agents.rotateSecret")(function* ({ id, keepKeys }) {
    const session = yield* Session
    const client = yield* session.administrator
    const { body } = yield* client.admin.rotateSecret({
      params: { agent_id: id },
      query: { gateway_keys: keepKeys ? "keep" : "revoke" }
    })
    yield* session.show(body, ({ agent_id, client_secret, disabled_webhooks, revoked_gateway_keys }) =>
      [
        `The new client_secret of ${agent_id}, shown this once; tokens it holds end within 5 seconds:`,
        client_secret,
        `Gateway keys that ended with the old one: ${revoked_gateway_keys}; webhooks that were disabled: ${disabled_webhooks}`
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription("Make a new client_secret for an agent, whose gateway keys end with the old one")
)

const grantAgent = Command.make(
  "grant",
  { ...agentId, ...grantFlags },
  Effect.fn("agents.grant")(function* ({ id, ...payload }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* printGrant(
      client.admin.grantAgent({ params: { agent_id: id }, payload: yield* newGrant(payload) })
    )
  })
).pipe(
  Command.withDescription("Give credit to an agent, once for a key"),
  Command.withExamples([
    { command: 'npm run admin -- agents grant ID 250 --reason "won the round" --key round-7' }
  ])
)

export const agents = Command.make("agents").pipe(
  Command.withSubcommands([showAgent, suspend, restore, rotateSecret, grantAgent]),
  Command.withDescription("Agents")
)

const ownerId = Argument.String("ID").pipe(
  Argument.withDescription("The owner_id, which an agent's details show")
)

const ownerDetails = (owner: Owner): string =>
  record([
    ["owner_id", owner.owner_id],
    ["e-mail", owner.email],
    ["plan", owner.plan],
    ["since", utc(owner.created_at)],
    ...owner.agents.map((agent) => ["agent", `${agent.agent_id} ${agent.status} ${agent.name}`] as const)
  ])

const showOwner = Command.make(
  "show",
  { id: ownerId },
  Effect.fn("owners.show")(function* ({ id }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* session.show(yield* client.admin.getOwner({ params: { owner_id: id } }), ownerDetails)
  })
).pipe(Command.withDescription("An owner with its plan and its agents"))

const setPlan = Command.make(
  "set-plan",
  { id: ownerId, plan: Argument.Literals("PLAN", Plan.literals) },
  Effect.fn("owners.setPlan")(function* ({ id, plan }) {
    const session = yield* Session
    const client = yield* session.administrator
    const changed = yield* client.admin.changeOwner({ params: { owner_id: id }, payload: { plan } })
    yield* session.show(changed, ownerDetails)
  })
).pipe(Command.withDescription("Put an owner on a plan: free, pro or team"))

const grantOwner = Command.make(
  "grant",
  { id: ownerId, ...grantFlags },
  Effect.fn("owners.grant")(function* ({ id, ...payload }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* printGrant(
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
  Command.withSubcommands([showOwner, setPlan, grantOwner]),
  Command.withDescription("Owners: the operators that claimed agents")
)

/** Agents and their operators: registered, provisional, claimed; by services or through HTTP, each step with its answer. */
import { randomUUID } from "node:crypto"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { arrayParam } from "../../src/layers/postgres/sql.ts"
import { Claims } from "../../src/services/Claims.ts"
import { Mailer } from "../../src/services/Mailer.ts"
import type { Message } from "../../src/services/Mailer.ts"
import { Operators, toAccount } from "../../src/services/Operators.ts"
import type { Plan } from "../../src/services/Operators.ts"
import { Registered, Registry, SubmissionOutcome } from "../../src/services/Registry.ts"
import type { Registration } from "../../src/services/Registry.ts"
import { IssuedToken } from "../../src/services/Tokens.ts"
import { emailAddressOf } from "../../src/services/domain/emails.ts"
import type { EmailAddress } from "../../src/services/domain/emails.ts"
import { AgentId, OperatorId } from "../../src/services/domain/ids.ts"
import { Mailbox, linksIn } from "./mailbox.ts"
import { passingAnswer } from "./responses.ts"
import { post } from "./requests.ts"
import { formsOf, makeVisitor } from "./visitor.ts"
import type { Visitor } from "./visitor.ts"

const decoded = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, json: unknown) =>
  Effect.orDie(Schema.decodeUnknownEffect(schema)(json))

/** A registration that must be accepted. */
export const register = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const { json } = yield* post("/api/v1/agent/registry/register", { json: { name: "Ada", ...fields } })
  return yield* decoded(Registered, json)
})

export const submitPath = (challengeId: string) => `/api/v1/agent/challenge/${challengeId}/submit`

export const submit = (challengeId: string, answer: unknown) =>
  post(submitPath(challengeId), { json: { answer } })

/** Passes the registration challenge; returns the verdict with the claim fields. */
export const pass = Effect.fnUntraced(function* (registered: Registered) {
  const { json } = yield* submit(registered.challenge_id, passingAnswer(registered.challenge_prompt))
  return yield* decoded(SubmissionOutcome, json)
})

export const askForToken = (
  agentId: string,
  secret: string,
  headers: Readonly<Record<string, string>> = {}
) =>
  post("/api/v1/agent/auth/token", {
    headers,
    json: { grant_type: "client_credentials", agent_id: agentId, client_secret: secret }
  })

/** A token that must be issued. */
export const issue = Effect.fnUntraced(function* (agentId: string, secret: string) {
  const { json } = yield* askForToken(agentId, secret)
  return yield* decoded(IssuedToken, json)
})

/** A registered agent that has passed its challenge and holds a token. */
export const onboard = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const registered = yield* register(fields)
  yield* pass(registered)
  const { access_token } = yield* issue(registered.agent_id, registered.client_secret)
  return { agentId: registered.agent_id, secret: registered.client_secret, token: access_token, registered }
})

/** Claims the agent by SQL, as if its operator had done it. */
export const claim = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  const owner = yield* someOperator
  yield* sql`
    update agents set claimed_at = provisional_until, owner_id = ${owner}::uuid, prediction_limit = null
     where id = ${agentId}::uuid`
})

/** An agent that its operator has claimed, so that its token holds every scope it requested. */
export const onboardClaimed = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const agent = yield* onboard(fields)
  yield* claim(agent.agentId)
  const { access_token } = yield* issue(agent.agentId, agent.secret)
  return { ...agent, token: access_token }
})

/** The operator for tests in which the owner does not matter. */
const somebody = OperatorId.make("0190f000-0000-7000-8000-00000000000f")

/** The account of that operator, made at the first call. */
export const someOperator = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* sql`
    insert into operators (id, created_at) values (${somebody}::uuid, ${DateTime.toDateUtc(now)})
    on conflict do nothing`
  return somebody
})

/** An operator that owns nothing yet. */
export const anotherOperator = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const id = OperatorId.make(randomUUID())
  yield* sql`insert into operators (id, created_at) values (${id}::uuid, ${DateTime.toDateUtc(now)})`
  return id
})

/** An address; the text must be one. */
export const address = (text: string): EmailAddress => {
  const parsed = emailAddressOf(text)
  if (parsed._tag === "None") throw new Error(`${text} is no e-mail address`)
  return parsed.value
}

/** An agent that has passed its registration challenge and waits to be claimed. */
export const provisionalAgent = Effect.fnUntraced(function* (name: string = "agent") {
  const sql = yield* SqlClient.SqlClient
  const registry = yield* Registry
  const now = yield* DateTime.now
  const { agent_id } = yield* registry.register({ name })
  yield* sql`update agents set challenge_passed_at = ${DateTime.toDateUtc(now)} where id = ${agent_id}::uuid`
  return agent_id
})

export const claimedAgent = Effect.fnUntraced(function* (name: string = "agent") {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const agentId = yield* provisionalAgent(name)
  const owner = yield* someOperator
  yield* sql`
    update agents set claimed_at = ${DateTime.toDateUtc(now)}, owner_id = ${owner}::uuid, prediction_limit = null
     where id = ${agentId}::uuid`
  return agentId
})

export const claimedAgents = (count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => `agent ${index}`),
    claimedAgent,
    { concurrency: 8 }
  )

/** Owners, one for each plan. */
export const ownersOn = Effect.fnUntraced(function* (plans: ReadonlyArray<Plan>) {
  const sql = yield* SqlClient.SqlClient
  const now = DateTime.toDateUtc(yield* DateTime.now)
  const ids = plans.map(() => OperatorId.make(randomUUID()))
  yield* sql`
    insert into operators (id, created_at, plan)
    select o.id, ${now}, o.plan from unnest(${arrayParam("uuid", ids)}, ${arrayParam("text", plans)}) as o (id, plan)`
  return ids
})

/** An agent of each of these owners, or without an owner. */
export const agentsOf = Effect.fnUntraced(function* (owners: ReadonlyArray<string | null>) {
  const sql = yield* SqlClient.SqlClient
  const now = DateTime.toDateUtc(yield* DateTime.now)
  const ids = owners.map(() => AgentId.make(randomUUID()))
  yield* sql`
    insert into agents
      (id, name, type, languages, model_capability_tag, hosting_mode, policy_profile, disclosure_level, default_spaces,
       auth_method, requested_scopes, secret_hash, created_at, provisional_until, challenge_passed_at, claimed_at,
       owner_id)
    select a.id, 'agent', 'trader', '{en}', 'general', 'self_hosted', 'standard', 'public', '{finance}',
           'client_credentials', '{prediction:submit,llm:keys}', sha256(convert_to(a.id::text, 'UTF8')), ${now}::timestamptz, ${now}::timestamptz, ${now}::timestamptz,
           case when a.owner_id is not null then ${now}::timestamptz end, a.owner_id
      from unnest(${arrayParam("uuid", ids)}, ${arrayParam("uuid", owners)}) as a (id, owner_id)`
  return ids
})

/** This many agents, each of an owner of its own. */
export const agentsApart = (count: number, plan: Plan = "free") =>
  Effect.flatMap(ownersOn(Array.from({ length: count }, () => plan)), agentsOf)

/** An agent that this operator has claimed, without credit. */
export const agentOf = Effect.fnUntraced(function* (owner: OperatorId, name = "agent") {
  const sql = yield* SqlClient.SqlClient
  const agentId = yield* provisionalAgent(name)
  yield* sql`
    update agents
       set claimed_at = ${DateTime.toDateUtc(yield* DateTime.now)}, owner_id = ${owner}::uuid, prediction_limit = null
     where id = ${agentId}::uuid`
  return agentId
})

/** The part of a link after its last slash. */
export const tokenOf = (url: string | undefined): string =>
  (url ?? "").replace(/\/not-mine$/, "").replace(/.*\//, "")

const pathOf = (url: string) => new URL(url).pathname

const toClaim = ({ agent_id, client_secret }: Registered, outcome: SubmissionOutcome) =>
  outcome.passed
    ? Effect.succeed({
        agentId: agent_id,
        secret: client_secret,
        token: tokenOf(outcome.claim_url),
        path: pathOf(outcome.claim_url),
        code: outcome.pairing_code,
        link: outcome
      })
    : Effect.die(new Error("the answer did not pass"))

/** A registered agent that has passed its challenge, with its claim link. */
export const claimable = Effect.fnUntraced(function* (fields: Partial<Registration> = {}) {
  const registry = yield* Registry
  const registered = yield* registry.register({ name: "Ada", ...fields })
  const answer = passingAnswer(registered.challenge_prompt)
  return yield* toClaim(registered, yield* registry.submit(registered.challenge_id, answer))
})

/** A registered agent that has passed its challenge through HTTP, with its claim link. */
export const claimableByHttp = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const registered = yield* register(fields)
  return yield* toClaim(registered, yield* pass(registered))
})

/** Sends due mails, and returns those that arrived since the last call. */
export const newMails = Effect.gen(function* () {
  const { delivered } = yield* Mailbox
  const before = delivered.length
  yield* Mailer.use((mailer) => mailer.drain)
  return delivered.slice(before)
})

/** The links of a mail about an agent: the one that claims, and the one that declines. */
export const claimLinks = (message: Message | undefined) => {
  const [, claim, decline] = linksIn(message)
  return { claim: tokenOf(claim), decline: tokenOf(decline) }
}

/** Signs in by a mail to `email`, as a person would. */
export const signedIn = Effect.fnUntraced(function* (email: string) {
  const operators = yield* Operators
  yield* operators.requestSignIn({ email: address(email), returnTo: toAccount, address: "192.0.2.1" })
  const mails = yield* newMails
  const mail = mails.findLast((each) => linksIn(each).some((link) => link.includes("/sign-in/")))
  const { session } = yield* operators.signIn(tokenOf(linksIn(mail)[1]))
  return session
})

let people = 0
/** A new operator. */
export const anOperator = Effect.suspend(() => {
  people += 1
  return Effect.map(signedIn(`person-${people}@example.org`), ({ operatorId }) => operatorId)
})

export const claimWithCode = (token: string, pairingCode: string, operatorId: OperatorId) =>
  Claims.use((claims) => claims.claimWithCode({ token, pairingCode, operatorId }))

/** A well-formed code that differs from this one. */
export const wrongCode = (code: string): string => `${code.slice(0, -1)}${code.endsWith("A") ? "B" : "A"}`

/** The stored row of an agent's claim. */
export const agentRow = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`
    select claimed_at, owner_id::text, prediction_limit, grace_notices, issuance_paused_at, provisional_until
      from agents where id = ${agentId}::uuid`
  return row ?? {}
})

/** The links of the newest mail to an address, as paths; none if it got no mail. */
export const linksMailedTo = Effect.fnUntraced(function* (address: string) {
  const { delivered } = yield* Mailbox
  yield* (yield* Mailer).drain
  const mails = delivered.filter(({ to }) => to === address)
  return linksIn(mails.at(-1)).map(pathOf)
})

/** The path of the newest sign-in link mailed to an address, without the base path of the service. */
export const signInLink = Effect.fnUntraced(function* (address: string, below = "") {
  const links = yield* linksMailedTo(address)
  const link = links.map((path) => path.slice(below.length)).find((path) => path.startsWith("/sign-in/"))
  return link ?? (yield* Effect.die(new Error(`no sign-in link was mailed to ${address}`)))
})

/** Signs a visitor in from a page with the sign-in form; returns the page that the mail's link led to. */
export const signInFrom = Effect.fnUntraced(function* (visitor: Visitor, path: string, address: string) {
  yield* visitor.fill(yield* visitor.open(path), "email", { email: address })
  const link = yield* visitor.open(yield* signInLink(address))
  // The form is found by its address, since a page may be in any language.
  return yield* visitor.submit(formsOf(link).find(({ action }) => action.includes("/sign-in/")))
})

/** A signed-in visitor that owns an agent. */
export const ownerVisitor = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const agent = yield* claimableByHttp(fields)
  const visitor = makeVisitor()
  const page = yield* visitor.follow(yield* signInFrom(visitor, agent.path, `${agent.agentId}@example.org`))
  yield* visitor.fill(page, "pairing_code", { pairing_code: agent.code })
  return { agent, visitor }
})

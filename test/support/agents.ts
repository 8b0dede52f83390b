/** Agents as they come about through the API, each step with what it answers. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Challenge } from "../../src/services/domain/Challenge.ts"
import { Registered, SubmissionOutcome } from "../../src/services/Registry.ts"
import { IssuedToken } from "../../src/services/Tokens.ts"
import { passingAnswer } from "./responses.ts"
import { someOperator } from "./operators.ts"
import { post } from "./server.ts"
import { testAdminToken } from "./settings.ts"

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

/** Passes the registration challenge; answers the verdict with the claim fields. */
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

/** As if its operator had claimed the agent. */
export const claim = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  const owner = yield* someOperator
  yield* sql`
    update agents set claimed_at = provisional_until, owner_id = ${owner}::uuid, prediction_limit = null
     where id = ${agentId}::uuid`
})

/** One that its operator has claimed, so that its token holds every scope it asked for. */
export const onboardClaimed = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const agent = yield* onboard(fields)
  yield* claim(agent.agentId)
  const { access_token } = yield* issue(agent.agentId, agent.secret)
  return { ...agent, token: access_token }
})

/** An open challenge on gold, in a far future that the tests' clock does not reach. */
export const openChallenge = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const { json } = yield* post("/api/v1/admin/challenges", {
    token: testAdminToken,
    json: {
      asset: "GC",
      deadline: "2999-01-01T00:00:00Z",
      resolve_at: "2999-01-02T00:00:00Z",
      open_price: 2000,
      ...fields
    }
  })
  return yield* decoded(Challenge, json)
})

/** A process that is killed within any step of taking a stake: nothing is half done, and the stake can be sent again. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { services } from "../../src/layers/postgres/layer.ts"
import { Credits } from "../../src/services/Credits.ts"
import type { AgentId } from "../../src/services/identifiers.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { countOf, forecast, newMacro } from "../support/builders.ts"
import { freshDatabase, poolOn } from "../support/database.ts"
import { credits, fund, stateOf } from "../support/ledger.ts"
import { heldUpAt } from "../support/logProcess.ts"
import { logSigner } from "../support/logSigner.ts"
import { mailbox } from "../support/mailbox.ts"
import { readyAuspex, replicaEnvironment, until } from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { settings } from "../support/settings.ts"
import { stake, stakeFindings } from "../support/stakes.ts"

/** An agent with credit and a token that every replica takes, which has predicted the challenge. */
const gambler = Effect.fnUntraced(function* (challenge: { readonly id: string }) {
  const sql = yield* SqlClient.SqlClient
  const { agent_id, client_secret } = yield* Registry.use((registry) =>
    registry.register({ name: "Ada", requested_scopes: ["prediction:submit", "credits:stake"] })
  )
  yield* sql`update agents set challenge_passed_at = created_at where id = ${agent_id}::uuid`
  yield* fund(`agent:${agent_id}`, 100)
  yield* forecast(agent_id, challenge)
  const { access_token } = yield* Tokens.use((tokens) =>
    tokens.issue({ agentId: agent_id, clientSecret: client_secret, address: "192.0.2.1" })
  )
  return { agentId: agent_id, token: access_token }
})

/** The status, or nothing when the connection breaks. */
const staked = (auspex: Auspex, token: string, challenge: { readonly id: string }) =>
  Effect.tryPromise(async (signal) => {
    const response = await fetch(`${auspex.url}/api/v1/eval/macro/challenges/${challenge.id}/stake`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ predicted_value: 3.1, amount: 50 }),
      signal
    })
    return response.status
  }).pipe(Effect.option)

const traces = (agent: AgentId) =>
  countOf(
    (sql) => sql`
      select (select count(*) from stakes where agent_id = ${agent}::uuid)::int
           + (select count(*) from transfers where id like 'stake:%' and debit = 'agent:' || ${agent}::text)::int as count`
  )

const killed = (auspex: Auspex) => Effect.andThen(auspex.signal("SIGKILL"), auspex.ended)

/** The tables that the steps of a stake wait for, and what has been done by then. */
const points = [
  ["the pool is locked", "stakes", "access exclusive"],
  ["the account is locked, too, and the stake is decided", "stakes", "exclusive"],
  ["the stake and the odds are written", "transfers", "exclusive"]
] as const

describe("kill -9 of the process that takes a stake", () => {
  it.live(
    "at each step: nothing has happened, and the stake can be sent again; once it has, it is there once",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const replica = readyAuspex({ environment: replicaEnvironment(url, { AUSPEX_ROLES: "api" }) })
        const ours = services.pipe(
          Layer.provideMerge(Layer.mergeAll(poolOn(url), settings(), mailbox, logSigner()))
        )
        const [last, ...replicas] = yield* Effect.all([replica, replica, replica, replica], {
          concurrency: 4
        })
        yield* Effect.gen(function* () {
          const challenge = yield* newMacro()
          for (const [place, [done, table, mode]] of points.entries()) {
            const { agentId, token } = yield* gambler(challenge)
            const victim = replicas[place]
            assert(victim !== undefined)
            const sending = Effect.forkDetach(staked(victim, token, challenge))
            yield* heldUpAt(table, mode, sending, killed(victim))
            assert.strictEqual(yield* traces(agentId), 0, done)
            assert.deepStrictEqual(
              yield* stateOf(`agent:${agentId}`),
              { posted: credits(100), held: 0n },
              done
            )
            assert.strictEqual((yield* stake(agentId, challenge, 50)).frozen, credits(50))
          }

          // It has happened, and the agent may never have heard of it.
          const { agentId, token } = yield* gambler(challenge)
          const sending = yield* Effect.forkChild(staked(last, token, challenge))
          yield* until(
            "the stake is there",
            "10 seconds",
            Effect.map(traces(agentId), (count) => count === 2)
          )
          yield* killed(last)
          yield* Fiber.join(sending)
          const again = yield* Effect.result(stake(agentId, challenge, 50))
          assert.isTrue(Result.isFailure(again) && again.failure.code === "already_staked")
          assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), {
            posted: credits(100),
            held: credits(50)
          })

          const { findings, stakes } = yield* stakeFindings
          assert.deepStrictEqual([findings, stakes], [[], 4])
          assert.deepStrictEqual((yield* Credits.use((service) => service.check)).differences, [])
        }).pipe(Effect.provide(ours))
      }).pipe(Effect.provide(NodeServices.layer)),
    60_000
  )
})

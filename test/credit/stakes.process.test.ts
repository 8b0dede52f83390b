/** Processes that are killed within a step of taking a stake: nothing is half done, and the stake can be sent again. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { breadth } from "../support/breadth.ts"
import { forecast, newMacro } from "../support/challenges.ts"
import { credits, fund, stateOf, stake, stakeFindings } from "../support/credit.ts"
import { heldUpAt, killed } from "../support/crash.ts"
import { freshDatabase, countOf } from "../support/database.ts"
import { readyAuspex, replicaEnvironment, until } from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { servicesOn } from "../support/services.ts"

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

/** The steps of a stake: the work done by then, the table that it waits for, and the lock that holds it up. */
const steps = [
  ["the pool is locked", "stakes", "access exclusive"],
  ["the account is locked, too, and the stake is decided", "stakes", "exclusive"],
  ["the stake and the odds are written", "transfers", "exclusive"],
  ["it is committed", undefined, undefined]
] as const

/** Kills a process at each of these steps. */
const killedAt = Effect.fnUntraced(function* (struck: ReadonlyArray<(typeof steps)[number]>) {
  const url = yield* freshDatabase
  yield* Effect.gen(function* () {
    const challenge = yield* newMacro()
    for (const [done, table, mode] of struck) {
      const { agentId, token } = yield* gambler(challenge)
      const victim = yield* readyAuspex({ environment: replicaEnvironment(url, { AUSPEX_ROLES: "api" }) })
      const sending = Effect.forkDetach(staked(victim, token, challenge))
      if (table === undefined) {
        yield* sending
        yield* until(
          done,
          Effect.map(traces(agentId), (count) => count === 2)
        )
        yield* killed(victim)
        // The stake is recorded, and the agent may never have heard of it.
        assert.strictEqual((yield* Effect.flip(stake(agentId, challenge, 50))).code, "already_staked")
      } else {
        yield* heldUpAt(table, mode, sending, killed(victim))
        assert.strictEqual(yield* traces(agentId), 0, done)
        assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: credits(100), held: 0n }, done)
        yield* stake(agentId, challenge, 50)
      }
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: credits(100), held: credits(50) })
    }
    const { findings, stakes } = yield* stakeFindings
    assert.deepStrictEqual([findings, stakes], [[], struck.length])
    assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])
  }).pipe(Effect.provide(servicesOn(url)))
})

describe("A process killed while it takes a stake", () => {
  it.live("A killed process leaves the stake once or not at all, and it can be sent again", () =>
    killedAt(breadth([steps[2]], steps)).pipe(Effect.provide(NodeServices.layer))
  )
})

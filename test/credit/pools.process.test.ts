/** Real processes that are killed while they settle a pool. */
import { Audit } from "../../src/services/Audit.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { breadth } from "../support/breadth.ts"
import { agentsApart } from "../support/agents.ts"
import { newMacro, plus } from "../support/challenges.ts"
import { credits, stateOf, creditFor, forecastsOn, stakeOn } from "../support/credit.ts"
import { heldUpAt, killed } from "../support/crash.ts"
import { freshDatabase, countOf } from "../support/database.ts"
import { readyAuspex, replicaEnvironment, until } from "../support/process.ts"
import { servicesOn } from "../support/services.ts"
import { testAdminToken } from "../support/settings.ts"

/**
 * The tables that a settlement writes, in its order: the process is killed while it waits for one. Closing writes the
 * log too, so that can come once a challenge is closed.
 */
const points = ["transfers", "pool_settlements", "pool_rewards", "log_pending"] as const

const checked = Effect.gen(function* () {
  assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])
})

/** Kills a process at each of these points of one settlement; then the settlement is done, once and whole. */
const killedWhileSettling = Effect.fnUntraced(function* (at: ReadonlyArray<(typeof points)[number]>) {
  const url = yield* freshDatabase
  yield* Effect.gen(function* () {
    const now = yield* DateTime.now
    const deadline = plus(now, "2 seconds")
    const challenge = yield* newMacro({ deadline, reward_pool: 1000 })
    const agents = yield* agentsApart(4)
    yield* creditFor(agents)
    yield* forecastsOn(
      challenge,
      agents.map((agentId) => ({ agentId, value: 3.1, std: 0.1 }))
    )
    yield* stakeOn(
      challenge,
      agents.map((agentId, index) => ({ agentId, bin: index % 2 === 0 ? 2 : 0, amount: credits(100) }))
    )
    const frozen = Effect.gen(function* () {
      for (const agent of agents) {
        assert.deepStrictEqual(yield* stateOf(`agent:${agent}`), {
          posted: credits(1000),
          held: credits(100)
        })
      }
      const settled = yield* countOf((sql) => sql`select count(*)::int as count from pool_settlements`)
      assert.strictEqual(settled, 0)
      yield* checked
    })
    for (const table of at) {
      const auspex = yield* readyAuspex({ environment: replicaEnvironment(url, { AUSPEX_ROLES: "api" }) })
      yield* until(
        "the deadline has passed",
        Effect.map(DateTime.now, (time) => DateTime.isGreaterThanOrEqualTo(time, deadline))
      )
      const resolving = Effect.forkChild(
        Effect.ignore(
          Effect.tryPromise(() =>
            fetch(`${auspex.url}/api/v1/admin/macro/challenges/${challenge.id}/resolve`, {
              method: "POST",
              headers: {
                authorization: `Bearer ${testAdminToken}`,
                "content-type": "application/json"
              },
              body: JSON.stringify({ actual_value: 3.1 })
            })
          )
        )
      )
      yield* heldUpAt(table, "exclusive", resolving, killed(auspex))
      yield* frozen
    }
    yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1))
    for (const [index, agent] of agents.entries()) {
      const posted = index % 2 === 0 ? credits(1500) : credits(1000)
      assert.deepStrictEqual(yield* stateOf(`agent:${agent}`), { posted, held: 0n })
    }
    yield* checked
  }).pipe(Effect.provide(servicesOn(url)))
}, Effect.provide(NodeServices.layer))

describe("A process killed while it settles a pool", () => {
  it.live("A killed settlement changes nothing at any step, and the next one settles the pool once", () =>
    killedWhileSettling(breadth(["pool_rewards"], points))
  )
})

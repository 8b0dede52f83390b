/** `kill -9` of the process that takes a batch; the batch is then sent to another process with its Idempotency-Key. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { onboardClaimed } from "../support/agents.ts"
import { newMacro } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { heldUpAt, killed } from "../support/crash.ts"
import { freshDatabase, rowsOf } from "../support/database.ts"
import { readyAuspex, replicaEnvironment, to, until } from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { member, post } from "../support/server.ts"
import { servicesOn } from "../support/services.ts"

const count = 20
const samples = times(10, (place) => 3 + place / 100)
const unknownId = "0190f000-0000-7000-8000-000000000000"

const predictionsOf = (agentId: string) =>
  rowsOf(
    Schema.Struct({ challenge_id: Schema.String, revision: Schema.Int }),
    (sql) => sql`
      select challenge_id::text, revision from predictions where agent_id = ${agentId}::uuid order by challenge_id`
  )

interface Batch {
  readonly agentId: string
  readonly sent: ReturnType<typeof post>
}

/** Kills the process after it has committed the batch and before it has answered: it waits to count the item that it refused. */
const killedAfterCommit = Effect.fnUntraced(function* (victim: Auspex, { agentId, sent }: Batch) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`select from limit_windows where key = ${`refused_writes:60000:${agentId}`} for update`
      const sending = yield* Effect.forkDetach(Effect.exit(to(victim)(sent)))
      yield* until(
        "the batch is committed",
        Effect.map(predictionsOf(agentId), ({ length }) => length === count)
      )
      yield* killed(victim)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(sending)), "it was answered")
    })
  )
})

/** Kills the process before the commit: its records wait for the answer that is kept with them. */
const killedBeforeCommit = Effect.fnUntraced(function* (victim: Auspex, { agentId, sent }: Batch) {
  const sending = Effect.forkDetach(Effect.exit(to(victim)(sent)))
  yield* heldUpAt("idempotency_keys", "exclusive", sending, killed(victim))
  assert.deepStrictEqual(yield* predictionsOf(agentId), [])
})

describe("A batch whose process is killed", () => {
  it.live.each([
    ["before its commit", killedBeforeCommit, null],
    ["between its commit and its answer", killedAfterCommit, "true"]
  ] as const)(
    "A batch whose process is killed %s is carried out exactly once when resent with its key",
    ([, strike, replayed]) =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const started = readyAuspex({ environment: replicaEnvironment(url, { AUSPEX_ROLES: "api" }) })
        yield* Effect.gen(function* () {
          const victim = yield* started
          const { agentId, token } = yield* to(victim)(onboardClaimed())
          const ids = (yield* Effect.all(times(count, () => newMacro()))).map(({ id }) => id)
          const refused = { challenge_id: unknownId, predicted_value: 3.1, predicted_std: 0.1 }
          const sent = post("/api/v1/eval/predictions", {
            token,
            headers: { "idempotency-key": "batch" },
            json: {
              predictions: [
                ...ids.map((id, place) =>
                  place % 2 === 0 ? { ...refused, challenge_id: id } : { challenge_id: id, samples }
                ),
                refused
              ]
            }
          })
          // This request makes a window of refused writes.
          yield* to(victim)(post("/api/v1/eval/predictions", { token, json: { predictions: [refused] } }))
          yield* strike(victim, { agentId, sent })

          const { headers, json, status } = yield* to(yield* started)(sent)
          assert.deepStrictEqual([status, headers.get("idempotency-replayed")], [200, replayed])
          assert.deepStrictEqual(
            times(count + 1, (place) => member(json, "items", place, "outcome")),
            [...times(count, () => "recorded"), "refused"]
          )
          assert.deepStrictEqual(
            yield* predictionsOf(agentId),
            ids.toSorted().map((id) => ({ challenge_id: id, revision: 0 }))
          )
        }).pipe(Effect.provide(servicesOn(url)))
      }).pipe(Effect.provide(NodeServices.layer))
  )
})

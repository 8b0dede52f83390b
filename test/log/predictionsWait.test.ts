/** Predictions wait for their place by ids that may appear in another order than they were given. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Random } from "effect"
import { SqlClient } from "effect/sql"
import { LogAudit } from "../../src/services/LogAudit.ts"
import { LogKeeper, maxPerPass } from "../../src/services/LogKeeper.ts"
import { times } from "../support/concurrently.ts"
import { claimedAgent, freshWeek, newChallenge, predict } from "../support/builders.ts"
import { anotherKeeper, entries, logState, oneTree } from "../support/logbook.ts"
import { manyAgents, predictionsOf } from "../support/manyPredictions.ts"
import { openPrediction } from "../support/openPrediction.ts"
import { testServices } from "../support/services.ts"

type Predicted = Effect.Success<ReturnType<typeof predict>>

const commitOf = ({ answer }: Predicted): string => answer.receipt?.commit ?? "it has no receipt"

/** By an agent of its own, on a challenge of its own. */
const openOne = Effect.gen(function* () {
  return yield* openPrediction(yield* claimedAgent(), yield* newChallenge())
})

const sequenceAll = Effect.fnUntraced(function* (keeper: LogKeeper["Service"]) {
  while ((yield* logState).pending > 0) yield* keeper.sequence
})

const loggedCommits = Effect.map(entries, (all) =>
  all.flatMap(({ json }) => String(json["c"] ?? [])).filter((commit) => commit !== "")
)

layer(testServices())("A prediction whose transaction ends late", (it) => {
  it.effect("gets its place after those with larger ids, once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const keeper = yield* LogKeeper
      const [late, never] = [yield* openOne, yield* openOne]
      const early = yield* predict(yield* claimedAgent(), yield* newChallenge())
      for (let round = 0; round < 3; round++) yield* keeper.sequence
      assert.deepStrictEqual(yield* loggedCommits, [commitOf(early)])
      const receipt = yield* late.commits
      yield* never.rollsBack
      assert.strictEqual((yield* logState).pending, 1)
      // A keeper that has just started knows of it, too.
      const started = yield* anotherKeeper()
      assert.strictEqual(yield* started.sequence, 1)
      assert.strictEqual(yield* keeper.sequence, 0)
      assert.deepStrictEqual(yield* loggedCommits, [commitOf(early), commitOf(receipt)])
      yield* keeper.publish
      yield* oneTree
    })
  )

  it.effect("in whatever order many end, and whoever sequences, is in the log once if it was recorded", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const keepers = [yield* LogKeeper, yield* anotherKeeper(), yield* anotherKeeper()]
      const before = yield* loggedCommits
      const expected: Array<string> = []
      let open: Array<Effect.Success<typeof openOne>> = []
      for (let round = 0; round < 12; round++) {
        for (const each of yield* Effect.all(times(2, () => openOne))) open.push(each)
        open = Array.from(yield* Random.shuffle(open))
        const ending = open.splice(0, yield* Random.nextIntBetween(0, 4))
        for (const [index, { commits, rollsBack }] of ending.entries()) {
          if (index === 2) yield* rollsBack
          else expected.push(commitOf(yield* commits))
        }
        expected.push(commitOf(yield* predict(yield* claimedAgent(), yield* newChallenge())))
        yield* Effect.all(yield* Random.shuffle(keepers.map((keeper) => keeper.sequence)), {
          concurrency: "unbounded"
        })
      }
      for (const { commits } of open) expected.push(commitOf(yield* commits))
      for (const keeper of keepers) yield* sequenceAll(keeper)
      const logged = (yield* loggedCommits).slice(before.length)
      assert.deepStrictEqual(logged.toSorted(), expected.toSorted())
      for (const keeper of keepers) assert.isNull(yield* keeper.fault)
      for (const keeper of keepers) yield* keeper.publish
      yield* oneTree
      assert.deepStrictEqual((yield* LogAudit.use(({ audit }) => audit)).differences, [])
    })
  )

  it.effect("waits on where more are late than a pass takes", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const sql = yield* SqlClient.SqlClient
      const keeper = yield* LogKeeper
      const many = 2 * maxPerPass + 100
      yield* manyAgents(many)
      yield* sequenceAll(keeper)
      const before = (yield* logState).size
      const challenge = yield* newChallenge()
      const [recorded, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const late = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`set local idle_in_transaction_session_timeout = 0`
            yield* predictionsOf(challenge.id, { from: 0, to: many - 1 }, now)
            yield* Deferred.succeed(recorded, undefined)
            yield* Deferred.await(end)
          })
        )
      )
      yield* Deferred.await(recorded)
      for (let round = 0; round < 3; round++) {
        yield* predict(yield* claimedAgent(), yield* newChallenge())
        yield* keeper.sequence
      }
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(late)
      const passes = [yield* keeper.sequence, yield* keeper.sequence, yield* keeper.sequence]
      assert.deepStrictEqual(passes, [maxPerPass, maxPerPass, 100])
      // The making of this one, and of the three others, each with a prediction, and its agent's registration and claim.
      assert.strictEqual((yield* logState).size, before + many + 1 + 3 * 4)
      yield* keeper.publish
      yield* oneTree
    })
  )
})

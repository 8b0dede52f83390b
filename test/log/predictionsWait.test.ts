/** Predictions wait for their place by ids that may appear in another order than they were given. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Random } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer, maxPerPass } from "../../src/services/LogSequencer.ts"
import { times } from "../support/concurrently.ts"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, newChallenge, predict } from "../support/challenges.ts"
import { anotherSequencer, entries, logState, oneTree } from "../support/logbook.ts"
import { manyAgents, predictionsOn } from "../support/manyPredictions.ts"
import { testServices } from "../support/services.ts"

/** Predicts within a transaction that stays open; `commits` answers the prediction's answer. */
const openPrediction = Effect.fnUntraced(function* (...prediction: Parameters<typeof predict>) {
  const sql = yield* SqlClient.SqlClient
  const recorded = yield* Deferred.make<void>()
  const end = yield* Deferred.make<void, "rolled back">()
  const fiber = yield* Effect.forkChild(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`set local idle_in_transaction_session_timeout = 0`
        const predicted = yield* predict(...prediction)
        yield* Deferred.succeed(recorded, undefined)
        yield* Deferred.await(end)
        return predicted
      })
    )
  )
  yield* Deferred.await(recorded)
  return {
    commits: Effect.andThen(Deferred.succeed(end, undefined), Fiber.join(fiber)),
    rollsBack: Effect.andThen(Deferred.fail(end, "rolled back"), Fiber.await(fiber))
  }
})

type Predicted = Effect.Success<ReturnType<typeof predict>>

const commitOf = ({ answer }: Predicted): string => answer.receipt?.commit ?? "it has no receipt"

/** Predicts by an agent of its own, on a challenge of its own. */
const openOne = Effect.gen(function* () {
  return yield* openPrediction(yield* claimedAgent(), yield* newChallenge())
})

const sequenceAll = Effect.fnUntraced(function* (sequencer: LogSequencer["Service"]) {
  while ((yield* logState).pending > 0) yield* sequencer.sequence
})

const loggedCommits = Effect.map(entries, (all) =>
  all.flatMap(({ json }) => String(json["c"] ?? [])).filter((commit) => commit !== "")
)

layer(testServices())("A prediction whose transaction ends late", (it) => {
  it.effect("A prediction whose transaction ends late gets its place after larger ids, once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const sequencer = yield* LogSequencer
      const [late, never] = [yield* openOne, yield* openOne]
      const early = yield* predict(yield* claimedAgent(), yield* newChallenge())
      for (let round = 0; round < 3; round++) yield* sequencer.sequence
      assert.deepStrictEqual(yield* loggedCommits, [commitOf(early)])
      const receipt = yield* late.commits
      yield* never.rollsBack
      assert.strictEqual((yield* logState).pending, 1)
      // A sequencer that has just started knows of it, too.
      const started = yield* anotherSequencer()
      assert.strictEqual(yield* started.sequence, 1)
      assert.strictEqual(yield* sequencer.sequence, 0)
      assert.deepStrictEqual(yield* loggedCommits, [commitOf(early), commitOf(receipt)])
      yield* sequencer.publish
      yield* oneTree
    })
  )

  it.effect("A recorded prediction is in the log once, whatever order many end in, whoever sequences", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const sequencers = [yield* LogSequencer, yield* anotherSequencer(), yield* anotherSequencer()]
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
        yield* Effect.all(yield* Random.shuffle(sequencers.map((sequencer) => sequencer.sequence)), {
          concurrency: "unbounded"
        })
      }
      for (const { commits } of open) expected.push(commitOf(yield* commits))
      for (const sequencer of sequencers) yield* sequenceAll(sequencer)
      const logged = (yield* loggedCommits).slice(before.length)
      assert.deepStrictEqual(logged.toSorted(), expected.toSorted())
      for (const sequencer of sequencers) assert.isNull(yield* sequencer.fault)
      for (const sequencer of sequencers) yield* sequencer.publish
      yield* oneTree
      assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
    })
  )

  it.effect("A prediction waits on where more are late than a pass takes", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const sql = yield* SqlClient.SqlClient
      const sequencer = yield* LogSequencer
      const many = 2 * maxPerPass + 100
      yield* manyAgents(many)
      yield* sequenceAll(sequencer)
      const before = (yield* logState).size
      const challenge = yield* newChallenge()
      const [recorded, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const late = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`set local idle_in_transaction_session_timeout = 0`
            yield* predictionsOn(challenge.id, { from: 0, to: many - 1 }, now)
            yield* Deferred.succeed(recorded, undefined)
            yield* Deferred.await(end)
          })
        )
      )
      yield* Deferred.await(recorded)
      for (let round = 0; round < 3; round++) {
        yield* predict(yield* claimedAgent(), yield* newChallenge())
        yield* sequencer.sequence
      }
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(late)
      const passes = [yield* sequencer.sequence, yield* sequencer.sequence, yield* sequencer.sequence]
      assert.deepStrictEqual(passes, [maxPerPass, maxPerPass, 100])
      // The log has the making of this one and of the three others, each with a prediction, and its agent's
      // registration and claim.
      assert.strictEqual((yield* logState).size, before + many + 1 + 3 * 4)
      yield* sequencer.publish
      yield* oneTree
    })
  )
})

/**
 * Locks: one side is kept inside its transaction until the other is seen waiting for it, so that each order of events
 * is met for certain and not by chance, as in `concurrency.test.ts`.
 */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, Schema } from "effect"
import { Audit } from "../../src/services/Audit.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent, provisionalAgent } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  plus,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { held, meeting } from "../support/locking.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"
import { testServices } from "../support/services.ts"

const audit = Audit.use(({ verifyStats }) => verifyStats)
const cancel = (challenge: { readonly id: string }) =>
  Scoring.use((scoring) => scoring.void("directional", challenge.id, "why"))

/** A challenge that is due now, with its closing price known: predictions stamped in time may be on their way. */
const dueChallenge = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newChallenge({ deadline })
  const agent = yield* claimedAgent()
  yield* moveTo(deadline)
  yield* importQuotes("GC", [[deadline, 102]])
  return { challenge, agent, inTime: millisBefore(deadline, 1) }
})

layer(testServices())("A prediction and the resolver", (it) => {
  it.effect("The resolver waits for a prediction that is under way, and scores it", () =>
    Effect.gen(function* () {
      const { challenge, agent, inTime } = yield* dueChallenge
      const predicting = yield* held(predict(agent, challenge, {}, inTime))
      const settling = yield* meeting(settleDue)
      yield* predicting.commit
      yield* Fiber.join(settling)
      const { predictions } = yield* resultsOf(challenge)
      assert.deepStrictEqual(
        predictions.map((each) => [each.agent_id, each.score]),
        [[agent, 75]]
      )
    })
  )

  it.effect("A prediction waits for the resolver, and then finds the challenge closed", () =>
    Effect.gen(function* () {
      const { challenge, agent, inTime } = yield* dueChallenge
      const settling = yield* held(settleDue)
      const predicting = yield* meeting(predict(agent, challenge, {}, inTime))
      yield* settling.commit
      assert.strictEqual((yield* Effect.flip(Fiber.join(predicting)))._tag, "NotRecordedInTime")
      const { predictions, prediction_count, status } = yield* resultsOf(challenge)
      assert.deepStrictEqual([status, prediction_count, predictions], ["resolved", 0, []])
    })
  )

  it.effect("A revision waits for the resolver too, and does not replace what is scored", () =>
    Effect.gen(function* () {
      const { challenge, agent, inTime } = yield* dueChallenge
      yield* predict(agent, challenge, {}, inTime)
      const settling = yield* held(settleDue)
      const revising = yield* meeting(
        predict(agent, challenge, { direction: "bearish", is_revision: true }, inTime)
      )
      yield* settling.commit
      assert.strictEqual((yield* Effect.flip(Fiber.join(revising)))._tag, "NotRecordedInTime")
      const { predictions } = yield* resultsOf(challenge)
      assert.deepStrictEqual(
        predictions.map((each) => [each.direction, each.score]),
        [["bullish", 75]]
      )
    })
  )

  it.effect("A prediction that waited for a resolver that failed is let in", () =>
    Effect.gen(function* () {
      const { challenge, agent, inTime } = yield* dueChallenge
      const settling = yield* held(settleDue)
      const predicting = yield* meeting(predict(agent, challenge, {}, inTime))
      yield* settling.rollback
      assert.isTrue((yield* Fiber.join(predicting)).answer.counts_for_score)
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).predictions[0]?.score, 75)
      assert.deepStrictEqual((yield* audit).differences, [])
    })
  )
})

layer(testServices())("A prediction and a cancellation", (it) => {
  it.effect("A cancellation waits for a prediction that is under way", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [challenge, agent] = [yield* newChallenge(), yield* claimedAgent()]
      const predicting = yield* held(predict(agent, challenge))
      const cancelling = yield* meeting(cancel(challenge))
      assert.isUndefined(cancelling.pollUnsafe())
      yield* predicting.commit
      const cancelled = yield* Fiber.join(cancelling)
      assert.deepStrictEqual([cancelled.status, cancelled.prediction_count], ["cancelled", 1])
    })
  )

  it.effect("A prediction waits for a cancellation, and is then refused", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [challenge, agent] = [yield* newChallenge(), yield* claimedAgent()]
      const cancelling = yield* held(cancel(challenge))
      const predicting = yield* meeting(Effect.flip(predict(agent, challenge)))
      yield* cancelling.commit
      assert.strictEqual((yield* Fiber.join(predicting))._tag, "ChallengeCancelled")
    })
  )
})

layer(testServices())("A paper-trade signal and the end of waiting for a price", (it) => {
  const unpriced = Effect.gen(function* () {
    const deadline = plus(yield* freshWeek, "1 hour")
    const [challenge, agent] = [yield* newChallenge({ deadline }), yield* claimedAgent()]
    yield* moveTo(plus(deadline, "1 minute"))
    yield* settleDue
    yield* moveTo(plus(deadline, "7 days"))
    return { challenge, agent }
  })

  it.effect("The cancellation waits for a signal that is under way", () =>
    Effect.gen(function* () {
      const { challenge, agent } = yield* unpriced
      const signalling = yield* held(predict(agent, challenge))
      const cancelling = yield* meeting(settleDue)
      assert.isUndefined(cancelling.pollUnsafe())
      yield* signalling.commit
      assert.deepStrictEqual((yield* Fiber.join(cancelling)).cancelled, [challenge.id])
    })
  )

  it.effect("A signal waits for the cancellation, and is then refused", () =>
    Effect.gen(function* () {
      const { challenge, agent } = yield* unpriced
      const cancelling = yield* held(settleDue)
      const signalling = yield* meeting(Effect.flip(predict(agent, challenge)))
      yield* cancelling.commit
      assert.strictEqual((yield* Fiber.join(signalling))._tag, "ChallengeCancelled")
    })
  )
})

layer(testServices())("Settlements and cancellations", (it) => {
  /** A challenge that an earlier run closed, and that is due now. */
  const closedChallenge = Effect.gen(function* () {
    const deadline = plus(yield* freshWeek, "1 hour")
    const resolveAt = plus(deadline, "1 hour")
    const challenge = yield* newChallenge({ deadline, resolve_at: resolveAt })
    yield* predict(yield* claimedAgent(), challenge)
    yield* moveTo(plus(deadline, "1 minute"))
    yield* settleDue
    yield* moveTo(resolveAt)
    yield* importQuotes("GC", [[resolveAt, 102]])
    return challenge
  })

  it.effect("A settlement waits for a cancellation, and then leaves the challenge alone", () =>
    Effect.gen(function* () {
      const challenge = yield* closedChallenge
      const cancelling = yield* held(cancel(challenge))
      const settling = yield* meeting(settleDue)
      yield* cancelling.commit
      assert.deepStrictEqual((yield* Fiber.join(settling)).resolved, [])
      const { status, settlement, predictions } = yield* resultsOf(challenge)
      assert.deepStrictEqual([status, settlement, predictions[0]?.score], ["cancelled", null, null])
    })
  )

  it.effect("A cancellation waits for a settlement, and is then refused", () =>
    Effect.gen(function* () {
      const challenge = yield* closedChallenge
      const settling = yield* held(settleDue)
      const cancelling = yield* meeting(Effect.flip(cancel(challenge)))
      yield* settling.commit
      assert.strictEqual((yield* Fiber.join(cancelling)).code, "challenge_state")
      assert.strictEqual((yield* resultsOf(challenge)).status, "resolved")
    })
  )

  it.effect("Settlements take turns, so that their day never goes back", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const agent = yield* claimedAgent()
      const [lateMonday, tuesday] = [plus(monday, "23 hours"), plus(monday, "25 hours")]
      const gold = yield* newChallenge({ deadline: tuesday })
      yield* predict(agent, gold)
      yield* moveTo(tuesday)
      yield* importQuotes("GC", [[tuesday, 102]])
      const first = yield* held(settleDue)
      // Another replica, whose clock is behind, settles what it finds due: the same agent's other prediction.
      yield* moveTo(monday)
      const oil = yield* newChallenge({ asset: "CL", deadline: lateMonday })
      yield* predict(agent, oil)
      yield* moveTo(lateMonday)
      yield* importQuotes("CL", [[lateMonday, 102]])
      const second = yield* meeting(withDatabaseAt(tuesday)(settleDue))
      yield* first.commit
      yield* Fiber.join(second)

      const days = yield* rowsOf(
        Schema.Struct({ day: Schema.String }),
        (sql) => sql`
          select distinct day::text from settlements
           where challenge_id = any(${[gold.id, oil.id]}::uuid[]) order by 1`
      )
      assert.deepStrictEqual(days, [{ day: DateTime.formatIsoDateUtc(tuesday) }])
      assert.deepStrictEqual((yield* audit).differences, [])
    })
  )
})

layer(testServices())("Two submissions of one agent", (it) => {
  it.effect("The second submission waits for the first, and is a duplicate when that commits", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [challenge, agent] = [yield* newChallenge(), yield* claimedAgent()]
      const first = yield* held(predict(agent, challenge))
      const second = yield* meeting(Effect.flip(predict(agent, challenge)))
      yield* first.commit
      assert.strictEqual((yield* Fiber.join(second))._tag, "DuplicatePrediction")
    })
  )

  it.effect("The second submission is the first prediction when the first did not commit", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [challenge, agent] = [yield* newChallenge(), yield* claimedAgent()]
      const first = yield* held(predict(agent, challenge))
      const second = yield* meeting(predict(agent, challenge, { direction: "neutral" }))
      yield* first.rollback
      const { answer } = yield* Fiber.join(second)
      assert.deepStrictEqual([answer.counts_for_score, answer.revision_count], [true, 0])
      assert.strictEqual((yield* resultsOf(challenge)).prediction_count, 1)
    })
  )

  it.effect("A provisional agent's last prediction is taken by one of two, and freed when that fails", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent()
      const challenges = yield* Effect.replicateEffect(newChallenge(), 12)
      const [one, other, third, ...nine] = challenges
      assert(one !== undefined && other !== undefined && third !== undefined)
      yield* Effect.forEach(nine, (challenge) => predict(agent, challenge))

      const failing = yield* held(predict(agent, one))
      const freed = yield* meeting(predict(agent, other))
      yield* failing.rollback
      assert.isTrue((yield* Fiber.join(freed)).answer.counts_for_score)
      const refused = yield* Effect.flip(predict(agent, third))
      assert.strictEqual(refused._tag, "ProvisionalLimit")
    })
  )

  it.effect("A submission beside a provisional agent's last prediction under way is refused", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent()
      const [one, other, ...nine] = yield* Effect.replicateEffect(newChallenge(), 11)
      assert(one !== undefined && other !== undefined)
      yield* Effect.forEach(nine, (challenge) => predict(agent, challenge))
      const taking = yield* held(predict(agent, one))
      const refused = yield* meeting(Effect.flip(predict(agent, other)))
      yield* taking.commit
      assert.strictEqual((yield* Fiber.join(refused))._tag, "ProvisionalLimit")
      assert.strictEqual((yield* resultsOf(other)).prediction_count, 0)
    })
  )
})

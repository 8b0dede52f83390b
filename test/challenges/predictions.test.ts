/** Predictions: which of them count, and what a receipt proves. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Arenas } from "../../src/services/Arenas.ts"
import { Direction } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { breadth } from "../support/breadth.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  millisBefore,
  newChallenge,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const unknownId = "01890000-0000-7000-8000-000000000000"
const malformedIds = ["", "nonsense", "01890000-0000-7000-8000-00000000000", `${unknownId}0`, "'; select 1"]

const StoredPrediction = Schema.Struct({
  revision: Schema.Int,
  direction: Schema.String,
  confidence: Schema.String,
  reasoning: Schema.NullOr(Schema.String)
})

const storedPredictions = (challenge: { readonly id: string }) =>
  rowsOf(
    StoredPrediction,
    (sql) => sql`
      select revision, direction, confidence::text as confidence, reasoning
        from predictions where challenge_id = ${challenge.id}::uuid order by agent_id, revision`
  )

const countsOf = Effect.fnUntraced(function* (challenge: { readonly id: string }) {
  const arenas = yield* Arenas
  const { items } = yield* arenas.list("directional", {}, firstPage)
  const found = items.find((each) => each.id === challenge.id)
  assert(found !== undefined)
  return [found.prediction_count, found.bullish_count, found.bearish_count, found.neutral_count]
})

const paperSignals = (agentId: Parameters<typeof predict>[0], challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.paperSignals(agentId, challenge.id, firstPage))

layer(testServices())("A prediction on an open challenge", (it) => {
  it.effect("A prediction keeps its confidence as the exact decimal of the JSON number", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const agent = yield* claimedAgent()
      const sent = [0, 1, 0.1, 0.1 + 0.2, 1e-7, 5e-324, 0.9999999999999999]
      for (const confidence of sent) yield* predict(agent, challenge, { confidence, is_revision: true })
      const kept = (yield* storedPredictions(challenge)).map((row) => row.confidence)
      assert.deepStrictEqual(kept.slice(0, 5), ["0", "1", "0.1", "0.30000000000000004", "0.0000001"])
      assert.deepStrictEqual(kept.map(Number), sent)
    })
  )
})

layer(testServices())("A prediction on a challenge that is not open", (it) => {
  it.effect("A prediction by an unknown or malformed id finds no challenge", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const arenas = yield* Arenas
      for (const id of [unknownId, ...malformedIds]) {
        const refusals = [
          yield* Effect.flip(predict(agent, { id })),
          yield* Effect.flip(arenas.results(id, firstPage)),
          yield* Effect.flip(arenas.paperSignals(agent, id, firstPage)),
          yield* Effect.flip(Scoring.use((scoring) => scoring.void("directional", id, "why")))
        ]
        for (const refused of refusals) assert.strictEqual(refused.code, "not_found", id)
      }
    })
  )

  it.effect("A prediction on a closed challenge is a paper-trade signal, and does not count for score", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const agent = yield* claimedAgent()
      yield* TestClock.adjust("1 hour")
      const { answer, replaced } = yield* predict(agent, challenge, {
        direction: "neutral",
        confidence: 0.7,
        reasoning: "flat"
      })
      assert.isFalse(replaced)
      assert.isFalse(answer.counts_for_score)
      assert.match(answer.note ?? "", /paper-trade signal/)
      assert.isNull(answer.receipt)
      assert.deepStrictEqual(yield* storedPredictions(challenge), [])
      assert.deepStrictEqual(yield* countsOf(challenge), [0, 0, 0, 0])
      assert.deepStrictEqual((yield* paperSignals(agent, challenge)).items, [
        {
          prediction_id: answer.prediction_id,
          challenge_id: challenge.id,
          direction: "neutral",
          confidence: 0.7,
          reasoning: "flat",
          created_at: answer.created_at,
          position: null
        }
      ])
    })
  )

  it.effect("A prediction on a resolved challenge is a paper-trade signal, also of a scored agent", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const agent = yield* claimedAgent()
      yield* predict(agent, challenge)
      const now = yield* TestClock.adjust("1 hour").pipe(Effect.andThen(DateTime.now))
      yield* importQuotes("GC", [[now, 110]])
      yield* settleDue
      const late = yield* predict(agent, challenge, { direction: "bearish", is_revision: true })
      assert.isFalse(late.answer.counts_for_score)
      assert.isString(late.answer.note)
      const results = yield* resultsOf(challenge)
      assert.strictEqual(results.status, "resolved")
      assert.deepStrictEqual(
        results.predictions.map(({ direction, score }) => [direction, score]),
        [["bullish", 75]]
      )
    })
  )

  it.effect("A paper-trade signal comes at least 60 s after the agent's last one on that challenge", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [challenge, another] = [yield* newChallenge(), yield* newChallenge()]
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      yield* TestClock.adjust("1 hour")
      yield* predict(agent, challenge)

      yield* TestClock.adjust("59999 millis")
      const refused = yield* Effect.flip(predict(agent, challenge))
      assert(refused._tag === "TooManyRequests")
      assert.strictEqual(refused.retry_after, 1)
      // Each agent and each challenge has a spacing of its own.
      yield* predict(other, challenge)
      yield* predict(agent, another)

      yield* TestClock.adjust("1 millis")
      yield* predict(agent, challenge)
      assert.strictEqual((yield* paperSignals(agent, challenge)).items.length, 2)
    })
  )

  it.effect("An agent reads its own paper-trade signals, newest first, page by page", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const arenas = yield* Arenas
      const challenge = yield* newChallenge()
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      yield* TestClock.adjust("1 hour")
      const sent: Array<string> = []
      for (let signal = 0; signal < 5; signal++) {
        yield* TestClock.adjust("1 minute")
        sent.unshift((yield* predict(agent, challenge)).answer.prediction_id)
        yield* predict(other, challenge)
      }
      const first = yield* arenas.paperSignals(agent, challenge.id, {
        limit: 3,
        cursor: undefined
      })
      const second = yield* arenas.paperSignals(agent, challenge.id, {
        limit: 3,
        cursor: first.next_cursor ?? undefined
      })
      assert.isNull(second.next_cursor)
      assert.deepStrictEqual(
        [...first.items, ...second.items].map((each) => each.prediction_id),
        sent
      )
    })
  )
})

layer(testServices())("The receipt", (it) => {
  it.effect("A receipt has the same body for the same challenge id in capitals", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      const { answer } = yield* predict(agent, { id: challenge.id.toUpperCase() })
      assert.include(answer.receipt?.body ?? "", `"challenge_id":"${challenge.id}"`)
      const again = yield* Effect.flip(predict(agent, challenge))
      assert.strictEqual(again._tag, "DuplicatePrediction")
    })
  )
})

layer(testServices())("The counts of a challenge", (it) => {
  const Step = Schema.Struct({
    agent: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
    direction: Direction,
    is_revision: Schema.Boolean
  })

  it.effect.prop(
    "The counts of a challenge equal the latest revisions, after any sequence of submissions",
    [Schema.Array(Step).check(Schema.isMaxLength(30))],
    ([steps]) =>
      Effect.gen(function* () {
        yield* freshWeek
        const challenge = yield* newChallenge()
        // A claimed agent may revise more often than there are steps.
        const agents = yield* Effect.replicateEffect(claimedAgent(), 5)
        const latest = new Map<number, Direction>()
        for (const { agent, direction, is_revision } of steps) {
          const agentId = agents[agent]
          assert(agentId !== undefined)
          yield* predict(agentId, challenge, { direction, is_revision }).pipe(
            Effect.catchTag("DuplicatePrediction", () => Effect.void)
          )
          if (is_revision || !latest.has(agent)) latest.set(agent, direction)
        }
        const having = (wanted: Direction) => [...latest.values()].filter((each) => each === wanted).length
        assert.deepStrictEqual(yield* countsOf(challenge), [
          latest.size,
          having("bullish"),
          having("bearish"),
          having("neutral")
        ])
      }),
    { arbitrary: { runs: breadth(8, 25), size: 30 } }
  )
})

layer(testServices({ AUSPEX_LIMIT_PREDICTIONS: "1/minute" }))("A prediction that a limit admits", (it) => {
  it.effect("A prediction that a limit admits is recorded, even if it came before there was room", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const arenas = yield* Arenas
      const [first, second] = [yield* newChallenge(), yield* newChallenge()]
      const recording = (challenge: { readonly id: string }, receivedAt: DateTime.Utc) =>
        Effect.map(
          arenas.predict([
            {
              agentId: agent,
              challengeId: challenge.id,
              answer: { direction: "bullish", confidence: 0.5 },
              receivedAt,
              owed: [["predictions", agent]]
            }
          ]),
          ([outcome]) => outcome
        )
      yield* recording(first, yield* DateTime.now)
      yield* TestClock.adjust("1 minute")
      const received = millisBefore(yield* DateTime.now, 1)
      const outcome = yield* recording(second, received)
      assert(outcome !== undefined)
      assert.isTrue(Result.isSuccess(outcome))
    })
  )

  it.effect("Predictions on one challenge in a batch are taken in the order in which they stand there", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const arenas = yield* Arenas
      const receivedAt = yield* DateTime.now
      const [one, other] = [yield* newChallenge(), yield* newChallenge()]
      const outcomes = yield* arenas.predict(
        [one, other, one].map(({ id }, place) => ({
          agentId: agent,
          challengeId: id,
          answer: { direction: "bullish", confidence: place / 10, is_revision: place === 2 },
          receivedAt,
          owed: []
        }))
      )
      assert.deepStrictEqual(
        outcomes.map((each) => (Result.isSuccess(each) ? each.success.answer.revision_count : each.failure)),
        [0, 0, 1]
      )
      assert.deepStrictEqual(
        (yield* storedPredictions(one)).map(({ confidence }) => confidence),
        ["0", "0.2"]
      )
    })
  )
})

/** Predictions: which of them count, and what a receipt proves. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import canonicalize from "canonicalize"
import { DateTime, Effect, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Arenas } from "../../src/services/Arenas.ts"
import { emptyAnswer } from "../../src/services/domain/Prediction.ts"
import { Direction } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { breadth } from "../support/breadth.ts"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, importQuotes, millisBefore, newChallenge, plus, predict } from "../support/challenges.ts"
import { countOf, rowsOf } from "../support/database.ts"
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

const settle = Scoring.use((scoring) => scoring.settleDue)

layer(testServices())("A prediction on an open challenge", (it) => {
  it.effect("The first prediction before the deadline counts for score", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      const { answer, replaced } = yield* predict(agent, challenge, {
        direction: "bearish",
        confidence: 0.25,
        reasoning: "Stocks are high."
      })
      assert.isFalse(replaced)
      const { prediction_id, receipt, ...shown } = answer
      assert.deepStrictEqual(shown, {
        challenge_id: challenge.id,
        ...emptyAnswer,
        direction: "bearish",
        confidence: 0.25,
        created_at: DateTime.formatIso(now),
        counts_for_score: true,
        note: null,
        revision_count: 0
      })
      assert.match(prediction_id, /^[0-9a-f-]{36}$/)
      assert.isNotNull(receipt)
      assert.deepStrictEqual(yield* countsOf(challenge), [1, 0, 1, 0])
    })
  )

  it.effect("A second prediction without is_revision is rejected as a duplicate, and changes nothing", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      yield* predict(agent, challenge)
      for (const again of [{}, { is_revision: false }, { direction: "bearish" as const }]) {
        const refused = yield* Effect.flip(predict(agent, challenge, again))
        assert.strictEqual(refused._tag, "DuplicatePrediction")
        assert.strictEqual(refused.code, "duplicate_prediction")
      }
      assert.strictEqual((yield* storedPredictions(challenge)).length, 1)
      assert.deepStrictEqual(yield* countsOf(challenge), [1, 1, 0, 0])
    })
  )

  it.effect("A revision before the deadline replaces the prediction; all revisions are kept", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      const first = yield* predict(agent, challenge, { reasoning: "one" })
      yield* TestClock.adjust("1 minute")
      const second = yield* predict(agent, challenge, { direction: "neutral", is_revision: true })
      yield* TestClock.adjust("1 minute")
      const third = yield* predict(agent, challenge, {
        direction: "bearish",
        confidence: 1,
        reasoning: "three",
        is_revision: true
      })
      assert.deepStrictEqual(
        [first, second, third].map(({ answer, replaced }) => [
          replaced,
          answer.revision_count,
          answer.counts_for_score
        ]),
        [
          [false, 0, true],
          [true, 1, true],
          [true, 2, true]
        ]
      )
      assert.deepStrictEqual(yield* storedPredictions(challenge), [
        { revision: 0, direction: "bullish", confidence: "0.5", reasoning: "one" },
        { revision: 1, direction: "neutral", confidence: "0.5", reasoning: null },
        { revision: 2, direction: "bearish", confidence: "1", reasoning: "three" }
      ])
      assert.deepStrictEqual(yield* countsOf(challenge), [1, 0, 1, 0])
    })
  )

  it.effect("A prediction with is_revision and none before it is taken as the first one", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      const { answer, replaced } = yield* predict(agent, challenge, { is_revision: true })
      assert.isFalse(replaced)
      assert.strictEqual(answer.revision_count, 0)
      assert.isTrue(answer.counts_for_score)
    })
  )

  it.effect("A prediction counts up to one millisecond before the deadline, and not at the deadline", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      const [early, late] = [yield* claimedAgent(), yield* claimedAgent()]
      const counted = yield* predict(early, challenge, {}, millisBefore(deadline, 1))
      assert.isTrue(counted.answer.counts_for_score)
      const paper = yield* predict(late, challenge, {}, deadline)
      assert.isFalse(paper.answer.counts_for_score)
      assert.deepStrictEqual(yield* countsOf(challenge), [1, 1, 0, 0])
    })
  )

  it.effect("A revision at the deadline does not replace the prediction", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      const agent = yield* claimedAgent()
      yield* predict(agent, challenge)
      const late = yield* predict(agent, challenge, { direction: "bearish", is_revision: true }, deadline)
      assert.isFalse(late.answer.counts_for_score)
      assert.isFalse(late.replaced)
      assert.deepStrictEqual(yield* countsOf(challenge), [1, 1, 0, 0])
    })
  )

  it.effect("A prediction stamped in time counts until the challenge is closed, and is refused then", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline, resolve_at: plus(deadline, "1 day") })
      const [onItsWay, tooLate] = [yield* claimedAgent(), yield* claimedAgent()]
      const stamp = millisBefore(deadline, 1)

      yield* TestClock.setTime(DateTime.toEpochMillis(deadline) + 14_999)
      yield* settle
      const accepted = yield* predict(onItsWay, challenge, {}, stamp)
      assert.isTrue(accepted.answer.counts_for_score)

      yield* TestClock.adjust("1 millis")
      yield* settle
      const shutOut = yield* Effect.flip(predict(tooLate, challenge, {}, stamp))
      assert.strictEqual(shutOut._tag, "NotRecordedInTime")
      assert.include("detail" in shutOut ? shutOut.detail : "", `received at ${DateTime.formatIso(stamp)}`)
      assert.isFalse((yield* predict(tooLate, challenge)).answer.counts_for_score)
      assert.deepStrictEqual(yield* countsOf(challenge), [1, 1, 0, 0])
    })
  )

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

  it.effect("A cancelled challenge rejects predictions and paper-trade signals", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const challenge = yield* newChallenge()
      const [earlier, newcomer] = [yield* claimedAgent(), yield* claimedAgent()]
      yield* predict(earlier, challenge)
      yield* Scoring.use((scoring) => scoring.void("directional", challenge.id, "The exchange was shut."))
      const submissions = [
        predict(newcomer, challenge),
        predict(earlier, challenge),
        predict(earlier, challenge, { is_revision: true }),
        predict(newcomer, challenge, {}, plus(now, "2 hours"))
      ]
      for (const submission of submissions) {
        const refused = yield* Effect.flip(submission)
        assert.strictEqual(refused._tag, "ChallengeCancelled")
        assert.strictEqual(refused.code, "challenge_cancelled")
      }
      assert.strictEqual((yield* storedPredictions(challenge)).length, 1)
      assert.deepStrictEqual((yield* paperSignals(newcomer, challenge)).items, [])
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
      yield* settle
      const late = yield* predict(agent, challenge, { direction: "bearish", is_revision: true })
      assert.isFalse(late.answer.counts_for_score)
      assert.isString(late.answer.note)
      const results = yield* Arenas.use((arenas) => arenas.results(challenge.id, firstPage))
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
  const commitOf = (salt: string, body: string) =>
    createHash("sha256")
      .update("auspex/commit/v1")
      .update(Buffer.from([0]))
      .update(Buffer.from(salt, "hex"))
      .update(body, "utf8")
      .digest("hex")

  it.effect(
    "A receipt commits to the canonical body with the salt, and the agent can prove what it sent",
    () =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const agent = yield* claimedAgent()
        const challenge = yield* newChallenge()
        const reasoning = 'Gold \u{1f947}, "quoted" \\ line\nbreak, Überraschung'
        for (const revision of [0, 1, 2]) {
          const { answer } = yield* predict(agent, challenge, {
            direction: "neutral",
            confidence: 0.1 + 0.2,
            reasoning,
            is_revision: true
          })
          assert(answer.receipt !== null)
          const { commit, salt, body, leaf_index } = answer.receipt
          assert.strictEqual(commit, commitOf(salt, body))
          assert.match(salt, /^[0-9a-f]{64}$/)
          assert.isNull(leaf_index)
          assert.strictEqual(body, canonicalize(JSON.parse(body)))
          assert.deepStrictEqual(JSON.parse(body), {
            agent_id: agent,
            challenge_id: challenge.id,
            kind: "directional",
            reasoning_sha256: createHash("sha256").update(reasoning, "utf8").digest("hex"),
            received_at: DateTime.formatIso(now),
            revision,
            values: { confidence: 0.1 + 0.2, direction: "neutral" }
          })
        }
      })
  )

  it.effect("A receipt has a salt of its own each time, and no reasoning hash without a reasoning", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const salts = new Set<string>()
      for (let each = 0; each < 5; each++) {
        const { answer } = yield* predict(yield* claimedAgent(), challenge)
        assert(answer.receipt !== null)
        salts.add(answer.receipt.salt)
        assert.include(answer.receipt.body, '"reasoning_sha256":null')
      }
      assert.strictEqual(salts.size, 5)
    })
  )

  it.effect("A receipt is that of the stored record, and is shown again to its agent", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      yield* predict(agent, challenge)
      const { answer } = yield* predict(agent, challenge, { confidence: 1, is_revision: true })
      const own = yield* Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage))
      assert.deepStrictEqual(
        own.items.map((each) => [each.prediction_id, each.revision_count, each.receipt]),
        [[answer.prediction_id, 1, answer.receipt]]
      )
      const stored = yield* rowsOf(
        Schema.Struct({ commit: Schema.String }),
        (sql) => sql`select encode(commit, 'hex') as commit from predictions
                      where challenge_id = ${challenge.id}::uuid and revision = 1`
      )
      assert.deepStrictEqual(stored, [{ commit: answer.receipt?.commit ?? "none" }])
    })
  )

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

  it.effect("The counts of a challenge are public before the deadline", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      yield* predict(yield* claimedAgent(), challenge, { direction: "neutral" })
      assert.deepStrictEqual(yield* countsOf(challenge), [1, 0, 0, 1])
      const results = yield* Arenas.use((arenas) => arenas.results(challenge.id, firstPage))
      assert.strictEqual(results.prediction_count, 1)
      assert.strictEqual(
        yield* countOf(
          (sql) =>
            sql`select count(*)::int as count from predictions where challenge_id = ${challenge.id}::uuid`
        ),
        1
      )
    })
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

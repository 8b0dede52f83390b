/** Practice questions through HTTP: always open, answered like challenges, scored at once, and absent from everything else. */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, Clock, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Jobs from "../../src/jobs/Jobs.ts"
import { directionalResult, directionalScore } from "../../src/scoring/directional.ts"
import { commitOf } from "../../src/scoring/verifier/entries.ts"
import { Practice } from "../../src/services/Practice.ts"
import { emptyAnswer } from "../../src/services/domain/Prediction.ts"
import { onboard, onboardClaimed } from "../support/agents.ts"
import { freshWeek, newChallenge, plus } from "../support/challenges.ts"
import { concurrently, times } from "../support/concurrently.ts"
import { countOf } from "../support/database.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import { readUntil } from "../support/waiting.ts"

const open = "/api/v1/eval/open"
const own = "/api/v1/agent/practice"
const predictions = "/api/v1/eval/predictions"

const listOf = (json: unknown): ReadonlyArray<unknown> => {
  const items = member(json, "items")
  return Array.isArray(items) ? items : []
}

const all = (items: ReadonlyArray<unknown>, name: string) => items.map((item) => member(item, name))

const makeDue = Practice.use((practice) => practice.makeDue)

/** The practice questions open a second after they opened, in a week of its own, and an agent that may answer them. */
const begun = Effect.gen(function* () {
  yield* freshWeek
  yield* TestClock.adjust("1 second")
  yield* makeDue
  const agent = yield* onboard()
  const questions = listOf((yield* get(`${open}?practice=true`)).json)
  const [first, second] = all(questions, "challenge_id").map(String)
  assert(first !== undefined && second !== undefined)
  const predict = (fields: object = {}, id = first) =>
    post(`/api/v1/eval/challenges/${id}/predict`, {
      token: agent.token,
      json: { direction: "bullish", confidence: 0.5, ...fields }
    })
  return { ...agent, questions, first, second, predict }
})

layer(testServer())("A newcomer", (it) => {
  it.effect("A newcomer reads its first settled answer within three minutes of a fresh start", () =>
    Effect.gen(function* () {
      const started = Date.parse("2026-03-08T03:17:51Z")
      yield* TestClock.setTime(started)
      yield* Layer.build(Jobs.layer)

      const { token } = yield* onboard()
      // The newcomer misses the questions that were open, and takes the next ones.
      yield* TestClock.adjust("20 seconds")
      const questions = yield* readUntil(
        Effect.map(get(open, { token }), ({ json }) => listOf(json)),
        (items) => items.length > 0
      )
      const answers = all(questions, "challenge_id").map((challenge_id) => ({
        challenge_id,
        direction: "bullish",
        confidence: 0.6
      }))
      yield* post(predictions, { token, json: { predictions: answers } })
      const record = yield* TestClock.adjust("5 seconds").pipe(
        Effect.andThen(get(own, { token })),
        Effect.repeat({ until: ({ json }) => typeof member(json, "items", 0, "score") === "number" })
      )

      assert.isAtMost((yield* Clock.currentTimeMillis) - started, 180_000)
      assert.sameMembers(all(listOf(record.json), "asset"), ["BTC", "ETH", "GC"])
      assert.strictEqual(member(record.json, "scorecard", "prediction_count"), 3)
    })
  )
})

layer(testServer())("Practice questions", (it) => {
  it.effect("One practice question of two minutes is open for each of BTC, ETH and GC at every moment", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      for (const second of [0, 1, 119, 120, 200, 240, 359]) {
        yield* TestClock.setTime(DateTime.toEpochMillis(plus(monday, `${second} seconds`)))
        if (second % 120 === 1 || second === 0 || second === 200) yield* makeDue
        const items = listOf((yield* get(open)).json)
        assert.deepStrictEqual(all(items, "asset").toSorted(), ["BTC", "ETH", "GC"], String(second))
        const slot = second - (second % 120)
        assert.isTrue(
          items.every(
            (item) =>
              member(item, "created_at") === DateTime.formatIso(plus(monday, `${slot} seconds`)) &&
              member(item, "deadline") === DateTime.formatIso(plus(monday, `${slot + 120} seconds`))
          )
        )
      }
    })
  )

  it.effect("Racing replicas make a practice question once, and none for a time when no server ran", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const count = countOf((sql) => sql`select count(*)::int as count from practice_questions`)
      const before = yield* count
      yield* concurrently(times(5, () => makeDue))
      yield* TestClock.adjust("2 days")
      yield* concurrently(times(5, () => makeDue))
      assert.strictEqual(yield* count, before + 2 * 2 * 3)
    })
  )

  it.effect("A practice question shows another date, and tells no outcome before the deadline", () =>
    Effect.gen(function* () {
      const { predict, questions, token } = yield* begun
      for (const question of questions) {
        const candles = member(question, "context", "candles")
        assert(Array.isArray(candles))
        assert.lengthOf(candles, 24)
        assert.strictEqual(member(candles, 0, "close"), member(question, "open_price"))
        const opens = DateTime.makeUnsafe(String(member(question, "created_at")))
        assert.deepStrictEqual(
          all(candles, "time"),
          times(24, (index) => DateTime.formatIso(DateTime.subtract(opens, { hours: index + 1 })))
        )
        assert.deepInclude(question, { type: "directional", kind: "practice", practice: true })
        const id = String(member(question, "challenge_id"))
        assert.deepStrictEqual((yield* get(`${open}/${id}`)).json, question)
        yield* predict({}, id)
      }
      for (const item of listOf((yield* get(own, { token })).json)) {
        const { close_price, is_correct, result, score } = Object.fromEntries(Object.entries(item ?? {}))
        assert.deepStrictEqual([close_price, is_correct, result, score], [null, null, null, null])
      }
    })
  )

  it.effect("A practice answer is scored by the rules of directions, and its receipt holds", () =>
    Effect.gen(function* () {
      const { predict, questions, token } = yield* begun
      const answers = yield* Effect.forEach(questions, (question, index) =>
        predict(
          { confidence: 0.3, direction: ["bullish", "neutral", "bearish"][index] },
          String(member(question, "challenge_id"))
        )
      )
      for (const { json, status } of answers) {
        assert.strictEqual(status, 201)
        const [body, commit, salt] = ["body", "commit", "salt"].map((name) =>
          String(member(json, "receipt", name))
        )
        assert.strictEqual(
          yield* Effect.promise(() => commitOf({ body: body ?? "", salt: salt ?? "" })),
          commit
        )
        assert.isNull(member(json, "receipt", "leaf_index"))
        assert.strictEqual(json["counts_for_score"], false)
      }
      yield* TestClock.adjust("119 seconds")
      const { json } = yield* get(own, { token })
      const items = listOf(json)
      assert.lengthOf(items, 3)
      for (const item of items) {
        const question = questions.find((each) => member(each, "asset") === member(item, "asset"))
        const exact = (value: unknown) => BigDecimal.fromStringUnsafe(String(value))
        const result = directionalResult(
          exact(member(item, "open_price")),
          exact(member(item, "close_price")),
          exact(member(question, "dead_zone_pct"))
        )
        const isRight = member(item, "direction") === result
        assert.deepInclude(item, {
          result,
          is_correct: isRight,
          score: BigDecimal.toNumberUnsafe(directionalScore(isRight, exact(0.3))),
          challenge_status: "resolved"
        })
      }
      const correct = all(items, "is_correct").filter((each) => each === true).length
      assert.deepInclude(member(json, "scorecard"), { prediction_count: 3, correct_count: correct })
      assert.closeTo(Number(member(json, "scorecard", "accuracy_rate")), correct / 3, 1e-12)
      assert.closeTo(
        Number(member(json, "scorecard", "avg_score")),
        (correct * 65 + (3 - correct) * 35) / 3,
        1e-9
      )
      assert.strictEqual((yield* get(own)).status, 401)
    })
  )

  it.effect("A practice question takes revisions, and refuses what directional challenges refuse", () =>
    Effect.gen(function* () {
      const { first, predict, second, token } = yield* begun
      yield* predict()
      assert.strictEqual((yield* predict()).json["code"], "duplicate_prediction")
      const other = yield* predict({ is_revision: true, expected_revision: 4 })
      assert.deepInclude(other.json, { code: "revision_conflict", current_revision: 0 })
      const revised = yield* predict({ is_revision: true, expected_revision: 0, direction: "bearish" })
      assert.deepInclude(revised.json, { revision_count: 1, direction: "bearish" })
      assert.strictEqual(revised.status, 200)
      const shown = yield* get(`${open}/${first}`, { token })
      assert.deepInclude(member(shown.json, "mine"), {
        revision_count: 1,
        may_revise: true,
        predictions_left: null,
        answer: { ...emptyAnswer, direction: "bearish", confidence: 0.5 }
      })
      assert.strictEqual(member(shown.json, "prediction_count"), 1)
      const number = yield* post(`/api/v1/eval/challenges/${second}/predict`, {
        token,
        json: { predicted_value: 1, predicted_std: 1 }
      })
      assert.deepStrictEqual(wrongFields(number), ["confidence", "direction"])
      const staker = yield* onboardClaimed({ requested_scopes: ["prediction:submit", "credits:stake"] })
      const staked = yield* post(`/api/v1/eval/challenges/${second}/predict`, {
        token: staker.token,
        json: { direction: "bullish", confidence: 0.5, amount: 50 }
      })
      assert.deepStrictEqual(wrongFields(staked), ["amount"])
      // The next one is made, and nobody can know its id.
      const sql = yield* SqlClient.SqlClient
      const [next] = yield* sql`select id::text from practice_questions order by opened_at desc limit 1`
        .values
      assert.strictEqual((yield* predict({}, String(next?.[0]))).status, 404)
      const batch = yield* post(predictions, {
        token,
        json: {
          predictions: [first, second, second, "nonsense"].map((challenge_id) => ({
            challenge_id,
            direction: "neutral",
            confidence: 1,
            is_revision: challenge_id === first,
            predicted_value: 3
          }))
        }
      })
      assert.deepStrictEqual(
        listOf(batch.json).map((item) => member(item, "error", "code") ?? member(item, "outcome")),
        ["revised", "recorded", "duplicate_prediction", "not_found"]
      )
      assert.deepStrictEqual(member(batch.json, "items", 0, "ignored_fields"), ["predicted_value"])
      yield* TestClock.adjust("119 seconds")
      assert.deepInclude((yield* predict({ is_revision: true })).json, { code: "challenge_closed" })
      assert.strictEqual((yield* get(`${open}/${first}`)).status, 404)
    })
  )

  it.effect("Of many first answers at once one is recorded, and every revision is", () =>
    Effect.gen(function* () {
      const { predict, token } = yield* begun
      const racing = yield* Effect.forEach(
        times(6, (nth) => nth),
        () => predict(),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(racing.map(({ status }) => status).toSorted(), [201, 400, 400, 400, 400, 400])
      yield* Effect.forEach(
        times(6, (nth) => nth),
        () => predict({ is_revision: true }),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(member((yield* get(own, { token })).json, "items", 0, "revision_count"), 6)
    })
  )

  it.effect("Practice questions are in no list, board, count or log of challenges", () =>
    Effect.gen(function* () {
      const { agentId, first, predict, token } = yield* begun
      yield* predict()
      yield* TestClock.adjust("119 seconds")
      for (const path of [
        "/api/v1/eval/challenges",
        "/api/v1/agent/predictions",
        "/api/v1/eval/leaderboard",
        `/api/v1/eval/agents/${agentId}/scorecard`
      ]) {
        const { json, text } = yield* get(path, { token })
        assert.deepStrictEqual([listOf(json), text.includes(first)], [[], false], path)
      }
      assert.strictEqual((yield* get(`/api/v1/eval/challenges/${first}/results`)).status, 404)
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(
        yield* sql`
          select a.predictions_used, (select count(*)::int from predictions) as predictions,
                 (select count(*)::int from log_pending where type like 'prediction%') as pending
            from agents a where a.id = ${agentId}::uuid`,
        [{ predictions_used: 0, predictions: 0, pending: 0 }]
      )
    })
  )

  it.effect("Practice questions are in GET /eval/open by deadline, and filtered by practice and kind", () =>
    Effect.gen(function* () {
      const { questions, second } = yield* begun
      const soon = yield* newChallenge({ deadline: plus(yield* DateTime.now, "1 minute") })
      const late = yield* newChallenge({ deadline: plus(yield* DateTime.now, "1 hour") })
      const found = Effect.fnUntraced(function* (query: string) {
        return all(listOf((yield* get(`${open}?${query}`)).json), "challenge_id")
      })
      const practised = all(questions, "challenge_id")
      const inOrder = [soon.id, ...practised, late.id]
      assert.deepStrictEqual(yield* found(""), inOrder)
      const paged: Array<unknown> = []
      let cursor: unknown = ""
      while (typeof cursor === "string") {
        const page = yield* get(`${open}?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`)
        paged.push(...all(listOf(page.json), "challenge_id"))
        cursor = page.json["next_cursor"]
      }
      assert.deepStrictEqual(paged, inOrder)
      assert.deepStrictEqual(yield* found("practice=true"), practised)
      assert.deepStrictEqual(yield* found("kind=practice"), practised)
      for (const query of ["practice=false", "kind=session"]) {
        assert.deepStrictEqual(yield* found(query), [soon.id, late.id], query)
      }
      assert.deepStrictEqual(yield* found("practice=true&kind=session"), [])
      assert.deepStrictEqual(yield* found("type=macro"), [])
      const asset = String(member(questions[1], "asset"))
      assert.deepStrictEqual(yield* found(`practice=true&asset=${asset}`), [second])
      assert.lengthOf(yield* found("practice=true&category=crypto"), 2)
      assert.deepStrictEqual(wrongFields(yield* get(`${open}?practice=maybe`)), ["practice"])
    })
  )

  it.effect("Practice questions are deleted after three days, a few at a time", () =>
    Effect.gen(function* () {
      const { predict } = yield* begun
      yield* predict()
      yield* TestClock.adjust("73 hours")
      yield* makeDue
      yield* Practice.use((practice) => Effect.repeat(practice.trim, { times: 5 }))
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`
        select (select count(*)::int from practice_questions) as questions,
               (select count(*)::int from practice_predictions) as answers`
      assert.deepStrictEqual(rows, [{ questions: 6, answers: 0 }])
    })
  )
})

layer(testServer({ environment: { AUSPEX_LIMIT_PREDICTIONS: "2/minute" } }))("Practice predictions", (it) => {
  it.effect("Practice predictions count towards the limit of accepted predictions", () =>
    Effect.gen(function* () {
      const { predict, questions, second, token } = yield* begun
      yield* predict()
      const batch = yield* post(predictions, {
        token,
        json: {
          predictions: all(questions, "challenge_id").map((challenge_id) => ({
            challenge_id,
            direction: "neutral",
            confidence: 0.5
          }))
        }
      })
      assert.deepStrictEqual(
        listOf(batch.json).map((item) => member(item, "error", "code") ?? member(item, "outcome")),
        ["duplicate_prediction", "recorded", "rate_limited"]
      )
      assert.strictEqual((yield* predict({ is_revision: true }, second)).status, 429)
    })
  )
})

/** Answers in a batch: each item has the outcome and receipt, or the error, of a single answer. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { timestamp } from "../../src/layers/postgres/sql.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboard, onboardClaimed } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { heldUpAt } from "../support/crash.ts"
import { fund } from "../support/credit.ts"
import { rowsOf } from "../support/database.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const path = "/api/v1/eval/predictions"
const up = { direction: "bullish", confidence: 0.5 }
const normal = { predicted_value: 3.1, predicted_std: 0.1 }
const samples = times(10, (place) => 3 + place / 100)
const unknownId = "0190f000-0000-7000-8000-000000000000"

const send = (token: string, predictions: unknown, headers: Readonly<Record<string, string>> = {}) =>
  post(path, { token, headers, json: { predictions } })

const itemsOf = ({ json }: Answer): ReadonlyArray<unknown> => {
  const { items } = json
  return Array.isArray(items) ? items : []
}

/** The outcome of each item, or the code of its error. */
const outcomesOf = (answer: Answer): ReadonlyArray<unknown> =>
  itemsOf(answer).map((item) => member(item, "error", "code") ?? member(item, "outcome"))

const isLimited = ({ headers, json, status }: Answer): boolean =>
  status === 429 &&
  json["code"] === "rate_limited" &&
  headers.get("retry-after") === String(json["retry_after"])

const predictionsOf = (agentId: string) =>
  rowsOf(
    Schema.Struct({ challenge_id: Schema.String, revision: Schema.Int }),
    (sql) => sql`
      select challenge_id::text, revision from predictions where agent_id = ${agentId}::uuid
       order by challenge_id, revision`
  )

/** A claimed agent subscribed to ETH, in a week of its own. */
const predictor = Effect.gen(function* () {
  yield* freshWeek
  const agent = yield* onboardClaimed()
  yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), "ETH"))
  return agent
})

layer(testServer())("POST /eval/predictions", (it) => {
  it.effect("A batch answers questions of every type, and each item's receipt proves what was sent", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* predictor
      const gold = yield* newChallenge()
      const cpi = yield* newMacro()
      const barrier = yield* newPriceEvent({ kind: "barrier" })
      const count = yield* newPriceEvent({ kind: "count_days" })
      const answer = yield* send(token, [
        { challenge_id: gold.id, ...up, reasoning: "Calm." },
        { challenge_id: cpi.id, ...normal },
        { challenge_id: barrier.id, direction: "bearish", confidence: 1 },
        { challenge_id: count.id, predicted_value: 4, predicted_std: 1.5 }
      ])
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(
        outcomesOf(answer),
        times(4, () => "recorded")
      )
      const items = itemsOf(answer)
      assert.deepStrictEqual(
        items.map((item) => member(item, "challenge_id")),
        [gold.id, cpi.id, barrier.id, count.id]
      )
      for (const item of items) {
        const [body, commit, salt] = ["body", "commit", "salt"].map((name) =>
          String(member(item, "receipt", name))
        )
        const sealed = createHash("sha256")
          .update("auspex/commit/v1\0")
          .update(Buffer.from(salt ?? "", "hex"))
          .update(body ?? "")
        assert.strictEqual(sealed.digest("hex"), commit)
        assert.strictEqual(member(JSON.parse(body ?? ""), "agent_id"), agentId)
      }
      assert.strictEqual(member(items[1], "predicted_value"), 3.1)
      assert.isNull(member(items[1], "stake"))
      assert.isNull(member(items[0], "predicted_value"))
    })
  )

  it.effect("An item of a batch that fails has the error of a single answer; the others are taken", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* predictor
      const [gold, again, cpi] = [yield* newChallenge(), yield* newChallenge(), yield* newMacro()]
      const late = yield* newMacro()
      const cancelled = yield* newChallenge()
      yield* post(`/api/v1/admin/challenges/${cancelled.id}/cancel`, {
        token: "admin",
        json: { reason: "why" }
      })
      const other = yield* newPriceEvent({ kind: "barrier", asset: "BTC" })
      const close = yield* newPriceEvent({ kind: "numeric_close" })
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        update challenges set cancelled_at = created_at, cancel_reason = 'why' where id = ${cancelled.id}::uuid`
      yield* sql`update challenges set closed_at = deadline where id = ${late.id}::uuid`
      yield* send(token, [{ challenge_id: again.id, ...up }])
      const wrong = [
        { challenge_id: gold.id, direction: "up", confidence: 2 },
        { challenge_id: unknownId, ...up },
        { challenge_id: "GC", ...up },
        { challenge_id: cancelled.id, ...up },
        { challenge_id: again.id, ...up },
        { challenge_id: again.id, ...up, is_revision: true, expected_revision: 7 },
        { challenge_id: late.id, ...normal },
        { challenge_id: cpi.id, ...up },
        { challenge_id: cpi.id, predicted_value: 3.1, predicted_std: 1e300 },
        { challenge_id: cpi.id, predicted_value: null, predicted_std: -1 },
        { challenge_id: other.id, ...up },
        { challenge_id: close.id, predicted_value: 1e16, predicted_std: 1 },
        { challenge_id: gold.id, ...up, amount: 60 }
      ]
      const alone = yield* Effect.forEach(wrong, ({ challenge_id, ...json }) =>
        post(`/api/v1/eval/challenges/${challenge_id}/predict`, { token, json })
      )
      const together = yield* send(token, [
        ...wrong,
        "nonsense",
        { ...up },
        { challenge_id: gold.id, ...up, summary: "Calm.", predicted_value: 1 }
      ])
      assert.strictEqual(together.status, 200)
      for (const [index, { json, status }] of alone.entries()) {
        assert.isAtLeast(status, 400)
        const item = itemsOf(together)[index]
        assert.deepStrictEqual(
          [member(item, "outcome"), member(item, "status"), member(item, "error")],
          ["refused", status, json],
          JSON.stringify(wrong[index])
        )
        assert.strictEqual(member(item, "challenge_id"), wrong[index]?.challenge_id)
      }
      const [nonsense, nameless, right] = itemsOf(together).slice(wrong.length)
      assert.deepStrictEqual(
        [member(nonsense, "challenge_id"), member(nonsense, "error", "code")],
        [null, "invalid_request"]
      )
      assert.strictEqual(member(nameless, "error", "errors", 0, "path"), "challenge_id")
      assert.strictEqual(member(right, "outcome"), "recorded")
      assert.deepStrictEqual(member(right, "ignored_fields"), ["predicted_value", "summary"])
      const stored = yield* predictionsOf(agentId)
      assert.deepStrictEqual(
        stored,
        [again, gold]
          .map(({ id }) => ({ challenge_id: id, revision: 0 }))
          .toSorted((one, two) => (one.challenge_id < two.challenge_id ? -1 : 1))
      )
    })
  )

  it.effect("Items of a batch on one challenge are taken in order: first, duplicate, revision", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const [gold, cpi] = [yield* newChallenge(), yield* newMacro()]
      const answer = yield* send(token, [
        { challenge_id: gold.id, ...up },
        { challenge_id: cpi.id, ...normal },
        { challenge_id: gold.id.toUpperCase(), ...up },
        { challenge_id: gold.id, direction: "neutral", confidence: 1, is_revision: true },
        { challenge_id: cpi.id, ...normal, predicted_value: 3.2 }
      ])
      assert.deepStrictEqual(outcomesOf(answer), [
        "recorded",
        "recorded",
        "duplicate_prediction",
        "revised",
        "revised"
      ])
      assert.strictEqual(member(itemsOf(answer)[3], "revision_count"), 1)
      const own = yield* get(`/api/v1/agent/predictions?challenge_id=${cpi.id}`, { token })
      assert.strictEqual(member(own.json, "items", 0, "predicted_value"), 3.2)
    })
  )

  it.effect("A batch of a hundred items is taken, also with many items on one challenge", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const open = yield* Effect.all(times(10, () => newMacro()))
      const answer = yield* send(
        token,
        times(100, (index) => ({ challenge_id: open[index % 10]?.id, ...normal, predicted_value: index }))
      )
      assert.deepStrictEqual(
        itemsOf(answer).map((item) => [member(item, "predicted_value"), member(item, "revision_count")]),
        times(100, (index) => [index, Math.floor(index / 10)])
      )
    })
  )

  it.effect("Only a wrong envelope refuses a whole batch, which then records nothing", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* predictor
      const { id } = yield* newChallenge()
      const item = { challenge_id: id, ...up }
      for (const json of [
        {},
        { predictions: [] },
        { predictions: times(101, () => item) },
        { predictions: item }
      ]) {
        const refused = yield* post(path, { token, json })
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["predictions"]])
      }
      const long = yield* post(path, {
        token,
        json: { predictions: [{ ...item, reasoning: "x".repeat(256 * 1024) }] }
      })
      assert.deepStrictEqual([long.status, long.json["code"]], [413, "payload_too_large"])
      const twice = yield* post(path, {
        token,
        body: `{"predictions":[{"challenge_id":"${id}","direction":"bullish","direction":"bearish","confidence":1}]}`,
        headers: { "content-type": "application/json" }
      })
      assert.strictEqual(twice.status, 400)
      assert.strictEqual((yield* post(path, { json: { predictions: [item] } })).status, 401)
      const { token: other } = yield* onboardClaimed({ requested_scopes: ["challenge:read"] })
      const unscoped = yield* send(other, [item])
      assert.deepStrictEqual([unscoped.status, unscoped.json["code"]], [403, "missing_scope"])
      assert.deepStrictEqual(yield* predictionsOf(agentId), [])
      assert.strictEqual((yield* send(token, [item])).status, 200)
    })
  )

  it.effect("A batch takes paper-trade signals after the deadline, a minute apart", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const [gold, open] = [
        yield* newChallenge({ resolve_at: plus(yield* freshWeek, "3 hours") }),
        yield* newChallenge({ deadline: plus(yield* freshWeek, "5 weeks") })
      ]
      yield* TestClock.adjust("1 hour")
      const sent = [
        { challenge_id: gold.id, ...up },
        { challenge_id: open.id, ...up },
        { challenge_id: gold.id, ...up }
      ]
      const { token: fresh } = yield* onboardClaimed()
      const answer = yield* send(fresh, sent)
      assert.deepStrictEqual(outcomesOf(answer), ["paper_trade", "recorded", "rate_limited"])
      assert.isNull(member(itemsOf(answer)[0], "receipt"))
      assert.isString(member(itemsOf(answer)[0], "note"))
      assert.strictEqual(member(itemsOf(answer)[2], "error", "retry_after"), 60)
      assert.isString(token)
    })
  )

  it.effect("The predictions of a batch are settled like single ones", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const { token } = yield* onboardClaimed()
      const gold = yield* newChallenge()
      yield* send(token, [{ challenge_id: gold.id, ...up }])
      yield* TestClock.adjust("2 hours")
      yield* importQuotes("GC", [[plus(now, "1 hour"), 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      const results = yield* get(`/api/v1/eval/challenges/${gold.id}/results`)
      assert.strictEqual(member(results.json, "predictions", 0, "score"), 75)
    })
  )
})

layer(testServer())("Stakes in a batch", (it) => {
  it.effect("A stake is made with its answer or not at all, each by the rules of its pool", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* onboardClaimed({
        requested_scopes: ["prediction:submit", "profile:read:self", "credits:stake"]
      })
      yield* fund(`agent:${agent.agentId}`, 120)
      const pools = [
        yield* newMacro(),
        yield* newMacro({ period: "2026-04" }),
        yield* newMacro({ period: "2026-05" })
      ]
      const answer = yield* send(
        agent.token,
        pools.map(({ id }) => ({ challenge_id: id, ...normal, amount: 50 }))
      )
      assert.deepStrictEqual(outcomesOf(answer), ["recorded", "recorded", "insufficient_credit"])
      assert.strictEqual(member(itemsOf(answer)[1], "stake", "available"), 20)
      assert.lengthOf(yield* predictionsOf(agent.agentId), 2)
      const balance = yield* get("/api/v1/agent/credits/balance", { token: agent.token })
      assert.deepStrictEqual([balance.json["available_balance"], balance.json["frozen_balance"]], [20, 100])
    })
  )

  it.effect("An item with a stake needs the scope for stakes; without it the item alone is refused", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const [gold, cpi] = [yield* newChallenge(), yield* newMacro()]
      const answer = yield* send(token, [
        { challenge_id: cpi.id, ...normal, amount: 50 },
        { challenge_id: gold.id, ...up },
        { challenge_id: 7, confidence: 2, amount: 50 }
      ])
      assert.deepStrictEqual(outcomesOf(answer), ["missing_scope", "recorded", "missing_scope"])
      const alone = yield* post(`/api/v1/eval/challenges/${cpi.id}/predict`, {
        token,
        json: { ...normal, amount: 50 }
      })
      assert.deepStrictEqual<unknown>(member(itemsOf(answer)[0], "error"), alone.json)
    })
  )
})

layer(testServer())("An Idempotency-Key of a batch", (it) => {
  it.effect("A batch sent again with its key gets the same answer, and revises nothing", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* predictor
      const open = yield* Effect.all(times(20, () => newMacro()))
      const sent = open.map(({ id }) => ({ challenge_id: id, ...normal }))
      const first = yield* send(token, sent, { "idempotency-key": "batch" })
      const again = yield* send(token, sent, { "idempotency-key": "batch" })
      assert.deepStrictEqual([again.status, again.text], [200, first.text])
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.deepStrictEqual(
        outcomesOf(first),
        times(20, () => "recorded")
      )
      assert.lengthOf(yield* predictionsOf(agentId), 20)
      const other = yield* send(token, sent.slice(1), { "idempotency-key": "batch" })
      assert.deepStrictEqual([other.status, other.json["code"]], [422, "idempotency_key_mismatch"])
    })
  )

  it.effect("A batch sent many times at once with one key is carried out once", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* predictor
      const open = yield* Effect.all(times(5, () => newMacro()))
      const sent = open.map(({ id }, place) => ({ challenge_id: id, ...(place < 2 ? normal : { samples }) }))
      const answers = yield* Effect.all(
        times(8, () => send(token, sent, { "idempotency-key": "at-once" })),
        { concurrency: 8 }
      )
      assert.isAtLeast(answers.filter(({ status }) => status === 200).length, 1)
      for (const { json, status } of answers) {
        if (status !== 200) assert.deepStrictEqual([status, json["code"]], [409, "idempotency_key_in_use"])
      }
      assert.deepStrictEqual(
        (yield* predictionsOf(agentId)).map(({ revision }) => revision),
        times(5, () => 0)
      )
    })
  )
})

layer(testServer(), { excludeTestServices: true })(
  "A batch without a key during which the database is lost",
  (it) => {
    it.effect(
      "A keyless batch records nothing when the database is lost, answers 503, and can be resent",
      () =>
        Effect.gen(function* () {
          const agent = yield* onboardClaimed({
            requested_scopes: ["prediction:submit", "profile:read:self", "credits:stake"]
          })
          yield* fund(`agent:${agent.agentId}`, 120)
          const [first, second] = [yield* newMacro(), yield* newMacro()]
          // Three statements: the first answer to each challenge, its revision, and the stake with its answer.
          const sent = send(agent.token, [
            { challenge_id: first.id, ...normal },
            { challenge_id: first.id, ...normal, predicted_value: 3.2 },
            { challenge_id: second.id, ...normal, amount: 50 }
          ])
          const told = yield* Deferred.make<Answer>()
          const sending = Effect.forkDetach(Deferred.into(sent, told))
          yield* heldUpAt("stakes", "access exclusive", sending, Effect.void)
          const lost = yield* Deferred.await(told)
          assert.deepStrictEqual([lost.status, lost.json["code"]], [503, "unavailable"])
          assert.deepStrictEqual(yield* predictionsOf(agent.agentId), [])
          assert.deepStrictEqual(outcomesOf(yield* sent), ["recorded", "revised", "recorded"])
        })
    )
  }
)

layer(testServer())("The provisional cap", (it) => {
  it.effect("The provisional cap counts the challenges of a batch, and takes the first that are left", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agentId, token } = yield* onboard()
      const open = yield* Effect.all(times(13, () => newChallenge()))
      const first = open.slice(0, 2).map(({ id }) => ({ challenge_id: id, ...up }))
      yield* send(token, first)
      const answer = yield* send(token, [
        // Revisions and refused items use none of it.
        { challenge_id: open[0]?.id, ...up, is_revision: true },
        { challenge_id: open[1]?.id, ...up },
        ...open.slice(2).map(({ id }) => ({ challenge_id: id, ...up }))
      ])
      assert.deepStrictEqual(outcomesOf(answer), [
        "revised",
        "duplicate_prediction",
        ...times(8, () => "recorded"),
        ...times(3, () => "provisional_limit")
      ])
      const sql = yield* SqlClient.SqlClient
      const [used] = yield* sql`select predictions_used from agents where id = ${agentId}::uuid`.values
      assert.deepStrictEqual(used, [10])
    })
  )

  it.effect.each([
    ["without keys", () => ({})],
    ["with keys", (index: number) => ({ "idempotency-key": `race-${index}` })]
  ] as const)("Racing batches fill the provisional cap exactly, %s", ([, headersOf]) =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agentId, token } = yield* onboard()
      const open = yield* Effect.all(times(24, () => newMacro()))
      const batches = times(6, (index) => open.slice(4 * index, 4 * index + 4))
      const answers = yield* Effect.forEach(
        batches,
        (batch, index) =>
          send(
            token,
            batch.map(({ id }) => ({ challenge_id: id, ...normal })),
            headersOf(index)
          ),
        { concurrency: 6 }
      )
      const outcomes = answers.flatMap(outcomesOf)
      assert.lengthOf(
        outcomes.filter((each) => each === "recorded"),
        10
      )
      assert.lengthOf(
        outcomes.filter((each) => each === "provisional_limit"),
        14
      )
      assert.lengthOf(yield* predictionsOf(agentId), 10)
    })
  )
})

const limited = testServer({
  environment: { AUSPEX_LIMIT_PREDICTIONS: "10/minute", AUSPEX_LIMIT_REFUSED_WRITES: "8/minute" }
})

layer(limited)("The limit of predictions", (it) => {
  it.effect("The limit of predictions counts accepted items only, and others say when to retry", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const open = yield* Effect.all(times(14, () => newMacro()))
      const right = open.map(({ id }) => ({ challenge_id: id, ...normal }))
      const refused = times(3, () => ({ challenge_id: unknownId, ...normal }))
      const first = yield* send(token, [...right.slice(0, 6), ...refused])
      assert.deepStrictEqual(outcomesOf(first), [
        ...times(6, () => "recorded"),
        ...times(3, () => "not_found")
      ])
      const second = yield* send(token, [{ challenge_id: open[6]?.id, predicted_std: 0 }, ...right.slice(6)])
      assert.deepStrictEqual(outcomesOf(second), [
        "invalid_request",
        ...times(4, () => "recorded"),
        ...times(4, () => "rate_limited")
      ])
      assert.strictEqual(member(itemsOf(second)[5], "error", "retry_after"), 60)
      yield* TestClock.adjust("1 minute")
      const third = yield* send(token, right.slice(10))
      assert.deepStrictEqual(
        outcomesOf(third),
        times(4, () => "recorded")
      )
    })
  )

  it.effect("Racing batches fill the limit of predictions exactly", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* predictor
      const open = yield* Effect.all(times(24, () => newMacro()))
      const answers = yield* Effect.forEach(
        times(6, (index) => open.slice(4 * index, 4 * index + 4)),
        (batch) =>
          send(
            token,
            batch.map(({ id }) => ({ challenge_id: id, ...normal }))
          ),
        { concurrency: 6 }
      )
      const outcomes = answers.flatMap((answer) =>
        isLimited(answer) ? times(4, () => "rate_limited") : outcomesOf(answer)
      )
      assert.lengthOf(
        outcomes.filter((each) => each === "recorded"),
        10
      )
      assert.lengthOf(
        outcomes.filter((each) => each === "rate_limited"),
        14
      )
      assert.lengthOf(yield* predictionsOf(agentId), 10)
    })
  )

  it.effect("Refused items count as refused writes, and a batch is refused once these are used up", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const { id } = yield* newChallenge()
      const wrong = times(8, () => ({ challenge_id: unknownId, ...up }))
      assert.deepStrictEqual(
        outcomesOf(yield* send(token, wrong)),
        times(8, () => "not_found")
      )
      const right = [{ challenge_id: id, ...up }]
      assert.isTrue(isLimited(yield* send(token, right)))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(outcomesOf(yield* send(token, right)), ["recorded"])
    })
  )

  it.effect.each([
    ["of right items", {}, 1],
    ["of many right items", {}, 4],
    ["with a key", { "idempotency-key": "full" }, 4],
    ["of unknown challenges and nonsense", {}, 3]
  ] as const)(
    "A batch %s is refused whole if there is room for none, as one refused write",
    ([name, headers, count]) =>
      Effect.gen(function* () {
        const { token } = yield* predictor
        const open = yield* Effect.all(times(10 + count, () => newMacro()))
        const answers = open.map(({ id }) => ({ challenge_id: id, ...normal }))
        yield* send(token, answers.slice(0, 10))
        const more = name.includes("nonsense")
          ? [{ challenge_id: unknownId, ...up }, "nonsense", null]
          : answers.slice(10)
        for (const _ of times(8, () => 0)) {
          const answer = yield* send(token, more, headers)
          assert.isTrue(isLimited(answer), answer.text)
          assert.match(String(answer.json["detail"]), /predictions/)
        }
        // The refused writes are used up by now: the server looks at nothing any more.
        for (const sent of [more, "no list", answers]) {
          const answer = yield* send(token, sent)
          assert.isTrue(isLimited(answer), answer.text)
          assert.match(String(answer.json["detail"]), /refused/)
        }
        yield* TestClock.adjust("1 minute")
        const after = yield* send(token, answers.slice(10), headers)
        assert.isNull(after.headers.get("idempotency-replayed"))
        assert.deepStrictEqual(
          outcomesOf(after),
          times(count, () => "recorded")
        )
      })
  )

  it.effect.each([
    ["one taken, the others over the limit", ["right", "right", "right", "right"], 3],
    ["a wrong one, one taken, others over the limit", ["wrong", "right", "right", "right"], 3],
    ["one taken between nonsense, one over the limit", ["nonsense", "right", "nonsense", "right"], 3],
    ["one taken, two of unknown challenges", ["right", "wrong", "wrong"], 2],
    ["nonsense, and none over the limit", ["nonsense", "nonsense"], 2]
  ] as const)("Each item refused beside others counts as one refused write: %s", ([, kinds, refused]) =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const open = yield* Effect.all(times(14, () => newMacro()))
      const answers = open.map(({ id }) => ({ challenge_id: id, ...normal }))
      yield* send(token, answers.slice(0, 9))
      const batch = kinds.map((kind, place) => {
        if (kind === "nonsense") return 7
        return kind === "right" ? answers[9 + place] : { challenge_id: unknownId, ...normal }
      })
      const answer = yield* send(token, batch)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.lengthOf(
        itemsOf(answer).filter((item) => member(item, "outcome") === "refused"),
        refused
      )
      yield* send(token, [answers[13]])
      let told = refused + (kinds.some((kind) => kind === "right") ? 1 : 0)
      let last = yield* send(token, [answers[13]])
      while (/predictions/.test(String(last.json["detail"]))) {
        told += 1
        last = yield* send(token, [answers[13]])
      }
      assert.strictEqual(told, 8)
      assert.isTrue(isLimited(last))
      assert.match(String(last.json["detail"]), /refused/)
    })
  )

  it.effect("A batch that is answered again uses nothing of the limit", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const open = yield* Effect.all(times(10, () => newMacro()))
      const sent = open.slice(0, 5).map(({ id }) => ({ challenge_id: id, ...normal }))
      const key = { "idempotency-key": "again" }
      yield* send(token, sent, key)
      for (const _ of times(3, () => 0)) {
        assert.strictEqual((yield* send(token, sent, key)).headers.get("idempotency-replayed"), "true")
      }
      const rest = open.slice(5).map(({ id }) => ({ challenge_id: id, ...normal }))
      assert.deepStrictEqual(
        outcomesOf(yield* send(token, rest)),
        times(5, () => "recorded")
      )
    })
  )
})

/** Limits that refuse a whole batch although no item is wrong. */
const otherLimits = testServer({
  environment: {
    AUSPEX_LIMIT_PREDICTIONS: "1000/minute",
    AUSPEX_LIMIT_REFUSED_WRITES: "12/minute",
    AUSPEX_ANSWER_BYTES: "100000",
    AUSPEX_TOKEN_TTL: "3 days"
  }
})

layer(otherLimits)("Other limits", (it) => {
  const useUpBytes = (agentId: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const day = timestamp(yield* DateTime.now)
      yield* sql`
        insert into agent_bytes (agent_id, day, bytes, max_bytes)
        select ${agentId}::uuid, (${day}::timestamptz at time zone 'UTC')::date, 100000, 100000
        on conflict (agent_id) do update set day = excluded.day, bytes = excluded.bytes`
    })

  it.effect.each([
    ["the day's bytes, one item", "bytes", 1, {}],
    ["the day's bytes, four items", "bytes", 4, {}],
    ["the day's bytes, with a key", "bytes", 4, { "idempotency-key": "bytes" }],
    ["the day's bytes, revisions of one challenge", "revisions", 3, {}],
    ["the time between signals", "signals", 2, {}],
    ["the time between signals, with a key", "signals", 3, { "idempotency-key": "signals" }],
    ["both", "both", 4, { "idempotency-key": "both" }]
  ] as const)(
    "A limit that admits no item refuses the batch, counts its items, keeps no answer: %s",
    ([, kind, count, headers]) =>
      Effect.gen(function* () {
        const { agentId, token } = yield* predictor
        const now = yield* DateTime.now
        const deadline = plus(now, "1 minute")
        const closing = yield* Effect.all(times(count, () => newChallenge({ deadline })))
        const open = yield* Effect.all(times(count, () => newMacro()))
        yield* TestClock.adjust("2 minutes")
        const signals = closing.map(({ id }) => ({ challenge_id: id, ...up }))
        const answers = open.map(({ id }) => ({ challenge_id: id, ...normal }))
        const first = times(count, () => ({ ...answers[0], is_revision: true }))
        const batches = {
          bytes: answers,
          revisions: first,
          signals,
          both: [...signals.slice(0, 2), ...answers.slice(2)]
        }
        const batch = batches[kind]
        assert.lengthOf(batch, count)
        if (kind === "signals" || kind === "both") yield* send(token, signals)
        if (kind !== "signals") yield* useUpBytes(agentId)
        const before = yield* predictionsOf(agentId)
        for (const _ of times(12 / count, () => 0)) {
          const answer = yield* send(token, batch, headers)
          assert.isTrue(isLimited(answer), answer.text)
          assert.notMatch(String(answer.json["detail"]), /refused/)
        }
        // The refused writes are used up by now.
        const refused = yield* send(token, batch, headers)
        assert.isTrue(isLimited(refused), refused.text)
        assert.match(String(refused.json["detail"]), /refused/)
        assert.deepStrictEqual(yield* predictionsOf(agentId), before)
        yield* TestClock.adjust("1 day")
        const after = yield* send(token, batch, headers)
        assert.strictEqual(after.status, 200, after.text)
        assert.isNull(after.headers.get("idempotency-replayed"))
      })
  )
})

layer(testServer({ environment: { AUSPEX_LIMIT_READS: "3/minute" } }))("The limit of reads", (it) => {
  it.effect("The limit of reads counts each batch, whatever its result", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      yield* TestClock.adjust("1 minute")
      const { id } = yield* newMacro()
      const key = { "idempotency-key": "read" }
      const sent = [{ challenge_id: id, ...normal }]
      assert.strictEqual((yield* send(token, sent, key)).status, 200)
      assert.strictEqual((yield* send(token, sent, key)).headers.get("idempotency-replayed"), "true")
      assert.strictEqual((yield* send(token, "no list")).status, 400)
      assert.isTrue(isLimited(yield* send(token, sent)))
    })
  )
})

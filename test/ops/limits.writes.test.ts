/** Agents' writes through HTTP: accepted ones count, refused ones have a limit of their own, and all is told in headers. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { onboard, onboardClaimed } from "../support/agents.ts"
import { openChallenge } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { newEvent } from "../support/discussion.ts"
import { get, post, send, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const unknown = "0190f000-0000-7000-8000-000000000000"
const having = (answers: ReadonlyArray<Answer>, status: number) =>
  answers.filter((answer) => answer.status === status).length

const statuses = (answers: ReadonlyArray<Answer>) => answers.map(({ status }) => status)

/** Refused writes have room enough not to matter where they are not tested. */
const environment = {
  AUSPEX_LIMIT_COMMENTS: "5/minute",
  AUSPEX_LIMIT_REPLIES: "10/minute",
  AUSPEX_LIMIT_LIKES: "30/minute",
  AUSPEX_LIMIT_FOLLOWS: "20/minute",
  AUSPEX_LIMIT_STAKES: "5/minute,50/day",
  AUSPEX_LIMIT_PREDICTIONS: "60/minute",
  AUSPEX_LIMIT_READS: "1000/minute",
  AUSPEX_PROVISIONAL_REVISIONS: "1000"
}

layer(testServer({ environment }))("Writes of agents", (it) => {
  const commentOn = (newsId: string, token: string, headers: Readonly<Record<string, string>> = {}) =>
    post("/api/v1/agent/comments", { token, headers, json: { news_id: newsId, content: "What I think." } })

  it.effect("A write counts when it is accepted: one refused for its body or its state uses no limit", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed()
      const event = yield* newEvent()
      for (let again = 0; again < 4; again++) {
        const refused = [
          yield* commentOn("no-such-event", token),
          yield* post("/api/v1/agent/comments", { token, json: { news_id: event.news_id, content: "" } }),
          yield* post("/api/v1/agent/comments", {
            token,
            headers: { "content-type": "application/json" },
            body: "{"
          }),
          yield* post(`/api/v1/agent/comments/${unknown}/replies`, { token, json: { content: "No." } }),
          yield* post(`/api/v1/agent/comments/${unknown}/like`, { token }),
          yield* post("/api/v1/agent/follows", { token, json: { target_agent_id: unknown } }),
          yield* post(`/api/v1/eval/challenges/${unknown}/predict`, {
            token,
            json: { direction: "neutral", confidence: 0.5 }
          })
        ]
        assert.deepStrictEqual(statuses(refused), [404, 400, 400, 404, 404, 404, 404])
      }
      const accepted = yield* Effect.forEach(
        times(6, () => token),
        (each) => commentOn(event.news_id, each)
      )
      assert.deepStrictEqual(statuses(accepted), [201, 201, 201, 201, 201, 429])
    })
  )

  it.effect("Only accepted writes count: as many as there is room for pass beside any refused", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* onboardClaimed(), yield* onboardClaimed()]
      const event = yield* newEvent()
      const liked = yield* commentOn(event.news_id, bob.token)
      const { token } = ada
      const like = (comment: unknown) => post(`/api/v1/agent/comments/${String(comment)}/like`, { token })
      const kinds = [
        [5, 201, commentOn(event.news_id, token), commentOn("no-such-event", token)],
        [30, 204, like(liked.json["comment_id"]), like(unknown)],
        [
          20,
          204,
          post("/api/v1/agent/follows", { token, json: { target_agent_id: bob.agentId } }),
          post("/api/v1/agent/follows", { token, json: { target_agent_id: ada.agentId } })
        ]
      ] as const
      for (const [most, status, right, wrong] of kinds) {
        const sent = times(most + 1, () => [Effect.as(wrong, undefined), right, Effect.as(wrong, undefined)])
        const answers = yield* Effect.all(sent.flat(), { concurrency: "unbounded" })
        const rightOnes = answers.filter((answer) => answer !== undefined)
        assert.deepStrictEqual([having(rightOnes, status), having(rightOnes, 429)], [most, 1])
      }
    })
  )

  it.effect("A stake that is refused uses neither of its windows", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed({ requested_scopes: ["prediction:submit", "credits:stake"] })
      const answers = yield* Effect.forEach(
        times(12, () => unknown),
        (id) =>
          post(`/api/v1/eval/macro/challenges/${id}/stake`, {
            token,
            json: { predicted_value: 1, amount: 50 }
          })
      )
      assert.strictEqual(having(answers, 404), 12)
      const [answer] = answers
      assert.strictEqual(
        answer?.headers.get("ratelimit-policy"),
        '"stakes_minute";q=5;w=60, "stakes_day";q=50;w=86400, "refused_writes";q=100000;w=60'
      )
      assert.match(answer?.headers.get("ratelimit") ?? "", /^"stakes_minute";r=5;t=60, "stakes_day";r=50;/)
    })
  )

  it.effect("A like or follow taken back uses no limit; 30 likes and 20 follows a minute are taken", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* onboardClaimed(), yield* onboardClaimed()]
      const event = yield* newEvent()
      const posted = yield* commentOn(event.news_id, bob.token)
      const liked = `/api/v1/agent/comments/${String(posted.json["comment_id"])}/like`
      for (let used = 0; used < 30; used++) {
        assert.strictEqual((yield* post(liked, { token: ada.token })).status, 204)
        assert.strictEqual((yield* send("DELETE", liked, { token: ada.token })).status, 204)
      }
      assert.strictEqual((yield* post(liked, { token: ada.token })).status, 429)
      assert.strictEqual((yield* send("DELETE", liked, { token: ada.token })).status, 204)
      const json = { target_agent_id: bob.agentId }
      for (let used = 0; used < 20; used++) {
        assert.strictEqual((yield* post("/api/v1/agent/follows", { token: ada.token, json })).status, 204)
        const ended = yield* send("DELETE", `/api/v1/agent/follows/${bob.agentId}`, { token: ada.token })
        assert.strictEqual(ended.status, 204)
      }
      assert.strictEqual((yield* post("/api/v1/agent/follows", { token: ada.token, json })).status, 429)
    })
  )

  it.effect("A repeated request uses no limit, and is answered as it was also without room", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed()
      const event = yield* newEvent()
      const first = yield* commentOn(event.news_id, token, { "idempotency-key": "one" })
      const sendAgain = Effect.gen(function* () {
        for (let again = 0; again < 10; again++) {
          const replayed = yield* commentOn(event.news_id, token, { "idempotency-key": "one" })
          assert.deepStrictEqual([replayed.status, replayed.text], [201, first.text])
        }
      })
      yield* sendAgain
      const more = yield* Effect.forEach(
        times(5, () => token),
        (each) => commentOn(event.news_id, each)
      )
      assert.deepStrictEqual(statuses(more), [201, 201, 201, 201, 429])
      yield* sendAgain
      const another = yield* commentOn(event.news_id, token, { "idempotency-key": "two" })
      const mistaken = yield* commentOn("no-such-event", token, { "idempotency-key": "one" })
      assert.deepStrictEqual(statuses([another, mistaken]), [429, 422])
    })
  )

  it.effect("Of 80 predictions 60 get through, and the next has room when the first has left", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const { id } = yield* openChallenge()
      const path = `/api/v1/eval/challenges/${id}/predict`
      const json = { direction: "neutral", confidence: 0.5 }
      assert.strictEqual((yield* post(path, { token, json })).status, 201)
      yield* TestClock.adjust("10 seconds")
      const revise = post(path, { token, json: { ...json, is_revision: true } })
      const burst = yield* Effect.all(
        times(79, () => revise),
        { concurrency: 20 }
      )
      assert.deepStrictEqual([having(burst, 200), having(burst, 429)], [59, 20])
      yield* TestClock.adjust("49999 millis")
      assert.strictEqual((yield* revise).status, 429)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(statuses([yield* revise, yield* revise]), [200, 429])
    })
  )

  it.effect("A write tells its limit, the rest and until when, accepted or refused, and so do reads", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed()
      const event = yield* newEvent()
      const told = ({ headers }: Answer) => [headers.get("ratelimit-policy"), headers.get("ratelimit")]
      assert.deepStrictEqual(told(yield* commentOn(event.news_id, token)), [
        '"comments";q=5;w=60',
        '"comments";r=4;t=60'
      ])
      yield* TestClock.adjust("20500 millis")
      assert.deepStrictEqual(told(yield* commentOn(event.news_id, token)), [
        '"comments";q=5;w=60',
        '"comments";r=3;t=40'
      ])
      for (let used = 0; used < 3; used++) yield* commentOn(event.news_id, token)
      const refused = yield* commentOn(event.news_id, token)
      assert.deepStrictEqual(
        [refused.status, refused.headers.get("retry-after"), ...told(refused)],
        [429, "40", '"comments";q=5;w=60', '"comments";r=0;t=40']
      )
      const read = yield* get("/api/v1/public/prediction-scopes")
      assert.strictEqual(read.headers.get("ratelimit-policy"), '"reads";q=1000;w=60')
      assert.match(read.headers.get("ratelimit") ?? "", /^"reads";r=\d+;t=\d+$/)
    })
  )
})

layer(testServer({ environment: { ...environment, AUSPEX_LIMIT_REFUSED_WRITES: "120/minute" } }))(
  "Refused writes",
  (it) => {
    const clumsy = (token: string) =>
      post("/api/v1/agent/follows", { token, json: { target_agent_id: unknown } })

    it.effect("Refused writes say why 120 times a minute; then all of the agent's writes are 429", () =>
      Effect.gen(function* () {
        const [ada, bob] = [yield* onboardClaimed(), yield* onboardClaimed()]
        assert.strictEqual((yield* clumsy(ada.token)).status, 404)
        yield* TestClock.adjust("10 seconds")
        const burst = yield* Effect.forEach(
          times(130, () => ada.token),
          clumsy,
          { concurrency: 20 }
        )
        assert.deepStrictEqual([having(burst, 404), having(burst, 429)], [119, 11])
        const json = { target_agent_id: bob.agentId }
        const right = post("/api/v1/agent/follows", { token: ada.token, json })
        const refused = yield* right
        assert.deepStrictEqual(
          [
            refused.status,
            refused.headers.get("retry-after"),
            refused.headers.get("ratelimit-policy"),
            refused.headers.get("ratelimit")
          ],
          [
            429,
            "50",
            '"follows";q=20;w=60, "refused_writes";q=120;w=60',
            '"follows";r=20;t=60, "refused_writes";r=0;t=50'
          ]
        )
        assert.include(refused.json["detail"], "refused writes")
        const scopes = post("/api/v1/agent/scopes", { token: ada.token, json: { add: ["credits:stake"] } })
        assert.strictEqual((yield* scopes).status, 429)
        assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token: ada.token })).status, 200)
        assert.strictEqual((yield* clumsy(bob.token)).status, 404)
        yield* TestClock.adjust("49999 millis")
        assert.strictEqual((yield* right).status, 429)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual((yield* right).status, 204)
        assert.strictEqual((yield* clumsy(ada.token)).status, 404)
        assert.strictEqual((yield* right).status, 429)
      })
    )

    it.effect("Refused writes are also those for which the token has no scope", () =>
      Effect.gen(function* () {
        const { token } = yield* onboard()
        const answers = yield* Effect.forEach(
          times(125, () => token),
          clumsy,
          { concurrency: 20 }
        )
        assert.deepStrictEqual([having(answers, 403), having(answers, 429)], [120, 5])
      })
    )
  }
)

layer(testServer({ environment: { AUSPEX_LIMIT_READS: "3/minute" } }))("A post of more than 16 KiB", (it) => {
  it.effect("A post of more than 16 KiB counts as a read of its address, whatever becomes of it", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed()
      yield* TestClock.adjust("1 minute")
      const event = yield* newEvent()
      const sending = (content: string) =>
        post("/api/v1/agent/comments", { token, json: { news_id: event.news_id, content } })
      const large = "x".repeat(20_000)
      const answers = yield* Effect.forEach([large, large, "Small.", large, large, "Small."], sending)
      assert.deepStrictEqual(statuses(answers), [400, 400, 201, 400, 429, 201])
    })
  )
})

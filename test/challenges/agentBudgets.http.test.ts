/** Limits of an agent: revisions of a prediction, and bytes of answers on a day; both hold for concurrent requests. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { timestamp } from "../../src/layers/postgres/sql.ts"
import { claim, onboard, onboardClaimed } from "../support/agents.ts"
import { freshWeek, moveTo, newChallenge, newMacro, plus } from "../support/challenges.ts"
import { concurrently, times } from "../support/concurrently.ts"
import { newEvent } from "../support/discussion.ts"
import { member, post, testServer } from "../support/server.ts"

const environment = {
  AUSPEX_REVISIONS: "7",
  AUSPEX_PROVISIONAL_REVISIONS: "3",
  AUSPEX_ANSWER_BYTES: "140000",
  AUSPEX_PROVISIONAL_ANSWER_BYTES: "100000",
  AUSPEX_TOKEN_TTL: "3 days",
  AUSPEX_LIMIT_PREDICTIONS: "10000/minute",
  AUSPEX_LIMIT_COMMENTS: "10000/minute",
  AUSPEX_LIMIT_REPLIES: "10000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "10000/minute"
}

const normal = { predicted_value: 3.1, predicted_std: 0.1 }
const path = (id: string) => `/api/v1/eval/challenges/${id}/predict`

const storedBy = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`
    select coalesce(sum(octet_length(body) + coalesce(octet_length(reasoning), 0)), 0)::int as bytes
      from predictions where agent_id = ${agentId}::uuid`.values
  return Number(row?.[0])
})

/** Leaves an agent room for this many bytes of the day. */
const leaveBytes = Effect.fnUntraced(function* (agentId: string, room: number) {
  const sql = yield* SqlClient.SqlClient
  const day = sql`(${timestamp(yield* DateTime.now)}::timestamptz at time zone 'UTC')::date`
  yield* sql`
    insert into agent_bytes (agent_id, day, bytes, max_bytes)
    select id, ${day}, m.max - ${room}::int, m.max from agents
     cross join lateral (select case when claimed_at is null then 100000 else 140000 end as max) m
     where id = ${agentId}::uuid
    on conflict (agent_id) do update set day = excluded.day, bytes = excluded.bytes`
})

const counted = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`select bytes::int from agent_bytes where agent_id = ${agentId}::uuid`.values
  return Number(row?.[0])
})

layer(testServer({ environment }))("Revisions", (it) => {
  it.effect("An unclaimed agent may revise a prediction a few times, and a claimed agent more often", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agentId, token } = yield* onboard()
      const number = yield* newMacro()
      const direction = yield* newChallenge()
      const up = { direction: "bullish", confidence: 0.5, is_revision: true }
      const revise = (count: number) =>
        Effect.forEach([[number.id, normal] as const, [direction.id, up] as const], ([id, json]) =>
          Effect.forEach(times(count, String), () => post(path(id), { token, json }))
        )
      for (const answers of yield* revise(5)) {
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [201, 200, 200, 200, 403]
        )
        const [refused] = answers.slice(-1)
        assert.strictEqual(refused?.json["code"], "revision_limit")
        assert.include(refused?.text, "at most 3 times while its agent is unclaimed")
        assert.include(String(refused?.json["hint"]), "claim")
      }
      yield* claim(agentId)
      for (const answers of yield* revise(5)) {
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 200, 200, 200, 403]
        )
        assert.notInclude(answers.at(-1)?.text, "hint")
      }
      const other = yield* newMacro({ period: "2026-04" })
      assert.strictEqual((yield* post(path(other.id), { token, json: normal })).status, 201)
    })
  )

  it.effect("Concurrent revisions, single and in batches, never exceed the limit", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agentId, token } = yield* onboard()
      const { id } = yield* newMacro()
      const batch = { predictions: times(3, () => ({ challenge_id: id, ...normal })) }
      yield* concurrently([
        ...times(6, () => post(path(id), { token, json: normal })),
        ...times(4, () => post("/api/v1/eval/predictions", { token, json: batch }))
      ])
      const sql = yield* SqlClient.SqlClient
      const rows =
        yield* sql`select max(revision) as last, count(*)::int as count from predictions where agent_id = ${agentId}::uuid`
          .values
      assert.deepStrictEqual(rows, [[3, 4]])
    })
  )
})

const long = (length: number) => ({ ...normal, reasoning: "x".repeat(length) })

layer(
  testServer({
    environment: { ...environment, AUSPEX_REVISIONS: "10000", AUSPEX_PROVISIONAL_REVISIONS: "10000" }
  })
)("The bytes of an agent's answers", (it) => {
  it.effect("An agent's stored bytes are limited a day, counted exactly, and free again the next day", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { agentId, token } = yield* onboard()
      const { id } = yield* newMacro({ deadline: plus(monday, "2 days") })
      const send = (json: object) => post(path(id), { token, json })
      let answer = yield* send(long(4000))
      while (answer.status < 400) answer = yield* send(long(4000))
      assert.strictEqual(answer.status, 429, answer.text)
      assert.strictEqual(answer.json["code"], "rate_limited")
      assert.include(answer.text, "at most 100000 bytes a day (UTC)")
      const now = yield* DateTime.now
      const left = (DateTime.toEpochMillis(plus(monday, "1 day")) - DateTime.toEpochMillis(now)) / 1000
      assert.strictEqual(answer.headers.get("retry-after"), String(Math.ceil(left)))
      const stored = yield* storedBy(agentId)
      assert.isBelow(stored, 100_000)
      assert.isAbove(stored, 95_000)
      assert.strictEqual(yield* counted(agentId), stored)
      // A smaller answer has room.
      assert.strictEqual((yield* send(normal)).status, 200)
      yield* claim(agentId)
      assert.strictEqual((yield* send(long(4000))).status, 200)
      yield* moveTo(plus(monday, "1 day"))
      const before = yield* storedBy(agentId)
      assert.strictEqual((yield* send(long(4000))).status, 200)
      assert.strictEqual(yield* counted(agentId), (yield* storedBy(agentId)) - before)
    })
  )

  it.effect("Concurrent answers never exceed the byte limit; each item of a batch is decided by itself", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agentId, token } = yield* onboard()
      const { id } = yield* newMacro({ period: "2026-05" })
      const batch = {
        predictions: times(10, (index) => ({ challenge_id: id, ...(index % 2 === 0 ? long(4000) : normal) }))
      }
      yield* concurrently([
        ...times(20, () => post(path(id), { token, json: long(3000) })),
        ...times(5, () => post("/api/v1/eval/predictions", { token, json: batch }))
      ])
      const stored = yield* storedBy(agentId)
      assert.isAtMost(stored, 100_000)
      assert.isAbove(stored, 90_000)
      assert.strictEqual(yield* counted(agentId), stored)
      // Answers that are too long are refused, and the short ones between them are recorded.
      const other = yield* onboard()
      let answer = yield* post(path(id), { token: other.token, json: long(4000) })
      while (answer.status < 400) answer = yield* post(path(id), { token: other.token, json: long(4000) })
      const some = { predictions: batch.predictions.slice(0, 6) }
      const { json, text } = yield* post("/api/v1/eval/predictions", { token: other.token, json: some })
      assert.deepStrictEqual(
        times(6, (index) => member(json, "items", index, "outcome")),
        times(6, (index) => (index % 2 === 0 ? "refused" : "revised")),
        text
      )
      assert.strictEqual(member(json, "items", 0, "error", "code"), "rate_limited")
    })
  )

  it.effect("Comments and replies count the bytes of their stored texts exactly, also concurrent ones", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const sql = yield* SqlClient.SqlClient
      const event = yield* newEvent()
      const other = yield* onboardClaimed()
      const comment = yield* post("/api/v1/agent/comments", {
        token: other.token,
        json: { news_id: event.news_id, content: "What do you think?" }
      })
      const parent = String(comment.json["comment_id"])
      const ways = [
        ["/api/v1/agent/comments", { news_id: event.news_id }],
        ["/api/v1/agent/comments", { news_id: event.news_id, parent_comment_id: parent }],
        [`/api/v1/agent/comments/${parent}/replies`, {}]
      ] as const
      const texts = ["x".repeat(4000), "理".repeat(4000), "\u{1d11e}".repeat(4000), "x", "é".repeat(500)]
      for (const [way, fields] of ways) {
        const agent = yield* onboard()
        for (const content of texts) {
          const send = post(way, { token: agent.token, json: { ...fields, content } })
          yield* leaveBytes(agent.agentId, 3 * (200 + Buffer.byteLength(content)))
          const answers = yield* Effect.all(
            times(8, () => send),
            { concurrency: "unbounded" }
          )
          const statuses = answers.map(({ status }) => status).sort()
          assert.deepStrictEqual(statuses, [201, 201, 201, 429, 429, 429, 429, 429])
          const refused = yield* send
          assert.deepStrictEqual([refused.status, refused.json["code"]], [429, "rate_limited"])
          assert.include(refused.text, "at most 100000 bytes a day (UTC)")
          assert.isAbove(Number(refused.headers.get("retry-after")), 60)
          assert.strictEqual(yield* counted(agent.agentId), 100_000)
          const rows = yield* sql`
            select count(*)::int from comments
             where agent_id = ${agent.agentId}::uuid and content = ${content}`.values
          assert.deepStrictEqual(rows, [[3]])
        }
      }
    })
  )

  it.effect("Answers and posts share one byte limit, whole again each day and larger after the claim", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { news_id } = yield* newEvent()
      const { agentId, token } = yield* onboard()
      const { id } = yield* newMacro({ period: "2026-06", deadline: plus(monday, "2 days") })
      const say = (content: string) => post("/api/v1/agent/comments", { token, json: { news_id, content } })
      const answer = yield* post(path(id), { token, json: long(4000) })
      assert.strictEqual(answer.status, 201)
      const one = yield* storedBy(agentId)
      assert.strictEqual((yield* say("理".repeat(4000))).status, 201)
      assert.strictEqual(yield* counted(agentId), one + 12_200)
      let status = 201
      while (status === 201) status = (yield* say("理".repeat(4000))).status
      assert.strictEqual(status, 429)
      while (status !== 429) status = (yield* post(path(id), { token, json: long(4000) })).status
      // A post that is refused for another reason stores nothing.
      const before = yield* counted(agentId)
      assert.strictEqual(
        (yield* post("/api/v1/agent/comments", { token, json: { news_id: "nowhere", content: "?" } })).status,
        404
      )
      assert.strictEqual(yield* counted(agentId), before)
      yield* claim(agentId)
      assert.strictEqual((yield* say("理".repeat(4000))).status, 201)
      yield* moveTo(plus(monday, "1 day"))
      assert.strictEqual((yield* say("x".repeat(100))).status, 201)
      assert.strictEqual(yield* counted(agentId), 300)
    })
  )

  it.effect("Every endpoint tells an unclaimed agent whose bytes are used up how to get more", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { news_id } = yield* newEvent()
      const other = yield* onboardClaimed()
      const comment = yield* post("/api/v1/agent/comments", {
        token: other.token,
        json: { news_id, content: "What do you think?" }
      })
      const parent = String(comment.json["comment_id"])
      const direction = yield* newChallenge({ deadline: plus(monday, "1 day") })
      const number = yield* newMacro({ period: "2026-07" })
      const closed = yield* newChallenge({ deadline: plus(monday, "10 minutes") })
      yield* moveTo(plus(monday, "20 minutes"))
      const up = { direction: "bullish", confidence: 0.5 }
      const doors: ReadonlyArray<readonly [string, object]> = [
        [path(direction.id), up],
        [path(number.id), normal],
        [`/api/v1/eval/macro/challenges/${number.id}/predict`, normal],
        [path(closed.id), up],
        ["/api/v1/agent/comments", { news_id, content: "I think so." }],
        ["/api/v1/agent/comments", { news_id, content: "I think so.", parent_comment_id: parent }],
        [`/api/v1/agent/comments/${parent}/replies`, { content: "I think so." }],
        ["/api/v1/eval/predictions", { predictions: [{ challenge_id: number.id, ...normal }] }]
      ]
      const [stranger, owned] = [yield* onboard(), yield* onboardClaimed()]
      for (const { agentId, token } of [stranger, owned]) {
        yield* leaveBytes(agentId, 0)
        for (const [door, json] of doors) {
          const { headers, json: told, status, text } = yield* post(door, { token, json })
          assert.strictEqual(status, 429, `${door} ${text}`)
          assert.deepStrictEqual(
            [told["code"], told["retry_after"]],
            ["rate_limited", Number(headers.get("retry-after"))]
          )
          if (agentId === stranger.agentId) assert.match(String(told["hint"]), /claim-link\/refresh/)
          else assert.notProperty(told, "hint")
        }
      }
      // An item among others that are taken says it, too.
      yield* leaveBytes(stranger.agentId, 2000)
      const some = yield* post("/api/v1/eval/predictions", {
        token: stranger.token,
        json: {
          predictions: [
            { challenge_id: number.id, ...long(4000) },
            { challenge_id: direction.id, ...up }
          ]
        }
      })
      assert.strictEqual(member(some.json, "items", 1, "outcome"), "recorded", some.text)
      assert.match(String(member(some.json, "items", 0, "error", "hint")), /claim-link\/refresh/)
    })
  )

  it.effect("Paper-trade signals count their bytes with their reasons", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { token } = yield* onboard()
      const closed = yield* Effect.forEach(times(40, String), () =>
        newChallenge({ deadline: plus(monday, "10 minutes") })
      )
      yield* moveTo(plus(monday, "20 minutes"))
      const signal = { direction: "bullish", confidence: 0.5, reasoning: "x".repeat(4000) }
      const statuses: Array<number> = []
      for (const { id } of closed) statuses.push((yield* post(path(id), { token, json: signal })).status)
      assert.deepStrictEqual([...new Set(statuses)], [201, 429])
      assert.strictEqual(statuses.filter((status) => status === 201).length, Math.floor(100_000 / 4100))
    })
  )
})

/** Notices over HTTP: requests that wait, streams that go on after a cursor, and refusals and ends of both. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Health } from "../../src/services/Health.ts"
import { Notices } from "../../src/services/Notices.ts"
import { Registry } from "../../src/services/Registry.ts"
import {
  anotherOperator,
  claimableByHttp,
  claimedAgent,
  claimWithCode,
  onboardClaimed
} from "../support/agents.ts"
import { asOwner } from "../support/database.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { until } from "../support/process.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import type { RequestOptions } from "../support/server.ts"

const own = "/api/v1/agent/notices"
const everybodys = "/api/v1/public/notices"

/** Every instance does this. */
const watching = Effect.forkScoped(Notices.use(({ watch }) => watch))

const cursorOf = (path: string, options?: RequestOptions) =>
  Effect.map(get(`${path}?limit=200`, options), ({ json }) => String(json["next_cursor"]))

const StreamedNotice = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.String,
    type: Schema.String,
    subject: Schema.Record(Schema.String, Schema.Json)
  })
)
const asNotice = Schema.decodeUnknownSync(StreamedNotice)

/** A stream that is read until it ends, or its scope does. */
const streamed = Effect.fnUntraced(function* (path: string, options: RequestOptions = {}) {
  let text = ""
  const onText = (come: string) => {
    text = come
  }
  const reading = yield* Effect.forkScoped(get(path, { ...options, onText }))
  yield* until(
    "the stream begins",
    Effect.sync(() => text !== "")
  )
  const events = () =>
    Array.from(text.matchAll(/^id: (.*)\ndata: (.*)$/gm), ([, id = "", data = ""]) => ({
      id,
      notice: asNotice(data)
    }))
  return {
    events,
    having: (count: number) =>
      until(
        `${count} events`,
        Effect.sync(() => events().length >= count)
      ),
    close: Fiber.interrupt(reading),
    end: Effect.map(Fiber.join(reading), () => text)
  }
})

const published = Effect.map(newEvent(), ({ event_id }) => event_id)

const server = testServer({ environment: { AUSPEX_MAX_WAITING_READERS: "2" } })

layer(server, { excludeTestServices: true })("A reader of notices", (it) => {
  it.effect("A waiting reader is answered once there is a notice of its types", () =>
    Effect.gen(function* () {
      yield* watching
      const { agentId, token } = yield* onboardClaimed()
      const after = yield* cursorOf(own, { token })
      const asking = yield* Effect.forkChild(
        get(`${own}?after=${after}&wait=55&types=comment.mentioned`, { token })
      )
      const event = yield* newEvent()
      const { comment_id } = yield* comment(yield* claimedAgent(), event, {
        content: `What says @${agentId}?`
      })
      const { json } = yield* Fiber.join(asking)
      assert.deepStrictEqual(member(json, "items", 0, "subject"), { comment_id, event_id: event.event_id })
      const nothing = yield* get(`${own}?after=${String(json["next_cursor"])}&wait=1`, { token })
      assert.deepStrictEqual<unknown>([nothing.status, nothing.json["items"]], [200, []])
    })
  )

  it.effect("A reader of a broken stream goes on after its last event, and gets each notice once", () =>
    Effect.gen(function* () {
      yield* watching
      const first = yield* streamed(`${everybodys}/stream?types=event.published`)
      const ids = [yield* published, yield* published]
      yield* first.having(2)
      yield* first.close
      ids.push(yield* published, yield* published)
      const [before, last] = first.events()
      const second = yield* streamed(`${everybodys}/stream?types=event.published`, {
        headers: { "last-event-id": before?.id ?? "" }
      })
      yield* second.having(3)
      ids.push(yield* published)
      yield* second.having(4)
      assert.deepStrictEqual(
        second.events().map(({ notice }) => notice.subject["event_id"]),
        ids.slice(1)
      )
      assert.deepStrictEqual(second.events()[0], last)
      yield* second.close
    })
  )

  it.effect("A wrong request for notices is refused by the name of the field", () =>
    Effect.gen(function* () {
      const [{ token }, other] = [yield* onboardClaimed(), yield* onboardClaimed()]
      const foreign = yield* cursorOf(own, { token: other.token })
      for (const [path, headers, fields] of [
        [`${own}?types=comment.liked`, {}, ["types"]],
        [`${own}?after=${foreign}`, {}, ["after"]],
        [`${own}/stream?after=nonsense`, {}, ["after"]],
        [`${own}/stream`, { "last-event-id": foreign }, ["last-event-id"]],
        [`${everybodys}?types=prediction.settled`, {}, ["types"]]
      ] as const) {
        const answer = yield* get(path, { token, headers })
        assert.deepStrictEqual<unknown>([answer.status, wrongFields(answer)], [400, fields], path)
      }
    })
  )

  it.effect("A reader waits only where there is room, and is told otherwise when to come again", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed()
      const readers = [yield* streamed(`${own}/stream`, { token }), yield* streamed(`${everybodys}/stream`)]
      const after = yield* cursorOf(own, { token })
      for (const path of [`${own}/stream`, `${own}?after=${after}&wait=5`]) {
        const { headers, json, status } = yield* get(path, { token })
        assert.deepStrictEqual<unknown>(
          [status, json["code"], headers.get("retry-after")],
          [503, "wait_refused", "10"]
        )
      }
      assert.strictEqual((yield* get(`${own}?after=${after}`, { token })).status, 200)
      for (const { close } of readers) yield* close
      yield* until(
        "there is room",
        Effect.map(get(`${own}?after=${after}&wait=1`, { token }), ({ status }) => status === 200)
      )
    })
  )

  it.effect("A stream of notices ends once its token has ended", () =>
    Effect.gen(function* () {
      yield* watching
      const { agentId, token } = yield* onboardClaimed()
      const stream = yield* streamed(`${own}/stream`, { token })
      yield* Registry.use((registry) => registry.amend(agentId, { suspended: true, reason: "a test" }))
      // Any notice wakes the stream: it would find out within a heartbeat, too.
      yield* Effect.race(stream.end, Effect.forever(Effect.andThen(published, Effect.sleep("100 millis"))))
      assert.strictEqual((yield* get(`${own}/stream`, { token })).status, 401)
    })
  )

  it.effect("A reader that waits for a claim is told as soon as somebody has claimed the agent", () =>
    Effect.gen(function* () {
      yield* watching
      const { agentId, code, secret, token } = yield* claimableByHttp()
      const json = { agent_id: agentId, client_secret: secret }
      const asking = yield* Effect.forkChild(post("/api/v1/agent/registry/claim/wait", { json }))
      yield* claimWithCode(token, code, yield* anotherOperator)
      const told = yield* Fiber.join(asking)
      assert.strictEqual(told.json["claimed"], true)
      assert.isString(told.json["claimed_at"])
    })
  )
})

const busy = testServer({
  environment: { AUSPEX_MAX_WAITING_READERS: "1000", AUSPEX_TOKEN_TTL: "2 seconds" }
})

layer(busy, { excludeTestServices: true })("A waiting reader", (it) => {
  it.effect("A waiting reader holds no connection to the database", () =>
    Effect.gen(function* () {
      yield* watching
      const { token } = yield* onboardClaimed()
      const after = yield* cursorOf(own, { token })
      const streams = yield* Effect.replicateEffect(streamed(`${everybodys}/stream`), 20)
      const polls = yield* Effect.forEach(Array.from({ length: 30 }), () =>
        Effect.forkScoped(get(`${own}?after=${after}&wait=55&types=comment.mentioned`, { token }))
      )
      const sql = yield* SqlClient.SqlClient
      yield* until(
        "every connection is idle",
        Effect.map(
          sql`select 1 from pg_stat_activity
               where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
          (rows) => rows.length === 0
        )
      )
      yield* published
      for (const { having } of streams) yield* having(1)
      yield* Effect.forEach(polls, Fiber.interrupt)
    })
  )

  it.effect("A waiting reader is let go when its token expires", () =>
    Effect.gen(function* () {
      yield* watching
      const { token } = yield* onboardClaimed()
      const stream = yield* streamed(`${own}/stream`, { token })
      assert.match(yield* stream.end, /^retry: \d+\nid: /)
      assert.strictEqual((yield* get(own, { token })).status, 401)
    })
  )

  it.effect("A reader that is too late is told 410, and where to go on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const before = yield* cursorOf(everybodys)
      yield* published
      yield* Notices.use(({ advance }) => advance)
      yield* asOwner(sql`update notices set created_at = created_at - interval '40 days'`)
      yield* Notices.use(({ trim }) => trim)
      const event_id = yield* published
      yield* Notices.use(({ advance }) => advance)
      for (const path of [`${everybodys}?after=${before}`, `${everybodys}/stream?after=${before}`]) {
        const { json, status } = yield* get(path)
        assert.deepStrictEqual<unknown>([status, json["code"]], [410, "cursor_expired"])
        const next = yield* get(`${everybodys}?after=${String(json["start"])}`)
        assert.deepStrictEqual<unknown>(member(next.json, "items", 0, "subject"), { event_id })
      }
    })
  )
})

layer(server, { excludeTestServices: true })("An instance that drains", (it) => {
  it.effect("A draining instance ends its streams with a time to come again, and lets nobody wait", () =>
    Effect.gen(function* () {
      const stream = yield* streamed(`${everybodys}/stream`)
      yield* Health.use(({ drain }) => drain)
      assert.match(yield* stream.end, /^retry: \d+\n\n$/m)
      const { headers, json, status } = yield* get(`${everybodys}/stream`)
      assert.deepStrictEqual<unknown>(
        [status, json["code"], headers.get("retry-after")],
        [503, "wait_refused", "1"]
      )
    })
  )
})

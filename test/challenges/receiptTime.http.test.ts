/** The time of receipt of a prediction or stake: a slow database makes none late. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Scoring } from "../../src/services/Scoring.ts"
import { allScopes } from "../../src/services/Scopes.ts"
import { onboardClaimed } from "../support/agents.ts"
import { newChallenge, newMacro, newPriceEvent, plus } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { asOwner, countOf } from "../support/database.ts"
import { databaseAhead } from "../support/databaseTime.ts"
import { held, meeting } from "../support/locking.ts"
import { get, member, post, testServer } from "../support/server.ts"

/** Locks tables that every request reads before the statement that records: no session may use them until this ends. */
const slowDatabase = (tables: ReadonlyArray<string>) =>
  held(
    SqlClient.SqlClient.use((sql) => sql`lock table ${sql.literal(tables.join())} in access exclusive mode`),
    asOwner
  )

const scene = Effect.gen(function* () {
  const { agentId, token } = yield* onboardClaimed({ requested_scopes: allScopes })
  yield* post("/api/v1/agent/prediction-scope/ETH", { token })
  yield* fund(`agent:${agentId}`, 100)
  const now = yield* DateTime.now
  const deadline = plus(now, "5 seconds")
  const resolve_at = plus(now, "1 day")
  return { agentId, token, now, deadline, resolve_at }
})

/** Sends a request before the deadline to a database that does not answer; the deadline passes meanwhile. */
const sentBeforeTheDeadline = Effect.fnUntraced(function* (
  path: string,
  token: string,
  json: object,
  tables: ReadonlyArray<string> = ["agents", "limit_windows"]
) {
  const slow = yield* slowDatabase(tables)
  const sending = yield* meeting(post(path, { token, json }))
  yield* TestClock.adjust("10 seconds")
  return { answer: Effect.andThen(slow.commit, Fiber.join(sending)) }
})

const pathsOfType = {
  directional: "/api/v1/eval/challenges/",
  macro: "/api/v1/eval/macro/challenges/",
  price_event: "/api/v1/eval/price-events/challenges/"
}
const direction = { direction: "bullish", confidence: 0.6 }
const value = { predicted_value: 3.1, predicted_std: 0.1 }

layer(testServer())("A submission received before the deadline", (it) => {
  it.effect.each([
    ["directional", direction],
    ["macro", value],
    ["price_event", direction]
  ] as const)("A %s prediction received in time counts, however slow the database is", ([type, json]) =>
    Effect.gen(function* () {
      const { deadline, now, resolve_at, token } = yield* scene
      const { id } = yield* {
        directional: newChallenge({ deadline, resolve_at }),
        macro: newMacro({ deadline, release_at: resolve_at }),
        price_event: newPriceEvent({ kind: "threshold", deadline })
      }[type]
      const { answer } = yield* sentBeforeTheDeadline(`${pathsOfType[type]}${id}/predict`, token, json)
      const { json: recorded, status } = yield* answer
      assert.deepStrictEqual([status, recorded["created_at"]], [201, DateTime.formatIso(now)])
      assert.isString(member(recorded, "receipt", "commit"))
    })
  )

  it.effect("A stake received in time counts, however slow the database is", () =>
    Effect.gen(function* () {
      const { deadline, resolve_at, token } = yield* scene
      const { id } = yield* newMacro({ deadline, release_at: resolve_at })
      const path = `${pathsOfType.macro}${id}`
      yield* post(`${path}/predict`, { token, json: value })
      const { answer } = yield* sentBeforeTheDeadline(`${path}/stake`, token, {
        predicted_value: 3.1,
        amount: 50
      })
      assert.strictEqual((yield* answer).status, 201)
    })
  )

  it.effect("A prediction in time that misses the close is refused, unrecorded and uncounted", () =>
    Effect.gen(function* () {
      const { agentId, deadline, resolve_at, token } = yield* scene
      const { id } = yield* newChallenge({ deadline, resolve_at })
      const path = `${pathsOfType.directional}${id}`
      const { answer } = yield* sentBeforeTheDeadline(`${path}/predict`, token, direction, [
        // A notice of the close refers to agents, though this one is nobody's.
        "limit_windows"
      ])
      yield* TestClock.adjust("10 seconds")
      assert.isAtLeast((yield* Scoring.use((scoring) => scoring.settleDue)).closed, 1)
      const { headers, json, status } = yield* answer
      assert.deepStrictEqual([status, json["code"]], [503, "not_recorded_in_time"])
      assert.match(String(json["detail"]), /^The submission was received at .*, before the deadline/)
      assert.isNull(headers.get("retry-after"))
      const signals = yield* get(`${path}/paper-signals`, { token })
      assert.deepStrictEqual<unknown>(signals.json["items"], [])
      const counted = countOf(
        (sql) => sql`
            select coalesce(sum(cardinality(times)), 0)::int as count from limit_windows
             where key like ${`predictions%${agentId}%`}`
      )
      assert.strictEqual(yield* counted, 0)
    })
  )

  it.effect.each([
    ["An answer", "challenges/ID/predict", () => direction],
    [
      "An item of a batch",
      "predictions",
      (id: string) => ({ predictions: [{ challenge_id: id, ...direction }] })
    ]
  ] as const)("%s that could not be recorded before the close is no refused write", ([, path, bodyOf]) =>
    Effect.gen(function* () {
      const { agentId, deadline, resolve_at, token } = yield* scene
      const { id } = yield* newChallenge({ deadline, resolve_at })
      const url = `/api/v1/eval/${path.replace("ID", id)}`
      const { answer } = yield* sentBeforeTheDeadline(url, token, bodyOf(id), ["limit_windows"])
      yield* TestClock.adjust("10 seconds")
      assert.isAtLeast((yield* Scoring.use((scoring) => scoring.settleDue)).closed, 1)
      assert.include((yield* answer).text, '"not_recorded_in_time"')
      const counted = countOf(
        (sql) => sql`
          select coalesce(sum(cardinality(times)), 0)::int as count from limit_windows
           where key like ${`refused_writes%${agentId}%`}`
      )
      assert.strictEqual(yield* counted, 0)
    })
  )
})

/** Answers each type of challenge, and stakes on its pool. */
const everyType = Effect.gen(function* () {
  const { deadline, now, resolve_at, token } = yield* scene
  const { id: gold } = yield* newChallenge({ deadline, resolve_at })
  const { id: macro } = yield* newMacro({ deadline, release_at: resolve_at })
  const { id: ether } = yield* newPriceEvent({ kind: "threshold", deadline })
  const sent = Effect.gen(function* () {
    const answers = [
      yield* post(`${pathsOfType.directional}${gold}/predict`, { token, json: direction }),
      yield* post(`${pathsOfType.macro}${macro}/predict`, { token, json: value }),
      yield* post(`${pathsOfType.macro}${macro}/stake`, {
        token,
        json: { predicted_value: 3.1, amount: 50 }
      }),
      yield* post(`${pathsOfType.price_event}${ether}/predict`, { token, json: direction })
    ]
    return answers.map(({ json, status }) => [status, json["code"] ?? json["created_at"] ?? null])
  })
  const records = countOf(
    (sql) => sql`select ((select count(*) from predictions) + (select count(*) from stakes))::int as count`
  )
  return { now, sent, records }
})

layer(testServer().pipe(Layer.provide(databaseAhead("10 minutes"))))(
  "An instance whose clock is 10 minutes behind",
  (it) => {
    it.effect(
      "An instance behind the database's clock records nothing after the deadline by that clock",
      () =>
        Effect.gen(function* () {
          const { now, records, sent } = yield* everyType
          const late = DateTime.formatIso(plus(now, "10 minutes"))
          assert.deepStrictEqual<unknown>(yield* sent, [
            // The first one is a paper-trade signal.
            [201, late],
            [400, "challenge_closed"],
            [400, "challenge_closed"],
            [400, "challenge_closed"]
          ])
          assert.strictEqual(yield* records, 0)
        })
    )
  }
)

layer(testServer().pipe(Layer.provide(databaseAhead("-10 minutes"))))(
  "An instance whose clock is 10 minutes ahead",
  (it) => {
    it.effect("An instance ahead of the database's clock records submissions in time by that clock", () =>
      Effect.gen(function* () {
        const { now, records, sent } = yield* everyType
        yield* TestClock.adjust("10 minutes")
        const stamp = DateTime.formatIso(now)
        assert.deepStrictEqual<unknown>(yield* sent, [
          [201, stamp],
          [201, stamp],
          [201, null],
          [201, stamp]
        ])
        assert.strictEqual(yield* records, 4)
      })
    )
  }
)

layer(testServer())("A prediction without a token", (it) => {
  it.effect("A prediction without a token is refused before its body has come", () =>
    Effect.gen(function* () {
      const { deadline } = yield* scene
      const { id } = yield* newChallenge({ deadline })
      const endless = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([32])) })
      const { status } = yield* post(`${pathsOfType.directional}${id}/predict`, {
        headers: { "content-type": "application/json" },
        body: endless
      })
      assert.strictEqual(status, 401)
    })
  )
})

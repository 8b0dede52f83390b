/** Open questions: which are listed in which order, the data that an answer needs, and the members that are the agent's own. */
import { assert, layer } from "@effect/vitest"
import { Ajv } from "ajv"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { AgentId } from "../../src/services/domain/ids.ts"
import { emptyAnswer } from "../../src/services/domain/Prediction.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboard, onboardClaimed } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict
} from "../support/challenges.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"

const open = "/api/v1/eval/open"

/** One open question of each kind, the first one closing first. */
const oneOfEach = Effect.gen(function* () {
  const now = yield* freshWeek
  const deadlines = [1, 2, 3, 4, 5, 6].map((hours) => plus(now, `${hours} hours`))
  const [first = now, second = now, third = now, fourth = now, fifth = now, sixth = now] = deadlines
  return {
    now,
    directional: yield* newChallenge({ deadline: first, resolve_at: plus(first, "1 hour") }),
    macro: yield* newMacro({ deadline: second, unit: "%" }),
    barrier: yield* newPriceEvent({ kind: "barrier", deadline: third }),
    close: yield* newPriceEvent({ kind: "numeric_close", deadline: fourth }),
    count: yield* newPriceEvent({
      kind: "count_days",
      deadline: fifth,
      resolve_at: plus(now, "7 days")
    }),
    threshold: yield* newPriceEvent({ kind: "threshold", asset: "BTC", deadline: sixth })
  }
})

const schemaOf = (item: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(member(item, "answer", "schema") ?? {}))

const idsOf = (json: unknown): ReadonlyArray<unknown> => {
  const items = member(json, "items")
  return Array.isArray(items) ? items.map((item) => member(item, "challenge_id")) : []
}

layer(testServer())("GET /eval/open", (it) => {
  it.effect("GET /eval/open lists open questions of every type by deadline, a page at a time", () =>
    Effect.gen(function* () {
      const { barrier, close, count, directional, macro, now, threshold } = yield* oneOfEach
      const all = [directional, macro, barrier, close, count, threshold].map(({ id }) => id)
      assert.deepStrictEqual(idsOf((yield* get(open)).json), all)

      const paged: Array<unknown> = []
      let cursor: unknown = ""
      while (typeof cursor === "string") {
        const page = yield* get(`${open}?limit=4${cursor === "" ? "" : `&cursor=${cursor}`}`)
        paged.push(...idsOf(page.json))
        cursor = page.json["next_cursor"]
      }
      assert.deepStrictEqual(paged, all)

      // The deadline is exclusive.
      yield* TestClock.setTime(DateTime.toEpochMillis(plus(now, "1 hour")))
      assert.deepStrictEqual(idsOf((yield* get(open)).json), all.slice(1))
    })
  )

  it.effect("GET /eval/open gives the terms, the forms of an answer, the latest price and links", () =>
    Effect.gen(function* () {
      const { directional, macro, now } = yield* oneOfEach
      yield* importQuotes("GC", [
        [now, 2000.5],
        [plus(now, "30 minutes"), 2001]
      ])
      const { json } = yield* get(open)
      const first = member(json, "items", 0)
      for (const [name, value] of Object.entries({
        challenge_id: directional.id,
        type: "directional",
        kind: "session",
        asset: "GC",
        category: "commodities",
        question: directional.question,
        resolution_criteria: directional.resolution_criteria,
        open_price: 100,
        dead_zone_pct: 1,
        level: null,
        prediction_count: 0
      })) {
        assert.strictEqual(member(first, name), value, name)
      }
      assert.deepStrictEqual(member(first, "answer", "forms"), ["direction", "probabilities"])
      assert.deepStrictEqual(member(first, "context", "price"), {
        price: 2000.5,
        observed_at: DateTime.formatIso(now),
        source: "admin quote"
      })
      assert.match(String(member(first, "context", "links", "prices")), /\/api\/v1\/public\/prices\/GC$/)
      assert.isNull(member(first, "context", "links", "releases"))
      assert.isUndefined(member(first, "mine"))
      const second = member(json, "items", 1)
      assert.strictEqual(member(second, "challenge_id"), macro.id)
      assert.deepStrictEqual(member(second, "answer", "forms"), ["predicted_value", "quantiles", "samples"])
      assert.strictEqual(member(second, "answer", "unit"), "%")
      assert.strictEqual(member(second, "answer", "reference_scale"), 0.12)
      assert.strictEqual(member(second, "answer", "bins", 1, "low"), 3)
      assert.isNull(member(second, "context", "price"))
      assert.match(String(member(second, "context", "links", "releases")), /\/public\/releases\?asset=CPI$/)

      const english = yield* get(`${open}?lang=en`)
      assert.isUndefined(member(english.json, "items", 0, "resolution_criteria_zh"))
      assert.strictEqual(
        member(english.json, "items", 0, "resolution_criteria"),
        directional.resolution_criteria
      )
    })
  )

  it.effect("The JSON Schemas of an open question take exactly the answers that the API takes", () =>
    Effect.gen(function* () {
      const each = yield* oneOfEach
      const agent = yield* onboardClaimed()
      for (const asset of ["ETH", "BTC"]) {
        yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), asset))
      }
      const ajv = new Ajv({ strict: true, strictRequired: false })
      const { json } = yield* get(open)
      const items: unknown = json["items"]
      assert(Array.isArray(items))
      const bodies = [
        { direction: "bullish", confidence: 0.5 },
        { direction: "neutral", confidence: 0.5 },
        { direction: "bullish" },
        { direction: "up", confidence: 0.5 },
        { direction: "bullish", confidence: 1.5 },
        { predicted_value: 3, predicted_std: 0.5, reasoning: "Rents." },
        { predicted_value: 7.5, predicted_std: 0.5 },
        { predicted_value: 3, predicted_std: 0 },
        { predicted_value: 3 },
        { reasoning: "Rents." },
        {}
      ]
      for (const item of items) {
        const id = String(member(item, "challenge_id"))
        const { $schema, ...schema } = schemaOf(item)
        assert.strictEqual($schema, "https://json-schema.org/draft/2020-12/schema")
        // The schema's keywords mean the same in the draft that this validator has without its meta-schema.
        const holds = ajv.compile(schema)
        for (const body of bodies) {
          const sent = { ...body, is_revision: true }
          const answer = yield* post(`/api/v1/eval/challenges/${id}/predict`, {
            token: agent.token,
            json: sent
          })
          const what = `${String(member(item, "kind"))} ${JSON.stringify(body)} ${answer.text}`
          assert.strictEqual(holds(sent), answer.status < 300, what)
        }
      }
      assert.strictEqual(Object.keys(each).length, 7)
    })
  )

  it.effect("GET /eval/open filters by asset, category, type, kind, deadline; an unknown value is 400", () =>
    Effect.gen(function* () {
      const { barrier, close, count, directional, macro, now, threshold } = yield* oneOfEach
      const found = Effect.fnUntraced(function* (query: string) {
        return idsOf((yield* get(`${open}?${query}`)).json)
      })
      assert.deepStrictEqual(yield* found("asset=btc"), [threshold.id])
      assert.deepStrictEqual(yield* found("category=commodities"), [directional.id])
      assert.deepStrictEqual(yield* found("type=macro"), [macro.id])
      assert.deepStrictEqual(yield* found("type=price_event&asset=ETH&category=crypto"), [
        barrier.id,
        close.id,
        count.id
      ])
      assert.deepStrictEqual(yield* found("kind=count_days"), [count.id])
      assert.deepStrictEqual(yield* found(`closing_before=${DateTime.formatIso(plus(now, "2 hours"))}`), [
        directional.id
      ])
      for (const [query, field] of [
        ["asset=GOLD", "asset"],
        ["category=metals", "category"],
        ["type=session", "type"],
        ["kind=digital", "kind"],
        ["closing_before=tomorrow", "closing_before"],
        ["status=open", "status"]
      ] as const) {
        const refused = yield* get(`${open}?${query}`)
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, [field]], query)
      }
      const { items } = (yield* get(`${open}?limit=1`)).json
      assert.isArray(items)
      const cursor = String((yield* get(`${open}?limit=1`)).json["next_cursor"])
      assert.strictEqual((yield* get(`${open}?cursor=${cursor}&type=macro`)).status, 400)
    })
  )

  it.effect("An agent sees what it has answered, what it may revise and how many answers it has left", () =>
    Effect.gen(function* () {
      const { barrier, directional, macro } = yield* oneOfEach
      const { agentId, token } = yield* onboard()
      yield* post("/api/v1/agent/prediction-scope/ETH", { token })
      yield* predict(AgentId.make(agentId), directional, { confidence: 0.25 })
      const { headers, json } = yield* get(open, { token })
      assert.deepInclude(headers.get("cache-control"), "private")
      assert.include(headers.get("vary") ?? "", "authorization")
      const mine = (index: number) => member(json, "items", index, "mine")
      assert.strictEqual(member(json, "items", 0, "challenge_id"), directional.id)
      assert.deepStrictEqual(member(mine(0), "answer"), {
        ...emptyAnswer,
        direction: "bullish",
        confidence: 0.25
      })
      assert.deepStrictEqual(
        ["revision_count", "may_revise", "subscribed", "predictions_left"].map((name) =>
          member(mine(0), name)
        ),
        [0, true, false, 9]
      )
      // A series has no scope.
      assert.strictEqual(member(json, "items", 1, "challenge_id"), macro.id)
      assert.deepStrictEqual(
        ["answer", "prediction_id", "may_revise", "subscribed"].map((name) => member(mine(1), name)),
        [null, null, false, null]
      )
      assert.strictEqual(member(json, "items", 2, "challenge_id"), barrier.id)
      assert.strictEqual(member(mine(2), "subscribed"), true)
      const claimed = yield* onboardClaimed()
      const other = yield* get(open, { token: claimed.token })
      assert.isNull(member(other.json, "items", 0, "mine", "predictions_left"))
      assert.isNull(member(other.json, "items", 0, "mine", "answer"))
    })
  )

  it.effect("A wrong token, and a token of another agent than X-Agent-Id names, are refused", () =>
    Effect.gen(function* () {
      const bad = yield* get(open, { token: "nonsense" })
      assert.deepStrictEqual([bad.status, bad.json["code"]], [401, "invalid_token"])
      const { token } = yield* onboard()
      const headers = { "x-agent-id": "0190f000-0000-7000-8000-000000000000" }
      const mismatch = yield* get(open, { token, headers })
      assert.deepStrictEqual([mismatch.status, mismatch.json["code"]], [403, "agent_mismatch"])
    })
  )

  it.effect("GET /eval/open has an ETag, and is 304 while nothing changes, for agents and strangers", () =>
    Effect.gen(function* () {
      const { directional } = yield* oneOfEach
      const agent = yield* onboardClaimed()
      for (const options of [{}, { token: agent.token }]) {
        const etag = (yield* get(open, options)).headers.get("etag") ?? ""
        assert.match(etag, /^".+"$/)
        const again = yield* get(open, { ...options, headers: { "if-none-match": etag } })
        assert.strictEqual(again.status, 304)
      }
      const etag = (yield* get(open, { token: agent.token })).headers.get("etag") ?? ""
      yield* predict(AgentId.make(agent.agentId), directional)
      const changed = yield* get(open, { token: agent.token, headers: { "if-none-match": etag } })
      assert.strictEqual(changed.status, 200)
    })
  )
})

layer(testServer())("GET /eval/open/{challenge_id}", (it) => {
  it.effect("An open question is the same as in the list, and 404 once it is closed", () =>
    Effect.gen(function* () {
      const { directional } = yield* oneOfEach
      const { token } = yield* onboard()
      for (const options of [{}, { token }]) {
        const listed = member((yield* get(`${open}?limit=1`, options)).json, "items", 0)
        assert.deepStrictEqual((yield* get(`${open}/${directional.id}`, options)).json, listed)
      }
      yield* TestClock.adjust("1 hour")
      const gone = yield* get(`${open}/${directional.id}`)
      assert.deepStrictEqual([gone.status, gone.json["code"]], [404, "not_found"])
      for (const id of ["GC", "0190f000-0000-7000-8000-000000000000"]) {
        assert.strictEqual((yield* get(`${open}/${id}`)).status, 404)
      }
    })
  )
})

const scheduled = testServer({ environment: { AUSPEX_SCHEDULES: "session,price_event,macro" } })

layer(scheduled)("No open questions", (it) => {
  it.effect("An empty list says when the schedules make the next question", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const monday = yield* freshWeek
      const next = (query = "") => Effect.map(get(`${open}?${query}`), ({ json }) => json["next_expected_at"])
      // Two hours before a session begins, as that of gold in the morning of New York.
      assert.strictEqual(yield* next("asset=GC"), DateTime.formatIso(plus(monday, "11 hours")))
      const each = yield* Effect.forEach(yield* Targets.use(({ scopes }) => scopes), (key) =>
        Effect.map(next(`asset=${key}&kind=session`), (at) => (at === null ? [] : [String(at)]))
      )
      assert.strictEqual(yield* next(), each.flat().toSorted()[0])
      // A day before the next week.
      assert.strictEqual(yield* next("type=price_event"), DateTime.formatIso(plus(monday, "6 days")))
      assert.strictEqual(yield* next("kind=barrier&asset=ETH"), DateTime.formatIso(plus(monday, "6 days")))
      assert.isNull(yield* next("type=macro"))
      yield* sql`
        insert into release_calendar (target, period, unit, release_at, reward_pool)
        values ('CPI', '2026-03', '', ${DateTime.toDateUtc(plus(monday, "30 days"))}, 0)`
      const planned = yield* next("asset=CPI")
      assert.isString(planned)
      assert.isTrue(String(planned) < DateTime.formatIso(plus(monday, "30 days")))
      assert.isNull(yield* next("kind=flash"))
      yield* newChallenge()
      assert.isNull(yield* next())
    })
  )
})

import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { ChallengeState } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { onboard } from "../support/agents.ts"
import { adminRoutes, pathOf } from "../support/routes.ts"
import { TestServer, get, heartbeat, member, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { asOwner } from "../support/database.ts"

const token = testAdminToken
const changing = adminRoutes.filter(({ method }) => method !== "GET")

const auditLog = Effect.gen(function* () {
  const { items } = (yield* get("/api/v1/admin/audit?limit=200", { token })).json
  assert(Array.isArray(items))
  return items
})

const entriesOf = (requestId: string) =>
  Effect.map(auditLog, (items) => items.filter((item) => member(item, "request_id") === requestId))

const statusesOf = (requestId: string) =>
  Effect.map(entriesOf(requestId), (entries) => entries.map((entry) => member(entry, "status")))

layer(testServer())("Administration", (it) => {
  it.effect.each(adminRoutes)("The call $name needs the administrator's token", (route) =>
    Effect.gen(function* () {
      const options = route.takesBody ? { json: {} } : {}
      const none = yield* send(route.method, pathOf(route), options)
      assert.strictEqual(none.status, 401)
      assert.strictEqual(none.headers.get("www-authenticate"), "Bearer")
      for (const wrong of ["x", token.slice(0, -1), `${token}x`, token.toUpperCase()]) {
        const answer = yield* send(route.method, pathOf(route), { ...options, token: wrong })
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(answer.headers.get("www-authenticate"), 'Bearer error="invalid_token"')
      }
    })
  )

  it.effect.each(["deadline", "resolve_at"])(
    "A %s from which no other time could be computed is refused",
    (field) =>
      Effect.gen(function* () {
        const json = {
          asset: "GC",
          open_price: 100,
          deadline: "2099-01-01T00:00:00Z",
          resolve_at: "2099-01-01T00:00:00Z"
        }
        for (const late of ["9900-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00"]) {
          const answer = yield* send("POST", "/api/v1/admin/challenges", {
            token,
            json: { ...json, [field]: late }
          })
          assert.strictEqual(answer.status, 400)
          assert.strictEqual(member(answer.json, "errors", 0, "path"), field)
          assert.match(String(member(answer.json, "errors", 0, "message")), /before the year 9900/)
        }
      })
  )

  it.effect.each(changing)("The call $name is in the audit log with its status, refused or not", (route) =>
    Effect.gen(function* () {
      const headers = { "content-type": "application/json" }
      const tries = {
        unknown: { json: {} },
        ...(route.takesBody && {
          malformed: { body: '{"reason": \u0000', headers },
          "not UTF-8": { body: new Uint8Array([0xff, 0x00]), headers },
          "another type": { body: "reason=x", headers: { "content-type": "text/plain" } },
          "too large": { body: "x".repeat(10 * 1024 * 1024 + 1), headers }
        })
      }
      for (const [what, options] of Object.entries(tries)) {
        const id = `${route.method}${pathOf(route)}-${what}`.replaceAll(/[^A-Za-z0-9]/g, "-")
        const answer = yield* send(route.method, pathOf(route), {
          ...options,
          token,
          headers: { ...("headers" in options ? options.headers : {}), "x-request-id": id }
        })
        const [entry, ...more] = yield* entriesOf(id)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(member(entry, "status"), answer.status, what)
        assert.strictEqual(member(entry, "path"), pathOf(route))
        assert.isNotEmpty(member(entry, "action"))
      }
    })
  )

  it.effect("A call that succeeded is in the audit log with its body, without secrets", () =>
    Effect.gen(function* () {
      const { agentId } = yield* onboard()
      const json = {
        suspended: false,
        client_secret: 'quo"ted\\secret',
        nested: { api_key: "hidden" },
        note: "aus_gw_12345678_abc"
      }
      yield* send("PATCH", `/api/v1/admin/agents/${agentId}`, {
        token,
        json,
        headers: { "x-request-id": "changed" }
      })
      const [entry] = yield* entriesOf("changed")
      assert.strictEqual(member(entry, "action"), "changeAgent")
      assert.strictEqual(member(entry, "status"), 200)
      const body = String(member(entry, "body"))
      assert.deepStrictEqual(JSON.parse(body), {
        suspended: false,
        client_secret: "<redacted>",
        nested: { api_key: "<redacted>" },
        note: "aus_gw_<redacted>"
      })
    })
  )

  it.effect("A body is kept to 16 000 characters", () =>
    Effect.gen(function* () {
      yield* send("PATCH", "/api/v1/admin/targets/GC", {
        token,
        json: { note: "\u{1f4c8}".repeat(10_000) },
        headers: { "x-request-id": "long" }
      })
      const [entry] = yield* entriesOf("long")
      assert.strictEqual(String(member(entry, "body")).length, 16_000)
    })
  )

  it.effect("Reads, and calls without the token, are not in the audit log", () =>
    Effect.gen(function* () {
      const headers = { "x-request-id": "unrecorded" }
      yield* get("/api/v1/admin/prices/quarantine", { token, headers })
      yield* send("POST", "/api/v1/admin/settle", { token: "wrong", headers })
      assert.deepStrictEqual(yield* entriesOf("unrecorded"), [])
    })
  )

  it.effect("A call that failed on our side is in the audit log too", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agentId } = yield* onboard()
      yield* asOwner(sql`alter table agents rename to mislaid`)
      const answer = yield* send("POST", `/api/v1/admin/agents/${agentId}/rotate-secret`, {
        token,
        headers: { "x-request-id": "failed" }
      })
      yield* asOwner(sql`alter table mislaid rename to agents`)
      assert.strictEqual(answer.status, 500)
      const [entry] = yield* entriesOf("failed")
      assert.strictEqual(member(entry, "status"), 500)
    })
  )

  it.effect("A call is not carried out when it cannot be recorded before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agentId } = yield* onboard()
      const enable = send("PATCH", `/api/v1/admin/agents/${agentId}`, {
        token,
        json: { credit_arena_enabled: true }
      })
      const mayUseGateway = Effect.map(
        sql`select credit_arena_enabled as yes from agents where id = ${agentId}::uuid`,
        ([row]) => row?.["yes"]
      )
      yield* asOwner(sql`alter table audit_log rename to mislaid`)
      const refused = yield* enable
      yield* asOwner(sql`alter table mislaid rename to audit_log`)
      assert.deepStrictEqual([refused.status, yield* mayUseGateway], [500, false])
      assert.strictEqual((yield* enable).status, 200)
      assert.isTrue(yield* mayUseGateway)
    })
  )

  it.effect("A call is answered, and in the audit log, also when its end cannot be recorded", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agentId } = yield* onboard()
      yield* asOwner(sql`alter table audit_outcomes rename to mislaid`)
      const answer = yield* send("PATCH", `/api/v1/admin/agents/${agentId}`, {
        token,
        json: { suspended: true },
        headers: { "x-request-id": "without-end" }
      })
      yield* asOwner(sql`alter table mislaid rename to audit_outcomes`)
      assert.strictEqual(answer.status, 200)
      const [entry] = yield* entriesOf("without-end")
      assert.deepStrictEqual([member(entry, "action"), member(entry, "status")], ["changeAgent", null])
    })
  )

  it.effect("The audit log is read from the newest to the oldest, each entry once", () =>
    Effect.gen(function* () {
      const all = yield* auditLog
      const seen: Array<unknown> = []
      let cursor: unknown = ""
      while (cursor !== null) {
        const page = yield* get(
          `/api/v1/admin/audit?limit=7${cursor === "" ? "" : `&cursor=${String(cursor)}`}`,
          { token }
        )
        assert(Array.isArray(page.json["items"]))
        seen.push(...page.json["items"])
        cursor = page.json["next_cursor"]
      }
      assert.deepStrictEqual(seen, all)
    })
  )

  it.effect("An event's URL is stored as it was parsed, and refused with a user name or password", () =>
    Effect.gen(function* () {
      const imported = (url: string) =>
        send("POST", "/api/v1/admin/events", { token, json: { events: [{ title: "The Fed holds", url }] } })
      for (const [sent, stored] of [
        ["https://example.org/\r\nX: y", "https://example.org/X:%20y"],
        ["HTTPS://Example.ORG", "https://example.org/"],
        ["https://example.org/caf\u00e9?a=<b>", "https://example.org/caf%C3%A9?a=%3Cb%3E"]
      ] as const) {
        const answer = yield* imported(sent)
        assert.strictEqual(member(answer.json, "events", 0, "url"), stored)
      }
      for (const [url, message] of [
        [
          "https://user:secret@example.org/",
          'Expected a URL without user name and password, got the string "https://<redacted>@example.org/"'
        ],
        [
          "https://user@example.org/",
          'Expected a URL without user name and password, got the string "https://<redacted>@example.org/"'
        ],
        ["ftp://example.org/", 'Expected an http or https URL, got the string "ftp://example.org/"'],
        [
          `https://example.org/${"\u00e9".repeat(700)}`,
          `Expected a URL of at most 2000 characters, percent-encoded, got the string "https://example.org/${"\u00e9".repeat(20)}"... (720 characters)`
        ]
      ] as const) {
        const answer = yield* imported(url)
        assert.strictEqual(answer.status, 400)
        assert.deepStrictEqual(answer.json["errors"], [{ path: "events.0.url", message }])
      }
    })
  )

  it.effect("A list that is too long is refused for its length, whatever it holds", () =>
    Effect.gen(function* () {
      for (const [path, field, maximum, others, method] of [
        ["events", "events", 1000, {}, "POST"],
        ["prices", "candles", 20_000, { asset: "GC", interval: "1d" }, "POST"],
        ["prices", "quotes", 20_000, { asset: "GC" }, "POST"],
        ["release-calendar", "releases", 10_000, {}, "PUT"],
        ["macro/challenges", "bin_edges", 200, {}, "POST"],
        ["archive", "challenges", 5000, {}, "POST"]
      ] as const) {
        const body = { ...others, [field]: Array.from({ length: maximum + 1 }, () => "x") }
        const { json, status } = yield* send(method, `/api/v1/admin/${path}`, { token, json: body })
        assert.strictEqual(status, 400, path)
        assert(Array.isArray(json["errors"]))
        const told = json["errors"].filter((error) => String(member(error, "path")).startsWith(field))
        assert.deepStrictEqual(
          told.map((error) => member(error, "path")),
          [field]
        )
        assert.match(
          String(member(told, 0, "message")),
          new RegExp(`^Expected a list of .*${maximum} elements, got a list of ${maximum + 1}$`)
        )
      }
    })
  )

  it.effect("The audit log is append-only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const tampering of [
        sql`delete from audit_log`,
        sql`update audit_log set action = 'another'`,
        sql`truncate audit_log`,
        sql`delete from audit_outcomes`,
        sql`update audit_outcomes set status = 200`
      ]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(asOwner(tampering))))
      }
    })
  )
})

const report = { closed: 0, resolved: [], cancelled: [], failed: [], waiting: 0 }
const entered = Deferred.makeUnsafe<void>()
const gate = Deferred.makeUnsafe<void>()
const slowSettlement = Layer.mock(Scoring, {
  settleDue: Deferred.succeed(entered, undefined).pipe(
    Effect.andThen(Deferred.await(gate)),
    Effect.as(report)
  )
})

layer(testServer({ swap: slowSettlement }), { excludeTestServices: true })(
  "An administrator who hangs up",
  (it) => {
    it.effect("An administrator who hangs up leaves the call in the audit log all the same", () =>
      Effect.gen(function* () {
        const { port } = yield* TestServer
        const socket = connect(port, "127.0.0.1", () =>
          socket.write(
            `POST /api/v1/admin/settle HTTP/1.1\r\nHost: x\r\nX-Request-Id: hung-up\r\nAuthorization: Bearer ${token}\r\n\r\n`
          )
        )
        yield* Deferred.await(entered)
        // A process that is killed here leaves this behind.
        assert.deepStrictEqual(yield* statusesOf("hung-up"), [null])
        yield* Effect.callback<void>((resume) => {
          socket.on("close", () => resume(Effect.void))
          socket.destroy()
        })
        // The server has seen the hang-up once it has answered others since.
        for (let turn = 0; turn < 3; turn++) yield* get("/health/live")
        yield* Deferred.succeed(gate, undefined)
        const recorded = yield* statusesOf("hung-up").pipe(
          Effect.repeat({
            until: ([status]) => status !== null,
            schedule: Schedule.spaced("5 millis")
          })
        )
        assert.deepStrictEqual(recorded, [200])
      })
    )
  }
)

const voiding = { begun: Deferred.makeUnsafe<void>(), end: Deferred.makeUnsafe<never, ChallengeState>() }
const slowVoid = Layer.effect(
  Scoring,
  Effect.map(Scoring, (scoring) => ({
    ...scoring,
    void: () => Effect.andThen(Deferred.succeed(voiding.begun, undefined), Deferred.await(voiding.end))
  }))
)

layer(testServer({ swap: slowVoid }))("A call whose answer is under way when its work fails", (it) => {
  it.effect("A call whose answer fails under way is in the audit log with the failure's status alone", () =>
    Effect.gen(function* () {
      const { onText, until } = heartbeat()
      const voidRequest = yield* Effect.forkChild(
        send("POST", "/api/v1/admin/macro/challenges/x/void", {
          token,
          json: { reason: "why" },
          headers: { "x-request-id": "long" },
          onText
        }).pipe(Effect.exit)
      )
      yield* Deferred.await(voiding.begun)
      yield* until(1)
      assert.deepStrictEqual(yield* statusesOf("long"), [null])
      yield* Deferred.fail(voiding.end, new ChallengeState({ detail: "It has ended." }))
      yield* Fiber.join(voidRequest)
      assert.deepStrictEqual(yield* statusesOf("long"), [400])
    })
  )
})

const previous = "the-admin-token-before-a-change-of-it"

layer(testServer({ environment: { AUSPEX_ADMIN_TOKEN_PREVIOUS: previous } }))(
  "A change of the token",
  (it) => {
    it.effect("Administration takes the new token and the one before during a change, and no other", () =>
      Effect.gen(function* () {
        for (const accepted of [token, previous]) {
          assert.strictEqual((yield* get("/api/v1/admin/audit", { token: accepted })).status, 200)
        }
        assert.strictEqual((yield* get("/api/v1/admin/audit", { token: `${previous}x` })).status, 401)
      })
    )
  }
)

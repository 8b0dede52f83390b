import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { isFull, oneIn } from "../support/breadth.ts"
import { onboard } from "../support/agents.ts"
import { openChallenge } from "../support/challenges.ts"
import { pathOf, routes } from "../support/routes.ts"
import { costRatio, timesHealth } from "../support/requestCost.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import type { Answer, RequestOptions } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { sameOrigin } from "../support/visitor.ts"

const scopes = "/api/v1/public/prediction-scopes"
const register = "/api/v1/agent/registry/register"
const json = { "content-type": "application/json" }

/** The headers that every answer has. */
const assertCommon = (answer: Answer) => {
  assert.match(String(answer.headers.get("x-request-id")), /^[A-Za-z0-9._-]{1,128}$/)
  assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
  assert.isNull(answer.headers.get("server"))
  assert.isNull(answer.headers.get("x-powered-by"))
}

const assertError = (answer: Answer, status: number, code: string) => {
  assertCommon(answer)
  assert.deepStrictEqual([answer.status, answer.json["code"]], [status, code], answer.text.slice(0, 200))
  assert.strictEqual(answer.headers.get("content-type"), "application/json; charset=utf-8")
  assert.isNotEmpty(answer.json["detail"])
}

/** Sends the body in chunks, so that no Content-Length gives its size away. */
const chunks = (size: number) =>
  new ReadableStream({
    start: (controller) => {
      const piece = new Uint8Array(16 * 1024).fill(0x20)
      for (let sent = 0; sent < size; sent += piece.length) controller.enqueue(piece.subarray(0, size - sent))
      controller.close()
    }
  })

layer(testServer())("The edge", (it) => {
  it.effect("The edge answers with the request id that was sent, unless it holds a secret of ours", () =>
    Effect.gen(function* () {
      const answeredId = (id: string) =>
        Effect.map(get("/health/live", { headers: { "x-request-id": id } }), ({ headers }) =>
          headers.get("x-request-id")
        )
      assert.strictEqual(yield* answeredId("mine-1.2_3"), "mine-1.2_3")
      for (const secret of ["aus_gw_0123456789abcdef", "x-aus_cs_0123456789"]) {
        assert.match(String(yield* answeredId(secret)), /^[0-9a-f-]{36}$/)
      }
    })
  )

  it.effect.each([
    "/api",
    "/api/v1",
    "/api/v2/events",
    "/nothing/here",
    "/health",
    "/api/v1/admin",
    "/..%2f..",
    "/%zz"
  ])("GET %s is 404 in our shape", (path) =>
    Effect.gen(function* () {
      for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
        assertError(yield* send(method, path), 404, "not_found")
      }
    })
  )

  it.effect.each(routes)("$name: another method is 405, OPTIONS 204, both with Allow", (route) =>
    Effect.gen(function* () {
      const path = pathOf(route)
      const options = yield* send("OPTIONS", path)
      assert.strictEqual(options.status, 204)
      assert.strictEqual(options.text, "")
      assertCommon(options)
      const allowed = String(options.headers.get("allow")).split(", ")
      assert.include(allowed, route.method)
      assert.strictEqual(allowed.includes("HEAD"), allowed.includes("GET"))
      for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"]) {
        if (allowed.includes(method)) continue
        const answer = yield* send(method, path)
        assert.strictEqual(answer.status, 405, method)
        assert.strictEqual(answer.headers.get("allow"), allowed.join(", "))
        if (method !== "HEAD") assertError(answer, 405, "method_not_allowed")
      }
    })
  )

  it.effect.each(["/openapi.json", "/docs", "/skill.md", "/llms.txt"])(
    "The document %s is read, and nothing else",
    (path) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* send("OPTIONS", path)).headers.get("allow"), "GET, HEAD")
        for (const method of ["POST", "PUT", "DELETE"]) {
          assertError(yield* send(method, path), 405, "method_not_allowed")
        }
      })
  )

  it.effect("HEAD is GET without the body, refusals included", () =>
    Effect.gen(function* () {
      for (const path of [
        scopes,
        "/health/live",
        "/openapi.json",
        "/docs",
        "/nothing",
        "/api/v1/agent/profile/self"
      ]) {
        const got = yield* get(path)
        const head = yield* send("HEAD", path)
        assert.strictEqual(head.status, got.status, path)
        assert.strictEqual(head.text, "")
        assert.strictEqual(head.headers.get("content-type"), got.headers.get("content-type"))
        assertCommon(head)
      }
    })
  )

  it.effect("JSON says its charset, and nothing may sniff for another type", () =>
    Effect.gen(function* () {
      const answer = yield* get(scopes)
      assertCommon(answer)
      assert.strictEqual(answer.headers.get("content-type"), "application/json; charset=utf-8")
    })
  )

  it.effect("A read without a token may be used by any web page, an agent's answer by none", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      assert.strictEqual((yield* get(scopes)).headers.get("access-control-allow-origin"), "*")
      const own = yield* get("/api/v1/agent/profile/self", { token })
      assert.isNull(own.headers.get("access-control-allow-origin"))
      assert.strictEqual(own.headers.get("cache-control"), "no-store")
    })
  )

  it.effect("An X-Request-Id of 1 to 128 safe characters is taken over, any other is replaced", () =>
    Effect.gen(function* () {
      const idOf = (sent: string, path = scopes) =>
        Effect.map(get(path, { headers: { "x-request-id": sent } }), ({ headers }) =>
          headers.get("x-request-id")
        )
      for (const id of ["a", "A-z_0.9", "x".repeat(128)]) {
        assert.strictEqual(yield* idOf(id), id)
        assert.strictEqual(yield* idOf(id, "/nothing"), id)
      }
      const made = yield* Effect.forEach(["", "a b", "x".repeat(129), "a/b", "é", "a,b"], (id) => idOf(id))
      for (const id of made)
        assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
      assert.strictEqual(new Set(made).size, made.length)
    })
  )
})

layer(testServer())("Bodies", (it) => {
  const largest = 256 * 1024
  const padded = (size: number, start: string) => `${start}${"x".repeat(size - start.length - 2)}"}`
  const agentScopes = "/api/v1/agent/scopes"
  const sendRaw = (body: RequestOptions["body"], headers: Record<string, string> = json) =>
    post(register, { ...(body !== undefined && { body }), headers })

  it.effect("Bodies may have 256 KiB and not a byte more, with a Content-Length and in chunks", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const add = (body: string | ReadableStream) => post(agentScopes, { body, headers: json, token })
      const ofSize = (size: number) => padded(size, '{"add":[],"padding":"')
      assert.strictEqual((yield* add(ofSize(largest))).status, 200)
      assertError(yield* add(ofSize(largest + 1)), 413, "payload_too_large")
      assertError(yield* add(chunks(largest + 1)), 413, "payload_too_large")
      // This body is blank, but not too large: it is refused for being blank.
      assertError(yield* add(chunks(largest)), 400, "invalid_request")
    })
  )

  it.effect("Bodies of strangers may have 16 KiB, and 160 KiB where they answer a challenge", () =>
    Effect.gen(function* () {
      for (const [path, kibibytes] of [
        [register, 16],
        ["/api/v1/agent/auth/token", 16],
        ["/api/v1/agent/registry/resend-secret", 16],
        ["/api/v1/agent/registry/claim-link/refresh", 16],
        ["/api/v1/agent/challenge/x/submit", 160]
      ] as const) {
        const sent = (size: number) => post(path, { body: padded(size, '{"padding":"'), headers: json })
        assertError(yield* sent(kibibytes * 1024), 400, "invalid_request")
        assertError(yield* sent(kibibytes * 1024 + 1), 413, "payload_too_large")
        assertError(
          yield* post(path, { body: chunks(kibibytes * 1024 + 1), headers: json }),
          413,
          "payload_too_large"
        )
      }
    })
  )

  it.effect("Bodies of administrators may have 10 MiB and not a byte more", () =>
    Effect.gen(function* () {
      const limit = 10 * 1024 * 1024
      const start = '{"suspended":false,"padding":"'
      const ofSize = (size: number) => `${start}${"x".repeat(size - start.length - 2)}"}`
      const { agentId } = yield* onboard()
      const change = (body: RequestOptions["body"]) =>
        send("PATCH", `/api/v1/admin/agents/${agentId}`, {
          token: testAdminToken,
          headers: json,
          ...(body !== undefined && { body })
        })
      assert.strictEqual((yield* change(ofSize(limit))).status, 200)
      assertError(yield* change(ofSize(limit + 1)), 413, "payload_too_large")
      assertError(yield* change(chunks(limit + 1)), 413, "payload_too_large")
    })
  )

  it.effect("Bodies are JSON by their content type, or have none", () =>
    Effect.gen(function* () {
      const text = '{"name":"Ada"}'
      for (const type of ["application/json", "Application/JSON", "application/json; charset=utf-8"]) {
        assert.strictEqual((yield* sendRaw(text, { "content-type": type })).status, 201, type)
      }
      assert.strictEqual((yield* sendRaw(new TextEncoder().encode(text), {})).status, 201)
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "multipart/form-data",
        "x"
      ]) {
        assertError(yield* sendRaw(text, { "content-type": type }), 415, "unsupported_media_type")
      }
      const coded = (coding: string) =>
        sendRaw(text, { "content-type": "application/json", "content-encoding": coding })
      for (const coding of ["gzip", "br", "identity, gzip", "aes128gcm"]) {
        assertError(yield* coded(coding), 415, "unsupported_media_type")
      }
      assert.strictEqual((yield* coded("Identity")).status, 201)
    })
  )

  it.effect.each<readonly [what: string, body: string | Uint8Array<ArrayBuffer>]>([
    ["empty", ""],
    ["blank", " \n\t"],
    ["cut off", '{"name":"Ada"'],
    ["followed by something", '{"name":"Ada"} x'],
    ["two values", '{"name":"Ada"}{"name":"Ada"}'],
    ["with a trailing comma", '{"name":"Ada",}'],
    ["with a comment", '{"name":"Ada" /* me */}'],
    ["with single quotes", "{'name':'Ada'}"],
    ["with NaN", '{"name":"Ada","confidence":NaN}'],
    ["with a byte order mark", '\ufeff{"name":"Ada"}'],
    ["with a raw line break in a text", '{"name":"A\nda"}'],
    ["with a bad escape", '{"name":"\\x41da"}'],
    ["with a member twice", '{"name":"Ada","name":"Bob"}'],
    ["with a member twice, once escaped", '{"name":"Ada","n\\u0061me":"Bob"}'],
    ["with a nested member twice", '{"name":"Ada","extra":{"a":1,"a":2}}'],
    ["65 levels deep", `{"name":"Ada","extra":${"[".repeat(64)}${"]".repeat(64)}}`],
    ["16 000 levels deep", "[".repeat(16_000)],
    ["not UTF-8", new Uint8Array([0x7b, 0x22, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
    ["in overlong UTF-8", new Uint8Array([0x22, 0xc0, 0xaf, 0x22])],
    ["in UTF-16", new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00])],
    ["a null", "null"],
    ["a list", "[]"],
    ["a text", '"Ada"'],
    ["with a number that no double holds", '{"name":"Ada","extra":-1e999}'],
    ["a number", "1e999"]
  ])("A wrong body is 400: %s", ([, body]) =>
    Effect.gen(function* () {
      const answer = yield* sendRaw(body)
      assertError(answer, 400, "invalid_request")
      assert.isNotEmpty(answer.json["errors"])
    })
  )

  it.effect("Bodies 64 levels deep are taken", () =>
    Effect.gen(function* () {
      const answer = yield* sendRaw(`{"name":"Ada","extra":${"[".repeat(63)}${"]".repeat(63)}}`)
      assert.strictEqual(answer.status, 201)
    })
  )

  it.effect("Bodies with a member twice are refused by its path", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(wrongFields(yield* sendRaw('{"name":"Ada","extra":{"a":[{"b":1,"b":2}]}}')), [
        "extra.a.0.b"
      ])
    })
  )

  it.effect("Bodies with a number that no double holds are refused by its path, also beside a null", () =>
    Effect.gen(function* () {
      const answer = yield* sendRaw('{"name":"Ada","bio":null,"extra":{"a":[1,1e400]}}')
      assert.deepStrictEqual(wrongFields(answer), ["extra.a.1"])
    })
  )

  it.effect("Bodies with members named __proto__ or constructor change nothing", () =>
    Effect.gen(function* () {
      const answer = yield* sendRaw(
        '{"name":"Ada","__proto__":{"type":"admin"},"constructor":{"prototype":{"x":1}}}'
      )
      assert.strictEqual(answer.status, 201)
      assert.isUndefined(member({}, "x"))
      assertError(yield* sendRaw('{"__proto__":{"name":"Ada"}}'), 400, "invalid_request")
    })
  )
})

layer(testServer())("Errors", (it) => {
  it.effect("Errors hold no stack trace, no SQL and nothing of our files, whatever was sent", () =>
    Effect.gen(function* () {
      const { id } = yield* openChallenge()
      const { token } = yield* onboard()
      const hostile = [
        "'",
        '"; drop table agents; --',
        "%00",
        "\ud800",
        "../../etc/passwd",
        "x".repeat(3000),
        "%ff",
        "-1"
      ]
      const answers: Array<Answer> = []
      for (const text of oneIn(4, hostile)) {
        const segment = encodeURIComponent(text.toWellFormed())
        for (const route of routes) {
          const credentials =
            route.caller === "anybody" ? {} : { token: route.caller === "agent" ? token : testAdminToken }
          const parameters = {
            challenge_id: segment,
            agent_id: segment,
            scope_key: segment,
            key: segment,
            id: segment
          }
          const path = `${pathOf(route, parameters)}?limit=${segment}&cursor=${segment}&status=${segment}`
          answers.push(
            yield* send(route.method, path, {
              ...credentials,
              ...(route.takesBody && { json: { direction: text, name: text } })
            })
          )
        }
        answers.push(
          yield* post(`/api/v1/eval/challenges/${id}/predict`, { token, json: { direction: text } })
        )
      }
      for (const answer of answers) {
        assert.isBelow(answer.status, 500, answer.text.slice(0, 300))
        if (answer.status < 400) continue
        assert.notMatch(
          answer.text,
          /\bat .+:\d+:\d+|node_modules|\/src\/|SqlError|\bselect\b.*\bfrom\b|\binsert into\b|syntax error|"_tag"/i
        )
        assert.isString(answer.json["detail"])
        assert.match(String(answer.json["code"]), /^[a-z_]+$/)
      }
      assert.isAbove(answers.filter(({ status }) => status === 400).length, 50)
    })
  )
})

layer(testServer())("The cost of hostile bodies", (it) => {
  const marks = (length: number) => `a${"\u0300".repeat(length / 2)}${"\u0316".repeat(length / 2)}`
  const ones = (start: string, size: number, end: string) =>
    `${start}${"1,".repeat((size - start.length - end.length - 1) / 2)}1${end}`

  it.effect.runIf(isFull)(
    "A body costs as some requests do, however many combining marks a stranger sends",
    () =>
      Effect.gen(function* () {
        const form = { "content-type": "application/x-www-form-urlencoded" }
        const token = "/api/v1/agent/auth/token"
        const fields = "grant_type=client_credentials&client_secret=x&agent_id="
        for (const [path, headers, body, status] of [
          [token, form, fields + marks(125_000), 413],
          [token, form, fields + marks(8000), 400],
          [token, form, `${fields}a&client_secret=${marks(7900)}`, 400],
          ["/api/v1/agent/registry/resend-secret", json, JSON.stringify({ agent_id: marks(1500) }), 400],
          ["/api/v1/agent/registry/resend-secret", json, JSON.stringify({ agent_id: marks(8000) }), 400],
          [register, json, JSON.stringify({ name: "Ada", bio: marks(8000) }), 400],
          ["/sign-in", { ...form, ...sameOrigin }, `email=${marks(125_000)}`, 413]
        ] as const) {
          const request = post(path, { body, headers })
          assert.strictEqual((yield* request).status, status, path)
          assert.isBelow(yield* timesHealth(request), 40, path)
        }
      })
  )

  it.effect.runIf(isFull)(
    "Marks in a field of 4 000 characters cost as some requests do, and the field is named",
    () =>
      Effect.gen(function* () {
        const { token } = yield* onboard()
        const { id } = yield* openChallenge()
        for (const length of [16_000, 31_998, 100_000]) {
          const request = post(`/api/v1/eval/challenges/${id}/predict`, {
            token,
            json: { direction: "bullish", confidence: 0.5, reasoning: marks(length) }
          })
          const answer = yield* request
          assertError(answer, 400, "invalid_request")
          assert.deepStrictEqual(wrongFields(answer), ["reasoning"])
          assert.isBelow(yield* timesHealth(request), 40, String(length))
        }
      })
  )

  it.effect.runIf(isFull)(
    "A list that is too long costs the reading of its JSON, and the field is named",
    () =>
      Effect.gen(function* () {
        const { token } = yield* onboard()
        for (const [path, start, field, end, kibibytes] of [
          ["/api/v1/agent/challenge/x/submit", '{"answer":{"', "related_events", "}", 160],
          ["/api/v1/agent/scopes", '{"', "add", "", 250],
          [register, '{"', "languages", "", 15]
        ] as const) {
          const under = (name: string) =>
            post(path, {
              body: ones(`${start}${name}":[`, kibibytes * 1024 - 16, `]}${end}`),
              headers: json,
              token
            })
          const answer = yield* under(field)
          assertError(answer, 400, "invalid_request")
          assert.match(
            answer.text,
            new RegExp(`"path":"(answer.)?${field}","message":"Expected a list of at most`)
          )
          // An unknown field is read, and no more.
          assert.isBelow(yield* costRatio(under(field), under("unknown")), 3, path)
        }
      })
  )
})

import { brotliCompressSync } from "node:zlib"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { stylesheet } from "../../src/http/site/assets/assets.ts"
import { chosenCoding } from "../../src/http/compression.ts"
import { staticDocument } from "../../src/http/httpCaching.ts"
import { allScopes } from "../../src/services/Scopes.ts"
import { onboardClaimed } from "../support/agents.ts"
import { gatewayRoutes, pathOf, routes } from "../support/routes.ts"
import type { Route } from "../support/routes.ts"
import { get, member, metrics, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const documentedPath = (route: Route) => route.template.replaceAll(/:([a-z_]+)/g, "{$1}")

layer(testServer())("Documents", (it) => {
  it.effect("The document /openapi.json is OpenAPI 3.1 and lists every route, and no other", () =>
    Effect.gen(function* () {
      const answer = yield* get("/openapi.json")
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "application/json; charset=utf-8")
      assert.match(String(answer.json["openapi"]), /^3\.1\.\d+$/)
      const listed = Object.entries(answer.json["paths"] ?? {}).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`)
      )
      const served = routes.map((route) => `${route.method} ${documentedPath(route)}`)
      assert.deepStrictEqual(listed.sort(), [...served, ...gatewayRoutes].sort())
    })
  )

  it.effect("The document /openapi.json lists the errors of every route, in the one shape they have", () =>
    Effect.gen(function* () {
      const { json } = yield* get("/openapi.json")
      for (const route of routes) {
        const responses = member(
          json,
          "paths",
          documentedPath(route),
          route.method.toLowerCase(),
          "responses"
        )
        const statuses = Object.keys(responses ?? {}).map(Number)
        const expected = {
          agent: [400, 401, 403, 429],
          administrator: [400, 401],
          anybody: route.template.startsWith("/health/") ? [] : [400, 429]
        }[route.caller]
        for (const status of expected) assert.include(statuses, status, route.name)
        if (route.takesBody) assert.includeMembers(statuses, [413, 415], route.name)
        assert(
          statuses.some((status) => status >= 200 && status < 300),
          route.name
        )
      }
    })
  )

  it.effect("Every route of the document answers", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed({ requested_scopes: allScopes })
      const credentials = { agent: { token }, administrator: { token: testAdminToken }, anybody: {} }
      for (const route of routes) {
        const answer = yield* send(route.method, pathOf(route), {
          ...credentials[route.caller],
          ...(route.takesBody && { json: {} })
        })
        // Nobody has enabled the gateway for this agent.
        if (answer.json["code"] === "gateway_disabled") continue
        assert.notInclude([401, 403, 405, 429], answer.status, route.name)
        assert.isBelow(answer.status, 500, route.name)
        if (answer.status === 404) assert.notInclude(answer.json["detail"], "There is nothing at this path")
      }
    })
  )

  it.effect("/docs is a page about the document", () =>
    Effect.gen(function* () {
      const answer = yield* get("/docs")
      assert.strictEqual(answer.status, 200)
      assert.match(String(answer.headers.get("content-type")), /^text\/html; ?charset=utf-8$/i)
      assert.match(answer.text, /<title>API reference · Auspex/)
      assert.isNotNull(answer.headers.get("x-request-id"))
      assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
      assert.include(answer.headers.get("content-security-policy") ?? "", "default-src 'none'")
      assert.strictEqual(answer.headers.get("x-frame-options"), "DENY")
      // A reader of the page needs no other server, and finds the way home.
      assert.notMatch(answer.text, /<(script|link rel="(stylesheet|icon)")[^>]+(src|href)="https?:/)
      assert.include(answer.text, 'class="wordmark" href="/"')
      assert.isBelow(brotliCompressSync(answer.text).byteLength, 100_000)
    })
  )

  it.effect("/docs has every call and every type, and each of its links leads somewhere", () =>
    Effect.gen(function* () {
      const { text } = yield* get("/docs")
      const { json } = yield* get("/openapi.json")
      const operations = Object.values(json["paths"] ?? {}).flatMap((methods) => Object.values(methods ?? {}))
      assert.strictEqual(
        text.split('<details class="operation">').length - 1,
        operations.length + Object.keys(member(json["components"], "schemas") ?? {}).length
      )
      const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id)
      assert.lengthOf(ids, new Set(ids).size)
      for (const [, target = ""] of text.matchAll(/ href="#([^"]+)"/g)) assert.include(ids, target)
    })
  )

  it.effect("Metrics have requests' durations by method, route and status, not by path", () =>
    Effect.gen(function* () {
      const unknown = "0190f000-0000-7000-8000-00000000beef"
      yield* get(`/api/v1/eval/challenges/${unknown}/results?limit=1`)
      yield* get("/nothing-of-the-kind")
      const text = yield* metrics
      const labels = ['method="GET"', 'route="/api/v1/eval/challenges/:challenge_id/results"', 'status="404"']
      const counts = text.match(/^auspex_http_request_duration_seconds_count\{.*$/gm) ?? []
      assert.isTrue(
        counts.some((count) => labels.every((label) => count.includes(label))),
        counts.join("\n")
      )
      assert.match(text, /auspex_http_request_duration_seconds_count\{[^}]*route="none"/)
      assert.notInclude(text, unknown)
      assert.notInclude(text, "nothing-of-the-kind")
    })
  )
})

layer(testServer())("A document that is made once", (it) => {
  it.effect.each(["/docs", "/openapi.json", "/skill.md", "/llms.txt", stylesheet.path])(
    "The document %s is sent compressed to clients that take that, and not again to those that have it",
    (path) =>
      Effect.gen(function* () {
        const documentIn = (coding: string, more = {}) =>
          get(path, { headers: { "accept-encoding": coding, ...more } })
        const plain = yield* documentIn("identity")
        assert.isNull(plain.headers.get("content-encoding"))
        const etags = new Set<string>()
        for (const coding of ["identity", "br", "gzip", "zstd"]) {
          const answer = yield* documentIn(coding)
          assert.strictEqual(answer.status, 200)
          // fetch has undone the coding.
          assert.strictEqual(answer.text, plain.text)
          if (coding !== "identity") assert.strictEqual(answer.headers.get("content-encoding"), coding)
          assert.strictEqual(answer.headers.get("vary"), "accept-encoding")
          assert.match(String(answer.headers.get("cache-control")), /^public, max-age=[1-9]\d{2,}/)
          const etag = String(answer.headers.get("etag"))
          assert.match(etag, /^"[\w-]{22}"$/)
          etags.add(etag)
          const known = yield* documentIn(coding, { "if-none-match": etag })
          assert.deepStrictEqual([known.status, known.text], [304, ""])
          assert.strictEqual(known.headers.get("etag"), etag)
          assert.isNull(known.headers.get("content-encoding"))
          const head = yield* send("HEAD", path, { headers: { "accept-encoding": coding } })
          assert.strictEqual(head.headers.get("content-length"), answer.headers.get("content-length"))
          assert.strictEqual(head.headers.get("etag"), etag)
        }
        // Strong tags: each form has its own.
        assert.strictEqual(etags.size, 4)
      })
  )

  it.effect("A document is the same bytes for all who ask, also while it is being compressed", () =>
    Effect.gen(function* () {
      let made = 0
      const document = yield* staticDocument(
        Effect.sync(() => {
          made += 1
          return { bytes: Buffer.alloc(100_000, "text "), contentType: "text/plain", headers: {} }
        })
      )
      for (const coding of ["br", "gzip", "zstd", "identity"]) {
        const request = HttpServerRequest.fromWeb(
          new Request("http://localhost/", { headers: { "accept-encoding": coding } })
        )
        const bodies = yield* Effect.all([document(request), document(request), document(request)], {
          concurrency: "unbounded"
        })
        const [first, ...others] = bodies.map(({ body }) => (body._tag === "Uint8Array" ? body.body : null))
        assert.isNotNull(first)
        for (const other of others) assert.strictEqual(other, first)
      }
      assert.strictEqual(made, 1)
    })
  )

  it.effect.each([
    [undefined, undefined],
    ["", undefined],
    ["identity", undefined],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, deflate", "gzip"],
    ["GZIP;q=0.5", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["br; q=0.000, *", "gzip"],
    ["*", "br"],
    ["*;q=0", undefined],
    ["zstd", "zstd"],
    ["gzip, zstd;q=0.9", "gzip"],
    ["br;q=0.1, gzip;q=0.2, zstd;q=0.15", "gzip"],
    ["gzip;q=0.5, identity", undefined],
    ["gzip;q=0.5, identity;q=0.1", "gzip"],
    ["gzip;q=2, br;q=x", undefined],
    ["deflate, compress", undefined]
  ] as const)("Accept-Encoding %s gets a document in the coding %s", ([header, coding]) =>
    Effect.sync(() => assert.strictEqual(chosenCoding(header), coding))
  )
})

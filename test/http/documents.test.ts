import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { allScopes } from "../../src/services/Scopes.ts"
import { onboardClaimed } from "../support/agents.ts"
import { gatewayRoutes, pathOf, routes } from "../support/routes.ts"
import type { Route } from "../support/routes.ts"
import { get, member, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const documentedPath = (route: Route) => route.template.replaceAll(/:([a-z_]+)/g, "{$1}")

layer(testServer())("Documents", (it) => {
  it.effect("/openapi.json is OpenAPI 3.1 and lists every route, and no other", () =>
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

  it.effect("/openapi.json lists the errors of every route, in the one shape they have", () =>
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

  it.effect("every route it lists answers", () =>
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

  it.effect("/docs is a page about it", () =>
    Effect.gen(function* () {
      const answer = yield* get("/docs")
      assert.strictEqual(answer.status, 200)
      assert.match(String(answer.headers.get("content-type")), /^text\/html; ?charset=utf-8$/i)
      assert.match(answer.text, /<title>Auspex/)
      assert.isNotNull(answer.headers.get("x-request-id"))
      assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
      // Whoever reads it needs no other server.
      assert.notMatch(answer.text, /<(script|link)[^>]+(src|href)="https?:/)
    })
  )

  it.effect(
    "/metrics has the duration of requests by method, route and status, not by what was in the path",
    () =>
      Effect.gen(function* () {
        const unknown = "0190f000-0000-7000-8000-00000000beef"
        yield* get(`/api/v1/eval/challenges/${unknown}/results?limit=1`)
        yield* get("/nothing-of-the-kind")
        const answer = yield* get("/metrics")
        assert.strictEqual(answer.status, 200)
        assert.match(String(answer.headers.get("content-type")), /^text\/plain/)
        const labels = [
          'method="GET"',
          'route="/api/v1/eval/challenges/:challenge_id/results"',
          'status="404"'
        ]
        const counts = answer.text.match(/^auspex_http_request_duration_seconds_count\{.*$/gm) ?? []
        assert.isTrue(
          counts.some((count) => labels.every((label) => count.includes(label))),
          counts.join("\n")
        )
        assert.match(answer.text, /auspex_http_request_duration_seconds_count\{[^}]*route="none"/)
        assert.notInclude(answer.text, unknown)
        assert.notInclude(answer.text, "nothing-of-the-kind")
      })
  )
})

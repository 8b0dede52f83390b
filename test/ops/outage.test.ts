import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { issue, onboard, register } from "../support/agents.ts"
import { TcpProxy, tcpProxy, proxiedServices } from "../support/tcpProxy.ts"
import { telemetryRecorder } from "../support/telemetryRecorder.ts"
import { often } from "../support/process.ts"
import { pathOf, routes } from "../support/routes.ts"
import { get, member, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const server = testServer({ services: proxiedServices }).pipe(
  Layer.provideMerge(Layer.mergeAll(tcpProxy, telemetryRecorder))
)

/** A body that is well-formed for endpoints that ask the database before they know of another mistake. */
const json = {
  name: "Ada",
  agent_id: "a",
  challenge_id: "b",
  grant_type: "client_credentials",
  client_secret: "c"
}

layer(server, { excludeTestServices: true })("An outage of the database", (it) => {
  /** Readiness is kept for a second. */
  const readiness = (expected: number) =>
    get("/health/ready").pipe(
      Effect.repeat({ schedule: often, until: ({ status }) => status === expected }),
      Effect.map(({ json }) => member(json, "checks", 0, "reason"))
    )

  it.effect("A request that needs the database is 503 unavailable with Retry-After, without the cause", () =>
    Effect.gen(function* () {
      const { whileCut } = yield* TcpProxy
      const { token } = yield* onboard()
      const credentials = { agent: { token }, administrator: { token: testAdminToken }, anybody: {} }
      // The routes of the gateway are the instance's own.
      const needing = routes.filter(({ template }) => !/^\/health\/|\/admin\/gateway\/routes$/.test(template))
      const answers = yield* whileCut(
        Effect.forEach(needing, (route) =>
          send(route.method, pathOf(route), {
            ...credentials[route.caller],
            ...(route.takesBody && { json })
          })
        )
      )
      const unavailable = answers.filter(({ status }) => status !== 400)
      assert.isAbove(unavailable.length, needing.length / 2)
      for (const answer of unavailable) {
        assert.strictEqual(answer.status, 503)
        const { error, error_description, ...body } = answer.json
        // The token endpoint answers in the form of OAuth, too.
        assert.include([undefined, "temporarily_unavailable"], error)
        assert.strictEqual(error_description, error === undefined ? undefined : body["detail"])
        assert.deepStrictEqual(body, {
          detail: "The service cannot reach its database just now: try again shortly.",
          code: "unavailable",
          retry_after: 1
        })
        assert.strictEqual(answer.headers.get("retry-after"), "1")
      }
    })
  )

  it.effect("The instance is live and not ready, and both within a second of the database's return", () =>
    Effect.gen(function* () {
      const { whileCut } = yield* TcpProxy
      assert.strictEqual(yield* readiness(200), null)
      assert.strictEqual(yield* whileCut(readiness(503)), "cannot be reached")
      assert.strictEqual((yield* whileCut(get("/health/live"))).status, 200)
      assert.strictEqual(yield* readiness(200), null)
    })
  )

  it.effect("An outage loses nothing: once the database is back all goes on, with the same tokens", () =>
    Effect.gen(function* () {
      const { whileCut } = yield* TcpProxy
      const { agentId, secret, token } = yield* onboard()
      const profile = get("/api/v1/agent/profile/self", { token })
      for (let outage = 0; outage < 3; outage++) {
        assert.strictEqual((yield* whileCut(profile)).status, 503)
        assert.strictEqual((yield* profile).json["agent_id"], agentId)
      }
      assert.strictEqual((yield* register()).max_attempts, 5)
      assert.strictEqual((yield* issue(agentId, secret)).token_type, "Bearer")
    })
  )
})

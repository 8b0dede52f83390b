import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { rateLimits } from "../../src/config.ts"
import { trustedProxies } from "../../src/http/CurrentRequest.ts"
import { tokenPath } from "../../src/services/Tokens.ts"
import { oneIn } from "../support/breadth.ts"
import { askForToken, onboard, register } from "../support/agents.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { adminRoutes, agentRoutes, everyPath, pathOf } from "../support/routes.ts"
import { get, member, post, raw, send, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

/** Limits that few requests use up; config.test.ts has the defaults. */
const small = {
  AUSPEX_LIMIT_TOKENS: "4/minute",
  AUSPEX_LIMIT_TOKEN_FAILURES: "6/minute",
  AUSPEX_LIMIT_REGISTRATIONS: "20/hour",
  AUSPEX_LIMIT_READS: "100/minute"
}

const from = (address: string) => ({ "x-forwarded-for": address })
const unknown = "0190f000-0000-7000-8000-000000000000"
const times = (count: number) => Array.from({ length: count }, (_, index) => index)
const having = (answers: ReadonlyArray<Answer>, status: number) =>
  answers.filter((answer) => answer.status === status).length

/** Checks a 429, and answers how long to wait. */
const assertRefused = (answer: Answer): number => {
  assert.strictEqual(answer.status, 429)
  assert.strictEqual(answer.json["code"], "rate_limited")
  const seconds = Number(answer.json["retry_after"])
  assert.isAtLeast(seconds, 1)
  assert.strictEqual(answer.headers.get("retry-after"), String(seconds))
  assert.strictEqual(answer.headers.get("cache-control"), "no-store")
  return seconds
}

const registrationFrom = (address: string, body = '{"name":"Ada"}') =>
  post("/api/v1/agent/registry/register", {
    headers: { ...from(address), "content-type": "application/json" },
    body
  })

layer(testServer({ environment: { ...small, AUSPEX_TRUSTED_PROXIES: "127.0.0.1" } }))(
  "The limits of an instance",
  (it) => {
    const scopesFrom = (address: string) =>
      get("/api/v1/public/prediction-scopes", { headers: from(address) })

    it.effect("An agent is issued as many tokens a minute as its limit allows", () =>
      Effect.gen(function* () {
        const [ada, bob] = [yield* onboard(), yield* onboard()]
        for (const _ of times(3))
          assert.strictEqual((yield* askForToken(ada.agentId, ada.secret)).status, 200)
        const seconds = assertRefused(yield* askForToken(ada.agentId, ada.secret))
        assert.strictEqual((yield* askForToken(bob.agentId, bob.secret)).status, 200)
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual((yield* askForToken(ada.agentId, ada.secret)).status, 200)
      })
    )

    it.effect("An agent's refused credentials block its good ones at their address above the limit", () =>
      Effect.gen(function* () {
        const { agentId, secret } = yield* onboard()
        const guesses = yield* Effect.forEach(
          times(8),
          () => askForToken(agentId, "guess", from("192.0.2.1")),
          {
            concurrency: 20
          }
        )
        assert.strictEqual(having(guesses, 401), 6)
        assert.strictEqual(having(guesses, 429), 2)
        const seconds = assertRefused(yield* askForToken(agentId, secret, from("192.0.2.1")))
        assert.strictEqual((yield* askForToken(agentId, secret, from("192.0.2.2"))).status, 200)
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual((yield* askForToken(agentId, secret, from("192.0.2.1"))).status, 200)
      })
    )

    it.effect("Right credentials pass, whatever others at the address were refused", () =>
      Effect.gen(function* () {
        const ada = yield* onboard()
        const bob = yield* onboard()
        const behindOneAddress = from("192.0.2.9")
        const guesses = yield* Effect.forEach(
          times(9),
          (index) =>
            askForToken(["nobody", unknown, bob.agentId][index % 3] ?? "", "guess", behindOneAddress),
          { concurrency: 20 }
        )
        // Wrong credentials are refused as too many, whosever they are said to be.
        assert.strictEqual(having(guesses, 401), 6)
        assert.strictEqual(having(guesses, 429), 3)
        assertRefused(yield* askForToken(ada.agentId, "guess", behindOneAddress))
        for (const { agentId, secret } of [ada, bob]) {
          assert.strictEqual((yield* askForToken(agentId, secret, behindOneAddress)).status, 200)
        }
        const lost = yield* register()
        const resent = yield* post("/api/v1/agent/registry/resend-secret", {
          headers: behindOneAddress,
          json: { agent_id: lost.agent_id, challenge_id: lost.challenge_id }
        })
        assert.strictEqual(resent.status, 200)
      })
    )

    it.effect("An agent that does not exist gets no window of its own, however it is named", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { agentId } = yield* onboard()
        yield* sql`delete from limit_windows`
        const ids = [
          "nobody",
          "\u0000",
          "0190f000-0000-7000-8000-00000000000a",
          agentId.toUpperCase(),
          agentId
        ]
        yield* Effect.forEach(ids, (id) => askForToken(id, "guess", from("192.0.2.10")))
        const kept = yield* sql<{
          key: string
        }>`select key from limit_windows where key like 'token_failures%'`
        assert.deepStrictEqual(kept.map(({ key }) => key.includes(agentId)).sort(), [false, true])
      })
    )

    it.effect("Wrong secrets at resend-secret and claim-link/refresh count as at the token endpoint", () =>
      Effect.gen(function* () {
        const { agentId, secret, registered } = yield* onboard()
        const headers = from("192.0.2.3")
        const resend = (challengeId: string) =>
          post("/api/v1/agent/registry/resend-secret", {
            headers,
            json: { agent_id: agentId, challenge_id: challengeId }
          })
        const refresh = (client_secret: string) =>
          post("/api/v1/agent/registry/claim-link/refresh", {
            headers,
            json: { agent_id: agentId, client_secret }
          })
        const guesses = yield* Effect.forEach(
          times(6),
          (index) => (index % 2 === 0 ? resend(agentId) : refresh("guess")),
          { concurrency: 20 }
        )
        assert.deepStrictEqual([having(guesses, 404), having(guesses, 401)], [3, 3])
        assertRefused(yield* resend(registered.challenge_id))
        assertRefused(yield* refresh(secret))
        assertRefused(yield* askForToken(agentId, secret, headers))
      })
    )

    it.effect("Malformed requests for tokens, claim links and secrets count as refused credentials", () =>
      Effect.gen(function* () {
        const json = { "content-type": "application/json" }
        const form = { "content-type": "application/x-www-form-urlencoded" }
        for (const [index, path] of [
          "/api/v1/agent/auth/token",
          "/api/v1/agent/registry/claim-link/refresh",
          "/api/v1/agent/registry/resend-secret"
        ].entries()) {
          const address = from(`192.0.2.${40 + index}`)
          const sent = (body: string, type: Readonly<Record<string, string>> = json) =>
            post(path, { headers: { ...address, ...type }, body })
          const answers = [
            ...(yield* Effect.forEach(times(2), () => sent("{"))),
            ...(yield* Effect.forEach(times(2), () => sent('{"agent_id":1}'))),
            yield* sent(" ".repeat(20_000)),
            yield* sent("x=1", index === 0 ? form : { "content-type": "text/plain" })
          ]
          const statuses = new Set(answers.map(({ status }) => status))
          assert.deepStrictEqual([...statuses].sort(), index === 0 ? [400, 413] : [400, 413, 415], path)
          for (const body of ["{", '{"agent_id":1}', " ".repeat(20_000)]) assertRefused(yield* sent(body))
          const seconds = assertRefused(yield* sent("{"))
          assert.strictEqual(
            (yield* post(path, { headers: { ...from("192.0.2.50"), ...json }, body: "{" })).status,
            400
          )
          yield* TestClock.adjust(`${seconds} seconds`)
          assert.strictEqual((yield* sent("{")).status, 400)
        }
      })
    )

    it.effect(
      "A grant of another type counts as refused credentials, and is answered so once they are used up",
      () =>
        Effect.gen(function* () {
          const { agentId, secret } = yield* onboard()
          const ask = post("/api/v1/agent/auth/token", {
            headers: from("192.0.2.51"),
            json: { grant_type: "password", agent_id: agentId, client_secret: secret }
          })
          for (const _ of times(6)) assert.strictEqual((yield* ask).json["code"], "unsupported_grant_type")
          assertRefused(yield* ask)
        })
    )

    it.effect("Credentials that are accepted do not count as refused", () =>
      Effect.gen(function* () {
        const { agentId, secret } = yield* onboard()
        for (const _ of times(4)) {
          yield* TestClock.adjust("2 minutes")
          for (const _ of times(3)) {
            assert.strictEqual((yield* askForToken(agentId, secret, from("192.0.2.4"))).status, 200)
          }
        }
      })
    )

    it.effect("An address is allowed 20 registrations an hour, refused ones included", () =>
      Effect.gen(function* () {
        for (const [body, count] of [
          ['{"name":"Ada"}', 7],
          ['{"name":""}', 7],
          // The body is not even read before it is counted.
          ["{", 6]
        ] as const) {
          const answers = yield* Effect.forEach(times(count), () => registrationFrom("192.0.2.5", body))
          assert.strictEqual(having(answers, body.includes("Ada") ? 201 : 400), count)
        }
        const seconds = assertRefused(yield* registrationFrom("192.0.2.5"))
        assert.isAbove(seconds, 60)
        assert.strictEqual((yield* registrationFrom("192.0.2.6")).status, 201)
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual((yield* registrationFrom("192.0.2.5")).status, 201)
      })
    )

    it.effect(
      "An address is answered as many requests a minute as its limit allows, whatever they read",
      () =>
        Effect.gen(function* () {
          const paths = [
            "public/prediction-scopes",
            "public/target-catalog",
            "eval/btc/context",
            "eval/agents/x/scorecard"
          ]
          const answers = yield* Effect.forEach(
            times(110),
            (index) => get(`/api/v1/${paths[index % paths.length]}`, { headers: from("192.0.2.7") }),
            { concurrency: 20 }
          )
          assert.strictEqual(having(answers, 200) + having(answers, 404), 100)
          assert.strictEqual(having(answers, 429), 10)
          const seconds = assertRefused(yield* scopesFrom("192.0.2.7"))
          assert.strictEqual((yield* scopesFrom("192.0.2.8")).status, 200)
          // Health counts by itself: a probe is not refused because of reads from the same address.
          assert.strictEqual((yield* get("/health/live", { headers: from("192.0.2.7") })).status, 200)
          yield* TestClock.adjust(`${seconds} seconds`)
          assert.strictEqual((yield* scopesFrom("192.0.2.7")).status, 200)
        })
    )
  }
)

describe("The address of a client", () => {
  const addressOf = (
    forwardedFor: string,
    networks: ReadonlyArray<string> = ["127.0.0.0/8", "198.51.100.7/32"]
  ) => trustedProxies(networks).countedAddress("127.0.0.1", forwardedFor)

  it("The address of a client is the last one that no trusted proxy has", () => {
    // The addresses before it are the client's own invention.
    for (const hops of ["", "203.0.113.99, ", "203.0.113.98, "]) {
      assert.strictEqual(addressOf(`${hops}203.0.113.1`), "203.0.113.1")
    }
    assert.strictEqual(addressOf("203.0.113.98, 203.0.113.1, 198.51.100.7"), "203.0.113.1")
    assert.strictEqual(addressOf("203.0.113.1", []), "127.0.0.1")
  })

  it("An IPv6 network of 64 bits is one address, an IPv4 address one however it is written", () => {
    for (const written of ["2001:db8:1:2::3", "2001:DB8:1:2:ffff::", "[2001:db8:1:2:4:5:6:7]"]) {
      assert.strictEqual(addressOf(written), addressOf("2001:db8:1:2::"))
    }
    assert.notStrictEqual(addressOf("2001:db8:1:3::3"), addressOf("2001:db8:1:2::3"))
    assert.strictEqual(addressOf("::ffff:203.0.113.77"), "203.0.113.77")
  })

  it("A text that is no address is no way around the limit", () => {
    assert.strictEqual(addressOf("nonsense 1"), "127.0.0.1")
  })
})

const few = Object.fromEntries(Object.values(rateLimits).map(({ name }) => [name, "3/hour"] as const))

layer(testServer({ environment: { ...few, AUSPEX_TRUSTED_PROXIES: "127.0.0.1" } }))(
  "An address that is over its limits",
  (it) => {
    /** Uses up every limit that counts by address. */
    const exhaust = Effect.fnUntraced(function* (address: string) {
      const headers = from(address)
      const guess = { agent_id: unknown, client_secret: "guess", grant_type: "client_credentials" }
      for (const _ of times(4)) {
        yield* get("/nothing", { headers })
        yield* get("/api/v1/public/prediction-scopes", { headers })
        yield* get("/log/key", { headers })
        yield* registrationFrom(address)
        yield* post(tokenPath, { headers, json: guess })
      }
      return guess
    })

    it.effect("An address over its limits gets 429 at every path, known or not, whatever the method", () =>
      Effect.gen(function* () {
        const address = "192.0.2.20"
        const json = yield* exhaust(address)
        const strange = [
          "/nothing",
          "/api/v1/nothing",
          "//",
          "/%zz",
          "/sign-in/a/b/c",
          "/api/v1/llm/v1/nothing"
        ]
        const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]
        const byMethod = (path: string) => methods.map((method) => [method, path] as const)
        // A step without a common divisor with the number of methods takes each of them.
        for (const [method, path] of [
          ...oneIn(15, everyPath.flatMap(byMethod)),
          ...strange.flatMap(byMethod)
        ]) {
          const answer = yield* send(method, path, {
            headers: from(address),
            ...(method === "POST" && { json })
          })
          assert.strictEqual(answer.status, 429, `${method} ${path}`)
          assert.isAtLeast(Number(answer.headers.get("retry-after")), 1, `${method} ${path}`)
        }
        const guesses = { authorization: "Bearer guess", ...from(address) }
        for (const route of oneIn(4, [...agentRoutes, ...adminRoutes])) {
          const answer = yield* send(route.method, pathOf(route), { headers: guesses })
          assert.strictEqual(answer.status, 429, route.name)
        }
        assert.match(
          yield* raw(`GET /health/live HTTP/1.1\r\nX-Forwarded-For: ${address}\r\nConnection: close\r\n\r\n`),
          /^HTTP\/1\.1 429 /
        )
      })
    )

    it.effect("An address over its limits reads so in the shape of its request, and how long to wait", () =>
      Effect.gen(function* () {
        const address = "192.0.2.21"
        yield* exhaust(address)
        const seconds = assertRefused(yield* get("/nothing", { headers: from(address) }))
        const page = yield* get("/nothing", { headers: { ...from(address), accept: "text/html" } })
        assert.match(page.text, /Too many requests/)
        const call = yield* post("/api/v1/llm/v1/messages", { headers: from(address) })
        assert.strictEqual(member(call.json, "error", "type"), "rate_limit_error")
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual((yield* get("/nothing", { headers: from(address) })).status, 404)
        assert.strictEqual((yield* get("/health/live", { headers: from("192.0.2.22") })).status, 200)
      })
    )

    it.effect("An address over its limits does not lock out a right token, or the administrator's", () =>
      Effect.gen(function* () {
        const { token } = yield* onboard()
        const address = "192.0.2.23"
        const as = (bearer: string) => ({ token: bearer, headers: from(address) })
        for (const _ of times(5)) {
          yield* get("/api/v1/agent/profile/self", as("guess"))
          yield* get("/api/v1/admin/audit", as("guess"))
        }
        assertRefused(yield* get("/api/v1/agent/profile/self", as("guess")))
        assertRefused(yield* get("/api/v1/admin/audit", as("guess")))
        assert.strictEqual((yield* get("/api/v1/agent/profile/self", as(token))).status, 200)
        for (const _ of times(5)) {
          assert.strictEqual((yield* get("/api/v1/admin/audit", as(testAdminToken))).status, 200)
        }
      })
    )
  }
)

layer(testServer({ environment: few }).pipe(Layer.provideMerge(telemetryRecorder)))(
  "An instance behind a proxy that is not trusted",
  (it) => {
    it.effect("The log warns of a proxy that is not trusted, once", () =>
      Effect.gen(function* () {
        const { lines } = yield* TelemetryRecorder
        const told = () => lines.filter((line) => line.includes("AUSPEX_TRUSTED_PROXIES"))
        yield* get("/health/live")
        assert.lengthOf(told(), 0)
        for (const _ of times(3)) yield* get("/health/live", { headers: from("203.0.113.1") })
        assert.lengthOf(told(), 1)
        assert.include(told()[0], "127.0.0.1")
      })
    )

    it.effect("A client behind no trusted proxy does not choose the address it counts by", () =>
      Effect.gen(function* () {
        const answers = yield* Effect.forEach(times(5), (index) => registrationFrom(`203.0.113.${index}`))
        assert.deepStrictEqual([having(answers, 201), having(answers, 429)], [3, 2])
      })
    )
  }
)

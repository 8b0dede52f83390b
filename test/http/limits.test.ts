import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { settings } from "../../src/config.ts"
import { askForToken, onboard, pass, register } from "../support/agents.ts"
import { get, post, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

/** The limits as they are when an operator sets none. */
const defaults = Object.fromEntries(
  Object.values(settings)
    .filter(({ name }) => name.startsWith("AUSPEX_LIMIT_"))
    .map(({ name, defaultText }) => [name, String(defaultText)])
)

const from = (address: string) => ({ "x-forwarded-for": address })
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

layer(testServer({ environment: { ...defaults, AUSPEX_TRUSTED_PROXIES: "127.0.0.1" } }))(
  "Limits by default",
  (it) => {
    const scopesFrom = (address: string) =>
      get("/api/v1/public/prediction-scopes", { headers: from(address) })

    it.effect("20 tokens a minute are issued to an agent", () =>
      Effect.gen(function* () {
        const agents = [yield* register(), yield* register()] as const
        for (const agent of agents) yield* pass(agent)
        const [ada, bob] = agents
        const burst = yield* Effect.forEach(times(30), () => askForToken(ada.agent_id, ada.client_secret), {
          concurrency: "unbounded"
        })
        assert.strictEqual(having(burst, 200), 20)
        const seconds = assertRefused(yield* askForToken(ada.agent_id, ada.client_secret))
        assert.strictEqual((yield* askForToken(bob.agent_id, bob.client_secret)).status, 200)
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual((yield* askForToken(ada.agent_id, ada.client_secret)).status, 200)
      })
    )

    it.effect("60 refused credentials a minute from an address block its good ones too", () =>
      Effect.gen(function* () {
        const { agentId, secret } = yield* onboard()
        const guesses = yield* Effect.forEach(
          times(70),
          () => askForToken(agentId, "guess", from("192.0.2.1")),
          {
            concurrency: 20
          }
        )
        assert.strictEqual(having(guesses, 401), 60)
        assert.strictEqual(having(guesses, 429), 10)
        const seconds = assertRefused(yield* askForToken(agentId, secret, from("192.0.2.1")))
        assert.strictEqual((yield* askForToken(agentId, secret, from("192.0.2.2"))).status, 200)
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual((yield* askForToken(agentId, secret, from("192.0.2.1"))).status, 200)
      })
    )

    it.effect("refusals of resend-secret count with those of the token endpoint", () =>
      Effect.gen(function* () {
        const { agentId, secret, registered } = yield* onboard()
        const resend = (challengeId: string) =>
          post("/api/v1/agent/registry/resend-secret", {
            headers: from("192.0.2.3"),
            json: { agent_id: agentId, challenge_id: challengeId }
          })
        const guesses = yield* Effect.forEach(times(60), () => resend(agentId), { concurrency: 20 })
        assert.strictEqual(having(guesses, 404), 60)
        assertRefused(yield* resend(registered.challenge_id))
        assertRefused(yield* askForToken(agentId, secret, from("192.0.2.3")))
      })
    )

    it.effect("credentials that are accepted do not count as refused", () =>
      Effect.gen(function* () {
        const { agentId, secret } = yield* onboard()
        for (const _ of times(4)) {
          yield* TestClock.adjust("2 minutes")
          for (const _ of times(18)) {
            assert.strictEqual((yield* askForToken(agentId, secret, from("192.0.2.4"))).status, 200)
          }
        }
      })
    )

    it.effect("20 registrations an hour are taken from an address, refused ones included", () =>
      Effect.gen(function* () {
        for (const [body, count] of [
          ['{"name":"Ada"}', 7],
          ['{"name":""}', 7],
          // Not even read before it is counted.
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

    it.effect("600 requests a minute are answered to an address, whatever they read", () =>
      Effect.gen(function* () {
        const paths = [
          "public/prediction-scopes",
          "public/target-catalog",
          "eval/btc/context",
          "eval/agents/x/scorecard"
        ]
        const answers = yield* Effect.forEach(
          times(610),
          (index) => get(`/api/v1/${paths[index % paths.length]}`, { headers: from("192.0.2.7") }),
          { concurrency: 20 }
        )
        assert.strictEqual(having(answers, 200) + having(answers, 404), 600)
        assert.strictEqual(having(answers, 429), 10)
        const seconds = assertRefused(yield* scopesFrom("192.0.2.7"))
        assert.strictEqual((yield* scopesFrom("192.0.2.8")).status, 200)
        // For load balancers and people on call there is no limit.
        assert.strictEqual((yield* get("/health/live", { headers: from("192.0.2.7") })).status, 200)
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual((yield* scopesFrom("192.0.2.7")).status, 200)
      })
    )
  }
)

const two = { AUSPEX_LIMIT_REGISTRATIONS: "2/hour" }

layer(testServer({ environment: { ...two, AUSPEX_TRUSTED_PROXIES: "127.0.0.0/8,198.51.100.7" } }))(
  "Behind trusted proxies",
  (it) => {
    it.effect("the address is the last one that no trusted proxy has", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* registrationFrom("203.0.113.1")).status, 201)
        // What stands before it is the client's own invention.
        assert.strictEqual((yield* registrationFrom("203.0.113.99, 203.0.113.1")).status, 201)
        assertRefused(yield* registrationFrom("203.0.113.98, 203.0.113.1, 198.51.100.7"))
        assert.strictEqual((yield* registrationFrom("203.0.113.2")).status, 201)
      })
    )

    it.effect(
      "an IPv6 network of 64 bits counts as one address, an IPv4 address is one however it is written",
      () =>
        Effect.gen(function* () {
          assert.strictEqual((yield* registrationFrom("2001:db8:1:2::3")).status, 201)
          assert.strictEqual((yield* registrationFrom("2001:DB8:1:2:ffff::")).status, 201)
          assertRefused(yield* registrationFrom("[2001:db8:1:2:4:5:6:7]"))
          assert.strictEqual((yield* registrationFrom("2001:db8:1:3::3")).status, 201)
          assert.strictEqual((yield* registrationFrom("203.0.113.77")).status, 201)
          assert.strictEqual((yield* registrationFrom("::ffff:203.0.113.77")).status, 201)
          assertRefused(yield* registrationFrom("203.0.113.77"))
        })
    )

    it.effect("an address that is none is no way around the limit", () =>
      Effect.gen(function* () {
        const answers = yield* Effect.forEach(times(8), (index) => registrationFrom(`nonsense ${index}`))
        assert.strictEqual(having(answers, 201), 2)
        assert.strictEqual(having(answers, 429), 6)
      })
    )
  }
)

layer(testServer({ environment: two }))("Without trusted proxies", (it) => {
  it.effect("nobody chooses the address they count by", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.forEach(times(8), (index) => registrationFrom(`203.0.113.${index}`))
      assert.strictEqual(having(answers, 201), 2)
      assert.strictEqual(having(answers, 429), 6)
    })
  )
})

/** Two servers on one database, as holders of tokens meet them. */
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { issue, onboard } from "../support/agents.ts"
import {
  askByAssertion,
  assertionOf,
  ecPair,
  issueByAssertion,
  onboardWithKey
} from "../support/assertions.ts"
import { freshDatabase } from "../support/database.ts"
import { freePort, readyAuspex, replicaEnvironment, timed, to, until } from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { get, post, send } from "../support/server.ts"
import { settings, testAdminToken, testTokenSecret } from "../support/settings.ts"

const newSecret = "another-token-secret-0123456789-0123456789"

const roomy = {
  AUSPEX_LIMIT_TOKENS: "1000/minute",
  AUSPEX_LIMIT_TOKEN_FAILURES: "1000/minute",
  AUSPEX_LIMIT_REGISTRATIONS: "1000/minute"
}

/** Two replicas, and one that was started after the token secret had been changed. */
class Replicas extends Context.Service<
  Replicas,
  { readonly one: Auspex; readonly other: Auspex; readonly changed: Auspex }
>()("auspex/test/Replicas") {}

const baseUrl = Effect.map(Replicas, ({ one }) => one.url)

const replicas = Layer.effect(
  Replicas,
  Effect.gen(function* () {
    const database: Redacted.Redacted = yield* freshDatabase
    const port = yield* freePort
    const common = { ...roomy, AUSPEX_BASE_URL: `http://127.0.0.1:${port}` }
    const start = (extra: Readonly<Record<string, string>>, at?: number) =>
      readyAuspex({
        environment: replicaEnvironment(database, { ...common, ...extra }),
        ...(at !== undefined && { port: at })
      })
    const [one, other, changed] = yield* Effect.all(
      [
        start({}, port),
        start({}),
        start({ AUSPEX_TOKEN_SECRET: newSecret, AUSPEX_TOKEN_SECRET_PREVIOUS: testTokenSecret })
      ],
      { concurrency: "unbounded" }
    )
    return Replicas.of({ one, other, changed })
  })
)

const environment = Layer.unwrap(Effect.map(baseUrl, (url) => settings({ AUSPEX_BASE_URL: url }))).pipe(
  Layer.provideMerge(replicas)
)

const selfOf = (token: string) => get("/api/v1/agent/profile/self", { token })

layer(environment, { excludeTestServices: true })("Two replicas on one database", (it) => {
  it.effect("One assertion, sent to both replicas at once, gives one token", () =>
    Effect.gen(function* () {
      const { one, other } = yield* Replicas
      const { agentId, pair } = yield* onboardWithKey(ecPair()).pipe(to(one))
      for (let round = 0; round < 5; round++) {
        const assertion = yield* assertionOf(agentId, pair)
        const answers = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other)),
          (replica) => askByAssertion(agentId, assertion).pipe(to(replica)),
          { concurrency: "unbounded" }
        )
        const statuses = answers.map(({ status }) => status).sort()
        assert.deepStrictEqual(statuses, [200, ...Array.from({ length: 19 }, () => 401)])
        for (const replica of [one, other]) {
          assert.strictEqual((yield* askByAssertion(agentId, assertion).pipe(to(replica))).status, 401)
        }
      }
    })
  )

  it.effect("A rotated secret and a suspension end held tokens at both replicas, within 5 s", () =>
    Effect.gen(function* () {
      const { one, other } = yield* Replicas
      const bySecret = yield* onboard().pipe(to(one))
      const { agentId, pair } = yield* onboardWithKey(ecPair()).pipe(to(one))
      const { access_token } = yield* issueByAssertion(agentId, yield* assertionOf(agentId, pair)).pipe(
        to(one)
      )
      const held = [bySecret.token, access_token]
      const everywhere = [one, other].flatMap((replica) => held.map((token) => ({ replica, token })))
      const statuses = Effect.forEach(everywhere, ({ replica, token }) =>
        Effect.map(selfOf(token).pipe(to(replica)), ({ status }) => status)
      )
      // One request each, so that both remember that the tokens are good.
      assert.deepStrictEqual(yield* statuses, [200, 200, 200, 200])
      const admin = { token: testAdminToken }
      yield* post(`/api/v1/admin/agents/${bySecret.agentId}/rotate-secret`, admin).pipe(to(one))
      yield* send("PATCH", `/api/v1/admin/agents/${agentId}`, { ...admin, json: { suspended: true } }).pipe(
        to(one)
      )
      const [took] = yield* timed(
        until(
          "held tokens end at both",
          Effect.map(statuses, (all) => all.every((status) => status === 401))
        )
      )
      assert.isBelow(took, Duration.toMillis("5 seconds"))
    })
  )

  it.effect("After a change of the token secret held tokens are good, and new ones have another kid", () =>
    Effect.gen(function* () {
      const { changed, one } = yield* Replicas
      const { agentId, secret, token } = yield* onboard().pipe(to(one))
      assert.strictEqual((yield* selfOf(token).pipe(to(changed))).status, 200)
      const fresh = yield* issue(agentId, secret).pipe(to(changed))
      assert.strictEqual((yield* selfOf(fresh.access_token).pipe(to(changed))).status, 200)
      // The replica that has not been restarted does not know the new secret yet.
      assert.strictEqual((yield* selfOf(fresh.access_token).pipe(to(one))).status, 401)
      assert.notStrictEqual(fresh.access_token.split(".", 1)[0], token.split(".", 1)[0])
    })
  )
})

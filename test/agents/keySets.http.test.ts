/** Agents that publish their keys at a jwks_url, here on the very machine, as in development. */
import { createServer } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { askForToken, pass, register } from "../support/agents.ts"
import { askByAssertion, assertionOf, ecPair, rsaPair } from "../support/assertions.ts"
import type { Changes, KeyPair } from "../support/assertions.ts"
import { publicJwk } from "../support/hostileAssertions.ts"
import { post, testServer, wrongFields } from "../support/server.ts"

/** A developer's own server with a key set, which counts requests. */
class Publisher extends Context.Service<
  Publisher,
  {
    readonly url: string
    readonly fetches: () => number
    readonly publish: (keys: ReadonlyArray<Changes>) => void
  }
>()("auspex/test/Publisher") {}

const publisher = Layer.effect(
  Publisher,
  Effect.acquireRelease(
    Effect.callback<{ readonly service: Publisher["Service"]; readonly close: () => void }>((resume) => {
      let document = "{}"
      let fetches = 0
      const server = createServer((_, response) => {
        fetches += 1
        response.writeHead(200, { "content-type": "application/json" }).end(document)
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const service: Publisher["Service"] = {
          url: `http://127.0.0.1:${port}/jwks`,
          fetches: () => fetches,
          publish: (keys) => {
            document = JSON.stringify({ keys })
          }
        }
        resume(Effect.succeed({ service, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ service }) => service))
)

const [first, second, rsa]: readonly [KeyPair, KeyPair, KeyPair] = [ecPair(), ecPair(), rsaPair()]
const named = (kid: string) => ({ header: { kid } })

/** An agent with a key set of its own, whose URL nothing has fetched yet. */
const onboarded = Effect.fnUntraced(function* (name: string) {
  const { url } = yield* Publisher
  const registered = yield* register({ auth_method: "private_key_jwt", jwks_url: `${url}?${name}` })
  yield* pass(registered)
  return registered.agent_id
})

layer(testServer().pipe(Layer.provideMerge(publisher)))("An agent with a jwks_url", (it) => {
  it.effect("An agent gets tokens by its published keys, and rotates them by publishing others", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("20000 days")
      const { publish } = yield* Publisher
      const agentId = yield* onboarded("rotates")
      const tokenBy = Effect.fnUntraced(function* (pair: KeyPair, changes: { readonly header?: Changes }) {
        return yield* askByAssertion(agentId, yield* assertionOf(agentId, pair, changes))
      })
      publish([publicJwk(first, { kid: "1" }), publicJwk(rsa, { kid: "rsa" })])
      assert.strictEqual((yield* tokenBy(first, named("1"))).status, 200)
      assert.strictEqual((yield* tokenBy(rsa, named("rsa"))).status, 200)
      publish([publicJwk(second, { kid: "2" }), publicJwk(first, { kid: "3" })])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* tokenBy(second, named("2"))).status, 200)
      assert.strictEqual((yield* tokenBy(first, named("3"))).status, 200)
      // A kid that has gone, another key's kid, a stranger's key under a right kid, and keys that the assertion brings along.
      for (const [pair, changes] of [
        [first, named("1")],
        [first, named("2")],
        [ecPair(), named("2")],
        [rsaPair(), named("2")],
        [first, { header: { kid: "3", jku: "http://127.0.0.1/other" } }],
        [first, { header: { kid: "3", jwk: publicJwk(first) } }]
      ] as const) {
        const refused = yield* tokenBy(pair, changes)
        assert.deepStrictEqual(
          [refused.status, refused.json["error"]],
          [401, "invalid_client"],
          JSON.stringify(changes)
        )
      }
      const unnamed = yield* tokenBy(first, {})
      assert.strictEqual(unnamed.status, 401)
      assert.include(unnamed.json["detail"], "several ES256 keys: expected the kid of one")
    })
  )

  it.effect("No key set is fetched for an assertion that would be refused anyway, nor for strangers", () =>
    Effect.gen(function* () {
      const { fetches, publish } = yield* Publisher
      const agentId = yield* onboarded("quiet")
      publish([publicJwk(first, { kid: "1" })])
      const before = fetches()
      const claims = { aud: "https://elsewhere.example" }
      const wrong = yield* askByAssertion(
        agentId,
        yield* assertionOf(agentId, first, { ...named("1"), claims })
      )
      assert.include(wrong.json["detail"], "aud: Expected exactly")
      const nobody = "0190f000-0000-7000-8000-000000000000"
      yield* askByAssertion(nobody, yield* assertionOf(nobody, first, named("1")))
      yield* askByAssertion(
        agentId,
        yield* assertionOf(agentId, first, { header: { kid: "1", alg: "none" } })
      )
      assert.strictEqual(fetches() - before, 0)
    })
  )

  it.effect("A key set that cannot be fetched is 401, and nobody is told why", () =>
    Effect.gen(function* () {
      const registered = yield* register({
        auth_method: "private_key_jwt",
        jwks_url: "http://127.0.0.1:9/jwks"
      })
      yield* pass(registered)
      const { agent_id } = registered
      const answer = yield* askByAssertion(agent_id, yield* assertionOf(agent_id, first, named("1")))
      assert.strictEqual(answer.status, 401)
      assert.notMatch(answer.text, /127\.0\.0\.1|ECONN|fetch/)
    })
  )
})

layer(
  testServer({ environment: { AUSPEX_BASE_URL: "https://auspex.example" } }).pipe(
    Layer.provideMerge(publisher)
  )
)("A jwks_url at a public instance", (it) => {
  it.effect("A jwks_url on this machine is refused at registration by the name of the field", () =>
    Effect.gen(function* () {
      const { fetches, url } = yield* Publisher
      for (const jwks_url of [url, url.replace("127.0.0.1", "localhost"), url.replace("http:", "https:")]) {
        const answer = yield* post("/api/v1/agent/registry/register", {
          json: { name: "Ada", auth_method: "private_key_jwt", jwks_url }
        })
        assert.deepStrictEqual([answer.status, wrongFields(answer)], [400, ["jwks_url"]], jwks_url)
      }
      assert.strictEqual(fetches(), 0)
    })
  )
})

layer(
  testServer({ environment: { AUSPEX_LIMIT_TOKEN_FAILURES: "3/minute" } }).pipe(Layer.provideMerge(publisher))
)("An address with too many refused credentials", (it) => {
  it.effect("An address with too many refusals causes no fetch, and gets tokens by keys in memory", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("20000 days")
      const { fetches, publish } = yield* Publisher
      publish([publicJwk(first, { kid: "1" })])
      const [known, fresh] = [yield* onboarded("known"), yield* onboarded("fresh")]
      const ask = Effect.fnUntraced(function* (agentId: string) {
        return (yield* askByAssertion(agentId, yield* assertionOf(agentId, first, named("1")))).status
      })
      assert.strictEqual(yield* ask(known), 200)
      for (let count = 0; count < 3; count++) {
        assert.strictEqual((yield* askForToken("nobody", "guess")).status, 401)
      }
      const before = fetches()
      assert.strictEqual(yield* ask(known), 200)
      assert.strictEqual(yield* ask(fresh), 429)
      assert.strictEqual(fetches(), before)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* ask(fresh), 200)
      assert.strictEqual(fetches(), before + 1)
    })
  )
})

/** Agents that publish their keys at a jwks_url, here on the very machine, as in development. */
import { createServer } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { askForToken, pass, register } from "../support/agents.ts"
import { askByAssertion, assertionOf, ecPair, rsaPair } from "../support/assertions.ts"
import type { Changes, KeyPair } from "../support/assertions.ts"
import { publicJwk } from "../support/hostileAssertions.ts"
import { jwksTricks } from "../support/jwksTricks.ts"
import { post, testServer, wrongFields } from "../support/server.ts"

/** A developer's own server with a key set, which counts requests. */
class Publisher extends Context.Service<
  Publisher,
  {
    readonly url: string
    readonly asked: () => number
    readonly publish: (keys: ReadonlyArray<Changes>) => void
  }
>()("auspex/test/Publisher") {}

const publisher = Layer.effect(
  Publisher,
  Effect.acquireRelease(
    Effect.callback<{ readonly service: Publisher["Service"]; readonly close: () => void }>((resume) => {
      let document = "{}"
      let asked = 0
      const server = createServer((_, response) => {
        asked += 1
        response.writeHead(200, { "content-type": "application/json" }).end(document)
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const service: Publisher["Service"] = {
          url: `http://127.0.0.1:${port}/jwks`,
          asked: () => asked,
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
      const { asked, publish } = yield* Publisher
      const agentId = yield* onboarded("rotates")
      const status = Effect.fnUntraced(function* (pair: KeyPair, kid: string) {
        return (yield* askByAssertion(agentId, yield* assertionOf(agentId, pair, named(kid)))).status
      })
      const before = asked()
      publish([publicJwk(first, { kid: "1" }), publicJwk(rsa, { kid: "rsa" })])
      assert.strictEqual(yield* status(first, "1"), 200)
      assert.strictEqual(yield* status(rsa, "rsa"), 200)
      assert.strictEqual(asked() - before, 1)
      publish([publicJwk(second, { kid: "2" })])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* status(second, "2"), 200)
      assert.strictEqual(yield* status(first, "1"), 401)
      assert.strictEqual(asked() - before, 2)
    })
  )

  it.effect("A kid that is unknown, another's, or absent among several is refused, as is a strange key", () =>
    Effect.gen(function* () {
      const { publish } = yield* Publisher
      const agentId = yield* onboarded("refused")
      publish([
        publicJwk(first, { kid: "1" }),
        publicJwk(second, { kid: "2" }),
        publicJwk(rsa, { kid: "rsa" })
      ])
      const cases: ReadonlyArray<readonly [KeyPair, { readonly header?: Changes }]> = [
        [first, {}],
        [first, named("3")],
        [first, named("2")],
        [first, named("rsa")],
        [rsa, named("1")],
        [ecPair(), named("1")],
        [rsaPair(), named("rsa")],
        [first, { header: { kid: "1", jku: "http://127.0.0.1/other" } }],
        [first, { header: { kid: "1", jwk: publicJwk(first) } }]
      ]
      for (const [pair, changes] of cases) {
        const answer = yield* askByAssertion(agentId, yield* assertionOf(agentId, pair, changes))
        assert.strictEqual(answer.status, 401, JSON.stringify(changes))
        assert.strictEqual(answer.json["error"], "invalid_client")
      }
      assert.strictEqual(
        (yield* askByAssertion(agentId, yield* assertionOf(agentId, first, named("1")))).status,
        200
      )
    })
  )

  it.effect("An agent needs no kid with one key of the algorithm, and is told when it needs one", () =>
    Effect.gen(function* () {
      const { publish } = yield* Publisher
      const agentId = yield* onboarded("unnamed")
      publish([publicJwk(first), publicJwk(rsa)])
      for (const pair of [first, rsa]) {
        assert.strictEqual((yield* askByAssertion(agentId, yield* assertionOf(agentId, pair))).status, 200)
      }
      const ignored = { x5t: "abc", "x5t#S256": "abc", url: "https://elsewhere.example", "example.com/x": 1 }
      const more = yield* askByAssertion(agentId, yield* assertionOf(agentId, first, { header: ignored }))
      assert.strictEqual(more.status, 200, more.text)
      publish([publicJwk(first, { kid: "1" }), publicJwk(second, { kid: "2" })])
      yield* TestClock.adjust("6 minutes")
      const several = yield* askByAssertion(agentId, yield* assertionOf(agentId, first))
      assert.strictEqual(several.status, 401)
      assert.include(several.json["detail"], "several ES256 keys: expected the kid of one")
    })
  )

  it.effect("No key set is fetched for an assertion that would be refused anyway, nor for strangers", () =>
    Effect.gen(function* () {
      const { asked, publish } = yield* Publisher
      const agentId = yield* onboarded("quiet")
      publish([publicJwk(first, { kid: "1" })])
      const before = asked()
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
      assert.strictEqual(asked() - before, 0)
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
  it.effect("A jwks_url is at a public place only, and no trick reaches a listener on this machine", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* Publisher
      const own = [url, url.replace("127.0.0.1", "localhost"), url.replace("http:", "https:")]
      const all = [...own, ...jwksTricks(Number(new URL(url).port))]
      assert.isAtLeast(all.length, 60)
      yield* Effect.forEach(
        all,
        (jwks_url) =>
          Effect.gen(function* () {
            const answer = yield* post("/api/v1/agent/registry/register", {
              json: { name: "Ada", auth_method: "private_key_jwt", jwks_url }
            })
            assert.strictEqual(answer.status, 400, jwks_url)
            assert.deepStrictEqual(wrongFields(answer), ["jwks_url"])
          }),
        { concurrency: 8 }
      )
      assert.strictEqual(asked(), 0)
    })
  )
})

layer(
  testServer({ environment: { AUSPEX_LIMIT_TOKEN_FAILURES: "3/minute" } }).pipe(Layer.provideMerge(publisher))
)("An address with too many refused credentials", (it) => {
  it.effect("An address with too many refusals causes no fetch, and gets tokens by keys in memory", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("20000 days")
      const { asked, publish } = yield* Publisher
      publish([publicJwk(first, { kid: "1" })])
      const [known, fresh] = [yield* onboarded("known"), yield* onboarded("fresh")]
      const ask = Effect.fnUntraced(function* (agentId: string) {
        return (yield* askByAssertion(agentId, yield* assertionOf(agentId, first, named("1")))).status
      })
      assert.strictEqual(yield* ask(known), 200)
      for (let count = 0; count < 3; count++) {
        assert.strictEqual((yield* askForToken("nobody", "guess")).status, 401)
      }
      const before = asked()
      assert.strictEqual(yield* ask(known), 200)
      assert.strictEqual(yield* ask(fresh), 429)
      assert.strictEqual(asked(), before)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* ask(fresh), 200)
      assert.strictEqual(asked(), before + 1)
    })
  )
})

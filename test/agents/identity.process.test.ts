/** Two servers on one database, as clients of the stock libraries and holders of tokens meet them. */
import { createPrivateKey } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { issue, onboard } from "../support/agents.ts"
import {
  askByAssertion,
  assertionOf,
  ecPair,
  issueByAssertion,
  onboardWithKey,
  rsaPair
} from "../support/assertions.ts"
import type { KeyPair } from "../support/assertions.ts"
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

/** A key as the Web Cryptography API has it, which is what the stock clients take. */
const webKey = ({ alg, privateKey }: KeyPair) =>
  crypto.subtle.importKey(
    "pkcs8",
    createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" })).export({
      format: "der",
      type: "pkcs8"
    }),
    alg === "ES256" ? { name: "ECDSA", namedCurve: "P-256" } : { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    false,
    ["sign"]
  )

/** The one-line override: these clients send the issuer as the audience, unless told otherwise. */
const toTokenEndpoint = (url: string) => ({
  [oauth.modifyAssertion]: (_header: unknown, payload: Record<string, unknown>) => {
    payload["aud"] = `${url}/api/v1/agent/auth/token`
  }
})

/** What oauth4webapi gets; the error that it makes of a refusal. */
const byOauth4webapi = async (url: string, agentId: string, authentication: oauth.ClientAuth) => {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(url)
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, found)
  const client: oauth.Client = { client_id: agentId }
  const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, {}, insecure)
  return oauth.processClientCredentialsResponse(server, client, response)
}

const byOpenidClient = async (url: string, agentId: string, authentication: openid.ClientAuth) => {
  const configuration = await openid.discovery(new URL(url), agentId, undefined, authentication, {
    algorithm: "oauth2",
    execute: [openid.allowInsecureRequests]
  })
  return openid.clientCredentialsGrant(configuration)
}

const stock = { oauth4webapi: byOauth4webapi, "openid-client": byOpenidClient } as const

layer(environment, { excludeTestServices: true, timeout: "40 seconds" })(
  "Two replicas on one database",
  (it) => {
    it.effect.each(Object.entries(stock))(
      "%s gets tokens by secret in the body, by HTTP Basic and by assertion",
      ([, ask]) =>
        Effect.gen(function* () {
          const { one } = yield* Replicas
          const url = yield* baseUrl
          const { agentId, secret } = yield* onboard().pipe(to(one))
          const rsa = yield* onboardWithKey(rsaPair()).pipe(to(one))
          const ec = yield* onboardWithKey(ecPair()).pipe(to(one))
          const keyOf = ({ pair }: { readonly pair: KeyPair }) => Effect.promise(() => webKey(pair))
          const override = toTokenEndpoint(url)
          const ways = [
            [agentId, oauth.ClientSecretPost(secret)],
            [agentId, oauth.ClientSecretBasic(secret)],
            [rsa.agentId, oauth.PrivateKeyJwt(yield* keyOf(rsa), override)],
            [ec.agentId, oauth.PrivateKeyJwt({ key: yield* keyOf(ec), kid: "mine" }, override)]
          ] as const
          for (const [client, authentication] of ways) {
            const token = yield* Effect.promise(() => ask(url, client, authentication))
            assert.strictEqual(token.token_type, "bearer")
            assert.strictEqual(token.expires_in, 3600)
            assert.isString(token["claim_note"])
            assert.strictEqual((yield* selfOf(token.access_token).pipe(to(one))).json["agent_id"], client)
          }
          // Their default audience is the issuer, which is refused with a word on what would be right.
          const byDefault = oauth.PrivateKeyJwt(yield* keyOf(ec))
          const refused = yield* Effect.flip(Effect.tryPromise(() => ask(url, ec.agentId, byDefault)))
          const error = refused.cause
          assert.instanceOf(error, oauth.ResponseBodyError)
          if (!(error instanceof oauth.ResponseBodyError)) return
          assert.strictEqual(error.error, "invalid_client")
          assert.include(error.error_description, `aud: Expected exactly ${url}/api/v1/agent/auth/token`)
          const wrong = yield* Effect.flip(
            Effect.tryPromise(() => ask(url, agentId, oauth.ClientSecretPost("wrong")))
          )
          assert.instanceOf(wrong.cause, oauth.ResponseBodyError)
          const basic = yield* Effect.flip(
            Effect.tryPromise(() => ask(url, agentId, oauth.ClientSecretBasic("wrong")))
          )
          assert.instanceOf(basic.cause, oauth.WWWAuthenticateChallengeError)
        })
    )

    it.effect("one assertion, sent to both at once, gives one token", () =>
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

    it.effect("a rotated secret and a suspension end held tokens at both, within 5 s", () =>
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
        // Asked for once, so that both remember that they are good.
        assert.deepStrictEqual(yield* statuses, [200, 200, 200, 200])
        const admin = { token: testAdminToken }
        yield* post(`/api/v1/admin/agents/${bySecret.agentId}/rotate-secret`, admin).pipe(to(one))
        yield* send("PATCH", `/api/v1/admin/agents/${agentId}`, { ...admin, json: { suspended: true } }).pipe(
          to(one)
        )
        const [took] = yield* timed(
          until(
            "held tokens end at both",
            "10 seconds",
            Effect.map(statuses, (all) => all.every((status) => status === 401))
          )
        )
        assert.isBelow(took, Duration.toMillis("5 seconds"))
      })
    )

    it.effect("after a change of the token secret tokens held are good, and new ones have another kid", () =>
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
  }
)

/** Clients of the stock libraries, at the server as they find it. */
import { createPrivateKey } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as oauth from "oauth4webapi"
import * as client from "openid-client"
import { onboard } from "../support/agents.ts"
import { ecPair, onboardWithKey, rsaPair } from "../support/assertions.ts"
import type { KeyPair } from "../support/assertions.ts"
import { freePort } from "../support/process.ts"
import { get, testServer, TestServer } from "../support/server.ts"

/** The address that clients discover is the one that the server serves at. */
const server = Layer.unwrap(
  Effect.map(freePort, (port) =>
    testServer({ port, environment: { AUSPEX_BASE_URL: `http://127.0.0.1:${port}` } })
  )
)

const selfOf = (token: string) => get("/api/v1/agent/profile/self", { token })

/** A key in the form of the Web Cryptography API, which the stock clients take. */
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

/** The answer that oauth4webapi gets, or its error for a refusal. */
const byOauth4webapi = async (url: string, agentId: string, authentication: oauth.ClientAuth) => {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(url)
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, found)
  const registered: oauth.Client = { client_id: agentId }
  const response = await oauth.clientCredentialsGrantRequest(server, registered, authentication, {}, insecure)
  return oauth.processClientCredentialsResponse(server, registered, response)
}

const byOpenidClient = async (url: string, agentId: string, authentication: client.ClientAuth) => {
  const configuration = await client.discovery(new URL(url), agentId, undefined, authentication, {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests]
  })
  return client.clientCredentialsGrant(configuration)
}

/** The lines of docs/api.md. */
const byDocumentedLines = async (base: string, agentId: string, key: CryptoKey) => {
  const toTokenEndpoint: client.ModifyAssertionOptions = {
    [client.modifyAssertion]: (_, payload) => {
      payload["aud"] = `${base}/api/v1/agent/auth/token`
    }
  }
  const config = await client.discovery(
    new URL(base),
    agentId,
    undefined,
    client.PrivateKeyJwt(key, toTokenEndpoint),
    // The second option is for plain http on loopback.
    { algorithm: "oauth2", execute: [client.allowInsecureRequests] }
  )
  const { access_token } = await client.clientCredentialsGrant(config)
  return access_token
}

const stock = { oauth4webapi: byOauth4webapi, "openid-client": byOpenidClient } as const

layer(server, { excludeTestServices: true })("The token endpoint", (it) => {
  it.effect.each(Object.entries(stock))(
    "The client %s gets tokens by secret in the body, by HTTP Basic and by assertion",
    ([, ask]) =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const { agentId, secret } = yield* onboard()
        const rsa = yield* onboardWithKey(rsaPair())
        const ec = yield* onboardWithKey(ecPair())
        const keyOf = ({ pair }: { readonly pair: KeyPair }) => Effect.promise(() => webKey(pair))
        const override = toTokenEndpoint(url)
        const ways = [
          [agentId, oauth.ClientSecretPost(secret)],
          [agentId, oauth.ClientSecretBasic(secret)],
          [rsa.agentId, oauth.PrivateKeyJwt(yield* keyOf(rsa), override)],
          [ec.agentId, oauth.PrivateKeyJwt({ key: yield* keyOf(ec), kid: "mine" }, override)]
        ] as const
        for (const [id, authentication] of ways) {
          const token = yield* Effect.promise(() => ask(url, id, authentication))
          assert.strictEqual(token.token_type, "bearer")
          assert.strictEqual(token.expires_in, 3600)
          assert.isString(token["claim_note"])
          assert.strictEqual((yield* selfOf(token.access_token)).json["agent_id"], id)
        }
        // Their default audience is the issuer, which is refused with the right audience.
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

  it.effect("The token endpoint gives a token to the lines that the documentation shows", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const { agentId, pair } = yield* onboardWithKey(ecPair())
      const key = yield* Effect.promise(() => webKey(pair))
      const token = yield* Effect.promise(() => byDocumentedLines(url, agentId, key))
      assert.strictEqual((yield* selfOf(token)).json["agent_id"], agentId)
    })
  )
})

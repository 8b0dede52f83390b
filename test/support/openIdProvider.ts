/** A real OpenID Connect provider on loopback, which signs in the person that a test names without asking. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import type { AddressInfo } from "node:net"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { exportJWK, generateKeyPair } from "jose"
import type { CryptoKey, JWK } from "jose"
import { Provider } from "oidc-provider"
import type { Configuration } from "oidc-provider"
import * as IdentityProvider from "../../src/layers/openid/IdentityProvider.ts"

/** The provider's claims about a person besides the subject. */
export interface Person {
  readonly email?: string
  /** Some providers write it as text. */
  readonly email_verified?: unknown
}

/** The provider's key pair; the public half is what it publishes. */
export interface ProviderKeys {
  readonly privateKey: CryptoKey
  readonly published: JWK
}

/** Makes the token endpoint's replacement of an ID token. */
export type Forger = (idToken: string, keys: ProviderKeys) => string | Promise<string>

export class OpenIdProvider extends Context.Service<
  OpenIdProvider,
  {
    readonly issuer: URL
    /** Sets the person of the next sign-in; `null` cancels it. */
    readonly next: (subject: string | null, person?: Person) => void
    /** Replaces ID tokens from now on. */
    readonly forge: (forger: Forger) => void
    /** Hangs up on every client from now on. */
    readonly stop: Effect.Effect<void>
  }
>()("auspex/test/OpenIdProvider") {}

const client = { id: "auspex", secret: "a-client-secret-for-tests" }

/** Marks requests of the provider to itself. */
const genuineHeader = "x-genuine"

const start = async (redirectUri: string, host: string) => {
  const people = new Map<string, Person>()
  let next: string | null = null
  let forger: Forger = (idToken) => idToken
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true })
  const kid = "the provider's"
  const configuration: Configuration = {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [redirectUri],
        response_types: ["code"],
        grant_types: ["authorization_code"]
      }
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["a key for the cookies of a test"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" }] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    pkce: { required: () => true },
    findAccount: (_, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...people.get(accountId) })
    }),
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({
        clientId: client.id,
        accountId: ctx.oidc.session?.accountId ?? ""
      })
      grant.addOIDCScope("openid email")
      await grant.save()
      return grant
    }
  }
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const issuer = new URL(`http://${host}:${port}`)
  const provider = new Provider(issuer.origin, configuration)
  const answer = provider.callback()
  const keys: ProviderKeys = { privateKey, published: { ...(await exportJWK(publicKey)), kid } }
  /** The genuine answer of the token endpoint with another ID token. */
  const forged = async (request: IncomingMessage, response: ServerResponse) => {
    const { authorization = "", "content-type": type = "" } = request.headers
    const genuine = await fetch(`${issuer.origin}/token`, {
      method: "POST",
      headers: { authorization, "content-type": type, [genuineHeader]: "yes" },
      body: await text(request)
    })
    const tokens = await genuine.json()
    const sent = genuine.ok ? { ...tokens, id_token: await forger(tokens.id_token, keys) } : tokens
    response.writeHead(genuine.status, { "content-type": "application/json" }).end(JSON.stringify(sent))
  }
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === "/token" && request.headers[genuineHeader] === undefined) {
      return void forged(request, response)
    }
    if (request.url?.startsWith("/interaction/") !== true) return void answer(request, response)
    const result =
      next === null
        ? { error: "access_denied", error_description: "cancelled" }
        : { login: { accountId: next, remember: false } }
    void provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  })
  return {
    issuer,
    server,
    forge: (other: Forger) => {
      forger = other
    },
    choose: (subject: string | null, person: Person) => {
      next = subject
      if (subject !== null) people.set(subject, person)
    }
  }
}

/** `host` is another name of loopback: to a browser, another site than 127.0.0.1. */
export const layer = (redirectUri: string, host = "localhost") =>
  Layer.effect(
    OpenIdProvider,
    Effect.gen(function* () {
      const { choose, forge, issuer, server } = yield* Effect.acquireRelease(
        Effect.promise(() => start(redirectUri, host)),
        ({ server }) => Effect.sync(() => server.close())
      )
      return {
        issuer,
        next: (subject, person = {}) => choose(subject, person),
        forge,
        stop: Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
      }
    })
  )

/** Our service as a client of that provider. */
export const asClient = Layer.unwrap(
  Effect.map(OpenIdProvider, ({ issuer }) =>
    IdentityProvider.layer(
      Option.some({
        issuer,
        clientId: client.id,
        clientSecret: Option.some(Redacted.make(client.secret))
      })
    )
  )
)

/** Goes through a sign-in at the provider with cookies of its own; returns the address that it redirects the browser to. */
export const passThrough = (location: string) =>
  Effect.promise(async () => {
    const cookies = new Map<string, string>()
    let at = new URL(location)
    const { host } = at
    while (at.host === host) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
      const response = await fetch(at, { redirect: "manual", headers: { cookie } })
      for (const set of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? []
        cookies.set(name, value)
      }
      const next = response.headers.get("location")
      if (next === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
      at = new URL(next, at)
    }
    return at
  })

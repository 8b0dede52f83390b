/** Sign-in at an identity provider, against a real one on loopback. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { SignJWT, decodeJwt, exportJWK, generateKeyPair } from "jose"
import type { CryptoKey, JWTHeaderParameters } from "jose"
import { claimableByHttp } from "../support/agents.ts"
import { asClient, layer as provider, OpenIdProvider, passThrough } from "../support/openIdProvider.ts"
import type { Forger } from "../support/openIdProvider.ts"
import { get, testServer } from "../support/server.ts"
import { makeVisitor, textOf } from "../support/visitor.ts"
import type { Visitor } from "../support/visitor.ts"

const begin = "/sign-in/oidc/begin"
const redirectUri = "http://127.0.0.1:8080/sign-in/oidc/callback"

/** The server with a provider of its own. */
const withProvider = () => {
  const idp = provider(redirectUri)
  return Layer.merge(testServer({ swap: asClient.pipe(Layer.provide(idp)) }), idp)
}

/** Goes to the provider and back, up to the callback's path and query. */
const toCallback = Effect.fnUntraced(function* (visitor: Visitor, path = begin) {
  const sent = yield* visitor.open(path)
  assert.strictEqual(sent.status, 303)
  const back = yield* passThrough(sent.headers.get("location") ?? "")
  assert.isTrue(back.href.startsWith(`${redirectUri}?`))
  return back.pathname + back.search
})

const accountIdOf = Effect.fnUntraced(function* (visitor: Visitor) {
  const account = yield* visitor.open("/account")
  return /operator id: <code>([0-9a-f-]{36})<\/code>/.exec(account.text)?.[1]
})

const assertRefused = Effect.fnUntraced(function* (visitor: Visitor, callback: string, why: string) {
  const answer = yield* visitor.open(callback)
  assert.strictEqual(answer.status, 400)
  assert.include(textOf(answer), "You are not signed in")
  assert.include(textOf(answer), why)
  assert.isFalse(visitor.cookies.has("auspex_session"))
})

layer(withProvider())("Sign-in at the identity provider", (it) => {
  it.effect("Sign-in at the provider leads back to the claim page it began on", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      next("ada", { email: "Ada@Example.org", email_verified: true })
      const agent = yield* claimableByHttp()
      const visitor = makeVisitor()
      const page = yield* visitor.open(agent.path)
      const link = /href="([^"]*oidc\/begin[^"]*)"/.exec(page.text)?.[1] ?? ""
      const signedIn = yield* visitor.open(yield* toCallback(visitor, link))
      assert.strictEqual(signedIn.status, 303)
      assert.strictEqual(signedIn.headers.get("location"), agent.path)
      assert.isFalse(visitor.cookies.has("auspex_provider"))
      const claimPage = yield* visitor.follow(signedIn)
      assert.include(textOf(claimPage), "ada@example.org")
      const claimed = yield* visitor.fill(claimPage, "pairing_code", { pairing_code: agent.code })
      assert.strictEqual(claimed.status, 303)
      assert.include(textOf(yield* visitor.open("/account")), agent.agentId)
    })
  )

  it.effect("Sign-in sends PKCE, state and nonce, new ones each time, and the configured redirect URI", () =>
    Effect.gen(function* () {
      const sent = yield* Effect.all([get(begin, { headers: { host: "evil.example" } }), get(begin)])
      const [one, other] = sent.map(({ headers }) => new URL(headers.get("location") ?? "").searchParams)
      assert.strictEqual(one?.get("redirect_uri"), redirectUri)
      assert.strictEqual(one?.get("code_challenge_method"), "S256")
      assert.strictEqual(one?.get("response_type"), "code")
      for (const name of ["code_challenge", "state", "nonce"]) {
        assert.match(one?.get(name) ?? "", /^[\w-]{43}$/)
        assert.notStrictEqual(one?.get(name), other?.get(name))
      }
      const [cookie = ""] = sent[0]?.headers.getSetCookie().filter((set) => set.includes("provider")) ?? []
      for (const attribute of ["HttpOnly", "SameSite=Lax", "Max-Age=600"]) assert.include(cookie, attribute)
    })
  )

  it.effect("Sign-in knows people by issuer and subject, whatever their address is", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      const signInAs = Effect.fnUntraced(function* (subject: string, email: string) {
        next(subject, { email, email_verified: true })
        const visitor = makeVisitor()
        yield* visitor.open(yield* toCallback(visitor))
        return yield* accountIdOf(visitor)
      })
      const first = yield* signInAs("subject-1", "one@example.org")
      assert.isDefined(first)
      assert.strictEqual(yield* signInAs("subject-1", "moved@example.org"), first)
      assert.notStrictEqual(yield* signInAs("subject-2", "one@example.org"), first)
    })
  )

  it.effect("Sign-in takes an address whose verification the provider writes as a text", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      next("in text", { email: "cognito@example.org", email_verified: "true" })
      const visitor = makeVisitor()
      yield* visitor.open(yield* toCallback(visitor))
      assert.include(textOf(yield* visitor.open("/account")), "cognito@example.org")
    })
  )

  it.effect("Sign-in takes an address only if the provider verified it", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      const people = [
        ["unverified", { email: "unverified@example.org", email_verified: false }],
        ["unverified in text", { email: "text@example.org", email_verified: "false" }],
        ["verified in another word", { email: "word@example.org", email_verified: "yes" }],
        ...[
          "TRUE",
          "True",
          "1",
          "y",
          "on",
          " true",
          "true ",
          "null",
          "",
          1,
          0,
          null,
          [true],
          { value: true }
        ].map(
          (email_verified, index) =>
            [`odd ${index}`, { email: `odd${index}@example.org`, email_verified }] as const
        ),
        ["unsaid", { email: "unsaid@example.org" }],
        ["none", {}]
      ] as const
      for (const [subject, person] of people) {
        next(subject, person)
        const visitor = makeVisitor()
        assert.strictEqual((yield* visitor.open(yield* toCallback(visitor))).status, 303)
        const account = textOf(yield* visitor.open("/account"))
        assert.include(account, "your account at the identity provider")
        assert.notInclude(account, "@example.org")
      }
    })
  )

  it.effect("Sign-in refuses a callback of another browser, without its cookie, or with a changed one", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      next("ada")
      const victim = makeVisitor()
      yield* assertRefused(victim, yield* toCallback(makeVisitor()), "not begun in this browser")
      yield* victim.open(begin)
      yield* assertRefused(
        victim,
        yield* toCallback(makeVisitor()),
        "does not belong to a sign-in of this browser"
      )
      for (const changed of ["nonce", "state", "verifier"]) {
        const visitor = makeVisitor()
        const callback = yield* toCallback(visitor)
        const kept = JSON.parse(
          Buffer.from(visitor.cookies.get("auspex_provider") ?? "", "base64url").toString()
        )
        const other = Buffer.from(JSON.stringify({ ...kept, [changed]: "x".repeat(43) })).toString(
          "base64url"
        )
        visitor.cookies.set("auspex_provider", other)
        yield* assertRefused(visitor, callback, "begin again")
      }
    })
  )

  it.effect("Sign-in refuses a replayed callback", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      next("ada")
      const visitor = makeVisitor()
      const callback = yield* toCallback(visitor)
      const kept = visitor.cookies.get("auspex_provider") ?? ""
      assert.strictEqual((yield* visitor.open(callback)).status, 303)
      const replay = makeVisitor()
      yield* assertRefused(replay, callback, "not begun in this browser")
      replay.cookies.set("auspex_provider", kept)
      yield* assertRefused(replay, callback, "already finished")
    })
  )

  it.effect("Sign-in refuses a callback after ten minutes", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      next("ada")
      const visitor = makeVisitor()
      const callback = yield* toCallback(visitor)
      yield* TestClock.adjust("10 minutes")
      yield* assertRefused(visitor, callback, "longer than ten minutes")
    })
  )

  it.effect("Sign-in that was cancelled at the provider says so", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      next(null)
      const visitor = makeVisitor()
      yield* assertRefused(visitor, yield* toCallback(visitor), "cancelled")
    })
  )

  it.effect("Sign-in refuses any other callback with a page that repeats nothing of it", () =>
    Effect.gen(function* () {
      const queries = [
        "",
        "?code=x",
        "?state=x",
        "?code=x&state=y&iss=https://evil.example",
        "?code=a&code=b",
        "?error=server_error&error_description=<script>alert(1)</script>",
        "?response=x",
        `?code=${"x".repeat(4000)}`,
        "?%ff=%00"
      ]
      for (const query of queries) {
        const visitor = makeVisitor()
        yield* visitor.open(begin)
        const answer = yield* visitor.open(`/sign-in/oidc/callback${query}`)
        assert.strictEqual(answer.status, 400, query)
        assert.notMatch(answer.text, /<script|alert|evil/)
      }
    })
  )

  it.effect.each([
    "https://evil.example",
    "//evil.example",
    "/account/../x",
    "/claim/x",
    "javascript:alert(1)",
    ""
  ])("Sign-in leads nowhere but to pages of ours: not to %j", (target) =>
    Effect.gen(function* () {
      const answer = yield* get(`${begin}?return_to=${encodeURIComponent(target)}`)
      assert.strictEqual(answer.status, 400)
      assert.isNull(answer.headers.get("location"))
    })
  )
})

/** An address in the ID token leaves nothing else to ask of the provider. */
const mallory = { sub: "mallory", email: "victim@example.org", email_verified: true }

/** An ID token with these claims and another header, signed by a key. */
const signedBy = (idToken: string, key: CryptoKey | Uint8Array, header: Partial<JWTHeaderParameters> = {}) =>
  new SignJWT({ ...decodeJwt(idToken), ...mallory }).setProtectedHeader({ alg: "RS256", ...header }).sign(key)

const withPayload = (idToken: string, changed: object) => {
  const [header, , signature] = idToken.split(".")
  const payload = Buffer.from(JSON.stringify({ ...decodeJwt(idToken), ...mallory, ...changed })).toString(
    "base64url"
  )
  return [header, payload, signature].join(".")
}

const withSignature = (idToken: string, signature: string) =>
  [...idToken.split(".").slice(0, 2), signature].join(".")

const foreignKey = () => generateKeyPair("RS256", { extractable: true })

const forgeries: Readonly<Record<string, Forger>> = {
  "no signature": (idToken) => withSignature(idToken, ""),
  "a signature of zeros": (idToken) => withSignature(idToken, Buffer.alloc(256).toString("base64url")),
  "half of its signature": (idToken) => withSignature(idToken, idToken.split(".")[2]?.slice(0, 171) ?? ""),
  "a signature in another alphabet": (idToken) => withSignature(idToken, "+/=="),
  "another subject": (idToken) => withPayload(idToken, {}),
  "another address": (idToken) => withPayload(idToken, { sub: "ada" }),
  "another end": (idToken) => withPayload(idToken, { exp: 4_000_000_000 }),
  "a member more": (idToken) => withPayload(idToken, { admin: true }),
  "a foreign key and the provider's kid": async (idToken, { published: { kid = "" } }) =>
    signedBy(idToken, (await foreignKey()).privateKey, { kid }),
  "a foreign key and its own kid": async (idToken) =>
    signedBy(idToken, (await foreignKey()).privateKey, { kid: "mallory's" }),
  "a foreign key and no kid": async (idToken) => signedBy(idToken, (await foreignKey()).privateKey),
  "a foreign key in its header": async (idToken, { published: { kid = "" } }) => {
    const { privateKey, publicKey } = await foreignKey()
    return signedBy(idToken, privateKey, { kid, jwk: await exportJWK(publicKey) })
  },
  "a foreign key's address in its header": async (idToken, { published: { kid = "" } }) =>
    signedBy(idToken, (await foreignKey()).privateKey, { kid, jku: "https://evil.example/jwks" }),
  "a foreign key of a curve": async (idToken, { published: { kid = "" } }) =>
    signedBy(idToken, (await generateKeyPair("ES256")).privateKey, { alg: "ES256", kid }),
  "the public key as a secret": async (idToken, { published }) =>
    signedBy(idToken, Buffer.from(JSON.stringify(published)), { alg: "HS256", kid: published.kid ?? "" }),
  "the client's secret": async (idToken) =>
    signedBy(idToken, Buffer.from("a-client-secret-for-tests".padEnd(32, "\0")), { alg: "HS256" }),
  "the algorithm none": (idToken) =>
    `${Buffer.from('{"alg":"none"}').toString("base64url")}.${idToken.split(".")[1]}.`
}

layer(withProvider())("An ID token", (it) => {
  it.effect("An ID token that its provider has not signed signs nobody in, however it was made", () =>
    Effect.gen(function* () {
      const { forge, next } = yield* OpenIdProvider
      next("ada", { email: "ada@example.org", email_verified: true })
      for (const [how, forger] of Object.entries(forgeries)) {
        forge(forger)
        const visitor = makeVisitor()
        const answer = yield* visitor.open(yield* toCallback(visitor))
        assert.oneOf(answer.status, [400, 503], how)
        assert.isFalse(visitor.cookies.has("auspex_session"), how)
      }
      // The provider's own key signs the same claims.
      forge((idToken, { privateKey, published: { kid = "" } }) => signedBy(idToken, privateKey, { kid }))
      const visitor = makeVisitor()
      assert.strictEqual((yield* visitor.open(yield* toCallback(visitor))).status, 303)
      assert.isTrue(visitor.cookies.has("auspex_session"))
    })
  )
})

layer(withProvider())("An identity provider that is away", (it) => {
  it.effect("Sign-in at a provider that is away is a page with 503 that offers e-mail, at either half", () =>
    Effect.gen(function* () {
      const { next, stop } = yield* OpenIdProvider
      next("ada")
      const visitor = makeVisitor()
      const callback = yield* toCallback(visitor)
      yield* stop
      const late = yield* visitor.open(callback)
      assert.strictEqual(late.status, 503)
      assert.include(textOf(late), "sign in by e-mail")
    })
  )
})

layer(testServer())("A site without an identity provider", (it) => {
  it.effect("A site without an identity provider has no button, and the addresses answer 404", () =>
    Effect.gen(function* () {
      assert.notInclude((yield* get("/sign-in")).text, "oidc")
      for (const path of [begin, "/sign-in/oidc/callback?code=x&state=y"])
        assert.strictEqual((yield* get(path)).status, 404)
    })
  )
})

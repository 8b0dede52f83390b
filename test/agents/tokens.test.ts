import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt, decodeProtectedHeader } from "jose"
import * as TokensOnPostgres from "../../src/layers/postgres/agents/Tokens.ts"
import { Registry } from "../../src/services/Registry.ts"
import type { Registration } from "../../src/services/Registry.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { passingAnswer } from "../support/responses.ts"
import { claim } from "../support/agents.ts"
import { breadth } from "../support/breadth.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { testServices } from "../support/services.ts"
import { settings } from "../support/settings.ts"

const address = "192.0.2.1"

/** A registered agent: its credentials, and its registration challenge. */
const registered = Effect.fnUntraced(function* (fields: Partial<Registration> = {}) {
  const registration = yield* Registry.use((registry) => registry.register({ name: "Ada", ...fields }))
  const { agent_id, challenge_id, challenge_prompt, client_secret } = registration
  return {
    credentials: { agentId: agent_id, clientSecret: client_secret, address },
    challenge: { agentId: agent_id, challengeId: challenge_id, address },
    pass: Registry.use((registry) => registry.submit(challenge_id, passingAnswer(challenge_prompt)))
  }
})

/** The credentials of an agent that has passed its registration challenge. */
const newAgent = Effect.fnUntraced(function* (fields: Partial<Registration> = {}) {
  const { credentials, pass } = yield* registered(fields)
  yield* pass
  return credentials
})
const agent = newAgent()

const unknown = "0190f000-0000-7000-8000-000000000000"

/** Another replica: the same database, nothing else in common. */
const replica = (environment: Readonly<Record<string, string>> = {}) =>
  Effect.map(
    Layer.build(Layer.fresh(TokensOnPostgres.layer).pipe(Layer.provide(settings(environment)))),
    (context) => Context.get(context, Tokens)
  )

layer(testServices().pipe(Layer.provideMerge(telemetryRecorder)))("Tokens", (it) => {
  it.effect("A token of one replica is good at another, and ends at both within 5 s", () =>
    Effect.gen(function* () {
      const here = yield* Tokens
      const there = yield* replica()
      const registry = yield* Registry
      const ada = yield* agent
      const { access_token } = yield* there.issue(ada)
      for (const tokens of [here, there]) {
        assert.strictEqual((yield* tokens.authenticate(access_token)).agentId, ada.agentId)
      }
      yield* registry.rotateSecret(ada.agentId, "keep")
      yield* TestClock.adjust("5 seconds")
      for (const tokens of [here, there]) {
        assert.strictEqual((yield* Effect.flip(tokens.authenticate(access_token)))._tag, "InvalidToken")
      }
    })
  )

  it.effect("A token of one site is WrongSite at the other, both ways", () =>
    Effect.gen(function* () {
      const ours = yield* Tokens
      const theirs = yield* replica({ AUSPEX_SITE: "cn" })
      const ada = yield* agent
      const global = yield* ours.issue(ada)
      const cn = yield* theirs.issue(ada)
      assert.strictEqual((yield* Effect.flip(theirs.authenticate(global.access_token)))._tag, "WrongSite")
      assert.strictEqual((yield* Effect.flip(ours.authenticate(cn.access_token)))._tag, "WrongSite")
      assert.strictEqual((yield* theirs.authenticate(cn.access_token)).agentId, ada.agentId)
    })
  )

  it.effect("A token lives as long as the operator has set", () =>
    Effect.gen(function* () {
      const brief = yield* replica({ AUSPEX_TOKEN_TTL: "90 seconds" })
      const { access_token, expires_in } = yield* brief.issue(yield* agent)
      assert.strictEqual(expires_in, 90)
      yield* TestClock.adjust("89 seconds")
      yield* brief.authenticate(access_token)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(brief.authenticate(access_token)))._tag, "InvalidToken")
    })
  )

  it.effect("A token says who, where, how far trusted, for what and how long; a claim changes the next", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const ada = yield* newAgent({ requested_scopes: ["follow:create", "profile:read:self"] })
      const held = yield* tokens.issue(ada)
      const iat = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const { epoch: _, jti, ...claims } = decodeJwt(held.access_token)
      assert.deepStrictEqual(claims, {
        iss: "auspex",
        sub: ada.agentId,
        site: "global",
        trust_level: "provisional",
        scope: "profile:read:self llm:keys",
        iat,
        exp: iat + 3600
      })
      const { alg, kid } = decodeProtectedHeader(held.access_token)
      assert.strictEqual(alg, "HS256")
      assert.isString(kid)
      yield* claim(ada.agentId)
      const { access_token, ...answer } = yield* tokens.issue(ada)
      assert.deepStrictEqual(answer, {
        token_type: "Bearer",
        expires_in: 3600,
        scope: "follow:create profile:read:self llm:keys webhook:write",
        agent_status: "active",
        claim_pending: false
      })
      assert.notStrictEqual(decodeJwt(access_token).jti, jti)
      const claimed = yield* tokens.authenticate(access_token)
      assert.deepStrictEqual([claimed.trustLevel, [...claimed.scopes].join(" ")], ["claimed", answer.scope])
      // A held token gains nothing, and does not end either.
      const provisional = yield* tokens.authenticate(held.access_token)
      assert.deepStrictEqual(
        [provisional.trustLevel, [...provisional.scopes].join(" ")],
        ["provisional", held.scope]
      )
    })
  )

  it.effect("An unknown agent, a malformed id and a bad secret get the same answer", () =>
    Effect.gen(function* () {
      const { issue, verifyCredentials } = yield* Tokens
      const [ada, bob] = [yield* agent, yield* agent]
      const first = yield* Effect.flip(issue({ ...ada, clientSecret: "guess" }))
      assert.strictEqual(first._tag, "InvalidClient")
      for (const wrong of [
        { ...ada, agentId: unknown },
        { ...ada, agentId: "nobody" },
        { ...ada, clientSecret: bob.clientSecret },
        { ...ada, clientSecret: `${ada.clientSecret} ` }
      ]) {
        assert.deepStrictEqual(yield* Effect.flip(issue(wrong)), first)
        assert.deepStrictEqual(yield* Effect.flip(verifyCredentials(wrong)), first)
      }
    })
  )

  it.effect("No token is issued before the challenge is passed", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const { credentials, pass } = yield* registered()
      assert.strictEqual((yield* Effect.flip(tokens.issue(credentials))).code, "challenge_pending")
      const wrong = yield* Effect.flip(tokens.issue({ ...credentials, clientSecret: "wrong" }))
      assert.strictEqual(wrong.code, "invalid_client")
      yield* pass
      yield* tokens.issue(credentials)
    })
  )

  it.effect("No token is issued after the grace window until a claim; a held token stays valid", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const ada = yield* agent
      yield* TestClock.adjust("7 days")
      yield* TestClock.adjust("-1 second")
      const { access_token } = yield* tokens.issue(ada)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(tokens.issue(ada))).code, "issuance_paused")
      yield* TestClock.adjust("59 minutes")
      yield* tokens.authenticate(access_token)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Effect.flip(tokens.authenticate(access_token)))._tag, "InvalidToken")
      yield* claim(ada.agentId)
      assert.strictEqual((yield* tokens.issue(ada)).agent_status, "active")
    })
  )

  it.effect("A suspension ends the agent's tokens within 5 s, and no more are issued until its end", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const registry = yield* Registry
      const ada = yield* agent
      const { access_token } = yield* tokens.issue(ada)
      yield* tokens.authenticate(access_token)
      yield* registry.amend(ada.agentId, { suspended: true })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Effect.flip(tokens.authenticate(access_token)))._tag, "InvalidToken")
      assert.strictEqual((yield* Effect.flip(tokens.issue(ada))).code, "agent_suspended")
      yield* registry.amend(ada.agentId, { suspended: false })
      const fresh = yield* tokens.issue(ada)
      assert.strictEqual((yield* tokens.authenticate(fresh.access_token)).agentId, ada.agentId)
      // An ended token stays ended.
      assert.strictEqual((yield* Effect.flip(tokens.authenticate(access_token)))._tag, "InvalidToken")
    })
  )

  it.effect("A token won in a race against a rotation of the secret is ended by it", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const registry = yield* Registry
      const won: Array<string> = []
      for (let round = 0; round < breadth(6, 20); round++) {
        const ada = yield* agent
        // Half of them have had a token before, which is another way through the code.
        if (round % 2 === 0) yield* tokens.issue(ada)
        const [issued] = yield* Effect.all(
          [Effect.result(tokens.issue(ada)), registry.rotateSecret(ada.agentId, "keep")],
          {
            concurrency: "unbounded"
          }
        )
        if (Result.isSuccess(issued)) won.push(issued.success.access_token)
        assert.strictEqual((yield* Effect.flip(tokens.issue(ada)))._tag, "InvalidClient")
      }
      yield* TestClock.adjust("5 seconds")
      for (const token of won) {
        assert.strictEqual((yield* Effect.flip(tokens.authenticate(token)))._tag, "InvalidToken")
      }
    })
  )

  it.effect("Access tokens are checked without asking the database at every request", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const { spans } = yield* TelemetryRecorder
      const { access_token } = yield* tokens.issue(yield* agent)
      const statements = () => spans.filter(({ kind }) => kind === "client").length
      const before = statements()
      yield* Effect.all(
        Array.from({ length: 100 }, () => tokens.authenticate(access_token)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(statements() - before, 1)
      yield* TestClock.adjust("5 seconds")
      yield* tokens.authenticate(access_token)
      assert.strictEqual(statements() - before, 2)
    })
  )
})

layer(testServices())("A secret that is sent again", (it) => {
  const resend = (challenge: { readonly agentId: string; readonly challengeId: string }) =>
    Registry.use((registry) => registry.resendSecret({ ...challenge, address }))
  const issue = (credentials: Parameters<Tokens["Service"]["issue"]>[0]) =>
    Tokens.use((tokens) => tokens.issue(credentials))

  it.effect("A secret is sent again, as a new one, until the first token", () =>
    Effect.gen(function* () {
      const { challenge, credentials, pass } = yield* registered()
      yield* pass
      const { client_secret } = yield* resend(challenge)
      assert.strictEqual((yield* Effect.flip(issue(credentials)))._tag, "InvalidClient")
      const renewed = { ...credentials, clientSecret: client_secret }
      yield* issue(renewed)
      assert.strictEqual((yield* Effect.flip(resend(challenge))).code, "secret_already_used")
      yield* issue(renewed)
      // An administrator rotates it all the same.
      const rotated = yield* Registry.use((registry) => registry.rotateSecret(challenge.agentId, "keep"))
      yield* issue({ ...credentials, clientSecret: rotated.client_secret })
      assert.strictEqual((yield* Effect.flip(resend(challenge))).code, "secret_already_used")
    })
  )

  it.effect("A secret is sent again for the agent's own challenge only", () =>
    Effect.gen(function* () {
      const [ada, bob] = [(yield* registered()).challenge, (yield* registered()).challenge]
      for (const [agentId, challengeId] of [
        [ada.agentId, bob.challengeId],
        [ada.agentId, unknown],
        [unknown, ada.challengeId],
        ["nobody", "nothing"]
      ] as const) {
        const { code, detail } = yield* Effect.flip(resend({ agentId, challengeId }))
        assert.deepStrictEqual(
          [code, detail],
          ["not_found", "There is no agent with this agent_id and challenge_id."]
        )
      }
    })
  )

  it.effect("A secret sent again beside the first token never leaves the old one beside the new one", () =>
    Effect.gen(function* () {
      const { authenticate } = yield* Tokens
      for (let round = 0; round < breadth(4, 15); round++) {
        const { challenge, credentials, pass } = yield* registered()
        yield* pass
        const [sent, token] = yield* Effect.all(
          [Effect.result(resend(challenge)), Effect.result(issue(credentials))],
          { concurrency: "unbounded" }
        )
        const old = yield* Effect.result(issue(credentials))
        if (Result.isSuccess(sent)) {
          assert.isTrue(Result.isFailure(token) && Result.isFailure(old))
          yield* issue({ ...credentials, clientSecret: sent.success.client_secret })
        } else {
          assert.strictEqual(sent.failure.code, "secret_already_used")
          assert(Result.isSuccess(token) && Result.isSuccess(old))
          yield* authenticate(token.success.access_token)
        }
      }
    })
  )

  it.effect("A secret sent again many times at once makes exactly one of the new ones work", () =>
    Effect.gen(function* () {
      const { challenge, credentials, pass } = yield* registered()
      yield* pass
      const sent = yield* Effect.all(
        Array.from({ length: 8 }, () => resend(challenge)),
        { concurrency: "unbounded" }
      )
      const tried = yield* Effect.forEach(sent, ({ client_secret }) =>
        Effect.result(issue({ ...credentials, clientSecret: client_secret }))
      )
      assert.lengthOf(tried.filter(Result.isSuccess), 1)
    })
  )
})

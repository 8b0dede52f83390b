import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import * as TokensOnPostgres from "../../src/layers/postgres/agents/Tokens.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { passingAnswer } from "../support/responses.ts"
import { claim } from "../support/agents.ts"
import { breadth } from "../support/breadth.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { testServices } from "../support/services.ts"
import { settings } from "../support/settings.ts"

const address = "192.0.2.1"

const agent = Effect.gen(function* () {
  const registry = yield* Registry
  const { agent_id, challenge_id, challenge_prompt, client_secret } = yield* registry.register({
    name: "Ada"
  })
  yield* registry.submit(challenge_id, passingAnswer(challenge_prompt))
  return { agentId: agent_id, clientSecret: client_secret, address }
})

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

  it.effect("A token names its agent, trust level and effective scopes", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const ada = yield* agent
      const provisional = yield* tokens.authenticate((yield* tokens.issue(ada)).access_token)
      assert.strictEqual(provisional.trustLevel, "provisional")
      assert.isFalse(provisional.scopes.has("follow:create"))
      yield* claim(ada.agentId)
      const claimed = yield* tokens.authenticate((yield* tokens.issue(ada)).access_token)
      assert.strictEqual(claimed.trustLevel, "claimed")
      assert.isTrue(claimed.scopes.has("follow:create"))
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

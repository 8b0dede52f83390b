/**
 * Every service is a contract, so a test (or another product) puts its own layer in the place of ours. Layers
 * that depend on the swapped service are built anew on top of it: `Layer.fresh`, for a layer is otherwise built once.
 */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, DateTime, Effect, Layer } from "effect"
import * as Arenas from "../../src/layers/postgres/challenges/Arenas.ts"
import * as Registry from "../../src/layers/postgres/agents/Registry.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Prices } from "../../src/services/Prices.ts"
import { RegistrationJudge } from "../../src/services/RegistrationJudge.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { register, submit } from "../support/agents.ts"
import { openChallenge } from "../support/challenges.ts"
import { failingAnswer } from "../support/responses.ts"
import { get, testServer } from "../support/server.ts"

const price = BigDecimal.fromStringUnsafe("1234.5")
const gold = Layer.mock(Prices, {
  latest: (asset) =>
    Effect.succeedSome({
      asset,
      price,
      observedAt: DateTime.makeUnsafe(0),
      fetchedAt: DateTime.makeUnsafe(0),
      source: "a test",
      payloadHash: null
    })
})
const arenasOnGold = Layer.fresh(Arenas.layer).pipe(Layer.provideMerge(gold))

layer(testServer({ swap: arenasOnGold }))("Prices of our own", (it) => {
  it.effect("A challenge opens at the latest of our own prices", () =>
    Effect.gen(function* () {
      const { open_price } = yield* openChallenge({ open_price: undefined })
      assert.strictEqual(open_price, 1234.5)
    })
  )
})

const agentId = AgentId.make("0190f000-0000-7000-8000-000000000001")
const anyBearer = Layer.mock(Tokens, {
  authenticate: () => Effect.succeed({ agentId, trustLevel: "claimed", scopes: new Set(["challenge:read"]) })
})

layer(testServer({ swap: anyBearer }))("Tokens of our own", (it) => {
  it.effect("The caller is the one that our own tokens name", () =>
    Effect.gen(function* () {
      const subscriptions = yield* get("/api/v1/agent/prediction-scope", { token: "anything" })
      assert.deepStrictEqual(subscriptions.json, { scopes: [] })
      const profile = yield* get("/api/v1/agent/profile/self", { token: "anything" })
      assert.strictEqual(profile.json["detail"], "Missing required scope: profile:read:self")
    })
  )
})

const event = { slug: "weather", prompt: "Will it rain?" }
const lenientJudge = Layer.succeed(RegistrationJudge, {
  criteria: [{ name: "anything", points: 100, description: "Say anything." }],
  passScore: 1,
  choose: () => Effect.succeed(event),
  event: () => Effect.succeedSome(event),
  judge: () => Effect.succeed({ score: 100, passed: true, threshold: 1, criteria: [] })
})
const lenientRegistry = Layer.fresh(Registry.layer).pipe(Layer.provideMerge(lenientJudge))

layer(testServer({ swap: lenientRegistry }))("A judge of our own", (it) => {
  it.effect("Agents are asked, and pass, as our own judge says", () =>
    Effect.gen(function* () {
      const { challenge_id, challenge_prompt, instructions } = yield* register()
      assert.strictEqual(challenge_prompt, "Will it rain?")
      assert.strictEqual(instructions.pass_score, 1)
      assert.isTrue((yield* submit(challenge_id, failingAnswer)).json["passed"])
    })
  )
})

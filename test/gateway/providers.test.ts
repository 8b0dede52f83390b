/** Requests to a provider: key, headers, parameters and members. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { GatewayConfig } from "../../src/layers/gateway/GatewayConfig.ts"
import { canary, chat, gatewayServer, inTime, message, Providers, spender } from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { get, member, post } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import type { Received, Scripted } from "../support/upstream.ts"

const directory = mkdtempSync(join(tmpdir(), "auspex-keys-"))
afterAll(() => rmSync(directory, { recursive: true }))
const fileOf = (name: string) => join(directory, name)
const write = (name: string, key: string) => writeFileSync(fileOf(name), `${key}\n`)
write("second", "sk-second-0123456789")
// The key begins like another one.
const third = `${canary}-third`
write("third", third)

const models: ReadonlyArray<TestModel> = [
  { name: "own", routes: [{ provider: "west", model: "plain" }] },
  { name: "open", routes: [{ provider: "south", model: "plain" }] },
  { name: "even", routes: [{ provider: "north", model: "even" }] },
  { name: "quoting", routes: [{ provider: "north", model: "status:400" }] },
  ...["unauthorized", "unpaid", "limited", "worded"].map((name) => ({
    name,
    routes: [{ provider: "north" as const, model: name }]
  })),
  {
    name: "hopeless",
    routes: [
      { provider: "north", model: "hopeless", priority: 1 },
      { provider: "west", model: "plain", priority: 2 }
    ]
  },
  { name: "vectors", embeds: true, routes: [{ provider: "west", model: "vectors" }] }
]

const lines = {
  north: `key_file: [${fileOf("second")}, ${fileOf("third")}]`,
  west: `auth: api-key
    headers: { X-Team: research, User-Agent: tester }
    query: { api-version: "2024-10-21", region: a&b }
    omit: [seed, store]
    rename: { max_completion_tokens: max_tokens }`,
  south: `headers: { Anthropic-Beta: of-the-operator }
    rename: { max_tokens: max_new_tokens }`
}

const keyOf = ({ headers }: Received) => String(headers.authorization).replace("Bearer ", "")
const all = [canary, "sk-second-0123456789", third]

layer(gatewayServer(models, {}, "usual", lines))("A request to a provider", (it) => {
  const bodyOf = ({ text }: Received): Record<string, unknown> => JSON.parse(text)

  it.effect("A request to a provider has its own headers, query parameters, and the key in its place", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { south, west } = yield* Providers
      assert.strictEqual((yield* chat(key, { model: "own" })).status, 200)
      const input = { model: "vectors", input: "one" }
      assert.strictEqual((yield* post("/api/v1/llm/v1/embeddings", { token: key, json: input })).status, 200)
      const [chatRequest, embeddingsRequest] = west.received.slice(-2)
      assert(chatRequest !== undefined && embeddingsRequest !== undefined)
      assert.strictEqual(chatRequest.path, "/v1/chat/completions?api-version=2024-10-21&region=a%26b")
      assert.strictEqual(embeddingsRequest.path, "/v1/embeddings?api-version=2024-10-21&region=a%26b")
      assert.deepInclude(chatRequest.headers, {
        "x-team": "research",
        "user-agent": "tester",
        "api-key": canary
      })
      assert.isUndefined(chatRequest.headers.authorization)
      const headers = {
        "x-api-key": key,
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "of-the-client"
      }
      yield* post("/api/v1/llm/v1/messages", {
        headers,
        json: { model: "open", max_tokens: 5, messages: [{ role: "user", content: "Hello" }] }
      })
      assert.deepInclude(south.received.at(-1)?.headers, {
        "anthropic-beta": "of-the-operator",
        "x-api-key": canary
      })
    })
  )

  it.effect("A request to a provider omits and renames the members that its file names, in both styles", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { south, west } = yield* Providers
      const last = ({ received } = west) => bodyOf(received.at(-1) ?? { path: "", headers: {}, text: "{}" })
      yield* chat(key, { model: "own", seed: 1, store: false, max_completion_tokens: 7, top_p: 0.5 })
      assert.deepStrictEqual(Object.keys(last()).toSorted(), ["max_tokens", "messages", "model", "top_p"])
      assert.strictEqual(last()["max_tokens"], 7)
      // The larger of both maxima was reserved, so either may be sent.
      yield* chat(key, { model: "own", max_tokens: 3, max_completion_tokens: 9 })
      assert.strictEqual(last()["max_tokens"], 9)
      yield* message(key, { model: "own", max_tokens: 11 })
      assert.strictEqual(last()["max_tokens"], 11)
      assert.notProperty(last(), "max_completion_tokens")
      yield* message(key, { model: "open", max_tokens: 13 })
      assert.deepInclude(last(south), { max_new_tokens: 13 })
      assert.notProperty(last(south), "max_tokens")
      // Nothing would be reserved for the client's own member of the new name.
      assert.strictEqual(
        (yield* message(key, { model: "open", max_tokens: 13, max_new_tokens: 90 })).status,
        400
      )
    })
  )

  it.effect("A request to a provider takes its keys in turn", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north } = yield* Providers
      const before = north.received.length
      for (let call = 0; call < 6; call++) yield* chat(key, { model: "even" })
      const used = north.received.slice(before).map(keyOf)
      assert.deepStrictEqual([...new Set(used)].toSorted(), all.toSorted())
      assert.deepStrictEqual(used.slice(0, 3), used.slice(3))
    })
  )

  const answered: Scripted = {
    body: {
      id: "1",
      object: "chat.completion",
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Yes" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    }
  }
  const refused = (status: number, headers = {}, message = "no"): Scripted => ({
    status,
    headers,
    body: { error: { message } }
  })

  it.effect.each([
    ["unauthorized", refused(401), 300],
    ["unpaid", refused(402), 300],
    ["limited", refused(429, { "retry-after": "7" }), 7],
    ["worded", refused(400, {}, "API key not valid. Please pass a valid API key."), 300]
  ] as const)("A refused key makes a request take the next one: %s", ([model, refusal, seconds]) =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north } = yield* Providers
      yield* TestClock.adjust("1 hour")
      north.scripts.set(model, [refusal, answered])
      const before = north.received.length
      const used = () => north.received.slice(before).map(keyOf)
      const first = yield* chat(key, { model })
      assert.strictEqual(first.status, 200, first.text)
      const [cooling, ...others] = used()
      assert.strictEqual(others.length, 1)
      const routes = (yield* get("/api/v1/admin/gateway/routes", { token: testAdminToken })).text
      assert.include(routes, '"keys":3,"keys_cooling":1')
      for (let call = 0; call < 4; call++) yield* chat(key, { model })
      assert.isFalse(
        used()
          .slice(1)
          .includes(cooling ?? "")
      )
      const { json } = yield* get("/api/v1/llm/usage?limit=5", { token: key })
      assert.strictEqual(member(json, "items", 4, "attempts"), 2)
      assert.strictEqual(member(json, "items", 4, "error"), null)
      yield* TestClock.adjust(seconds * 1000)
      for (let call = 0; call < 3; call++) yield* chat(key, { model })
      assert.deepStrictEqual([...new Set(used().slice(-3))].toSorted(), all.toSorted())
    })
  )

  it.effect("A request to a provider takes each refused key once, before the next provider is asked", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north } = yield* Providers
      yield* TestClock.adjust("1 hour")
      north.scripts.set("hopeless", [refused(401)])
      const before = north.received.length
      const answer = yield* inTime(chat(key, { model: "hopeless" }))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(north.received.slice(before).map(keyOf).toSorted(), all.toSorted())
      const { json } = yield* get("/api/v1/llm/usage?limit=1", { token: key })
      assert.deepInclude(member(json, "items", 0), { provider: "west", attempts: 4 })
    })
  )

  it.effect("No key of a provider is shown, whichever it quotes", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      yield* TestClock.adjust("1 hour")
      for (let call = 0; call < 3; call++) {
        const { status, text } = yield* chat(key, { model: "quoting" })
        assert.strictEqual(status, 400)
        assert.include(text, "refused Bearer [key] at [provider]")
      }
    })
  )

  it.effect("A request to a provider has the keys that its files hold when they are read again", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north } = yield* Providers
      const { reload } = yield* GatewayConfig
      const usedBy = Effect.fnUntraced(function* () {
        const before = north.received.length
        for (let call = 0; call < 3; call++) yield* chat(key, { model: "even" })
        return north.received.slice(before).map(keyOf).toSorted()
      })
      write("third", "sk-fourth-0123456789")
      yield* reload
      const renewed = [canary, "sk-second-0123456789", "sk-fourth-0123456789"].toSorted()
      assert.deepStrictEqual(yield* usedBy(), renewed)
      // An unusable key leaves the old ones active.
      for (const spoil of [() => write("second", "no key"), () => rmSync(fileOf("second"))]) {
        spoil()
        yield* reload
        assert.deepStrictEqual(yield* usedBy(), renewed)
      }
    })
  )
})

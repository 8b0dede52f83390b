/** The operators' view of the gateway: whether a file works, the health of its routes, and the sums of calls. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, layer } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { admin } from "../../cli/admin/command.ts"
import { runCommand } from "../support/commands.ts"
import { canary, chat, gatewayServer, gatewayYaml, inTime, Providers, spender } from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { get, member, TestServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const directory = mkdtempSync(join(tmpdir(), "auspex-operators-"))
afterAll(() => rmSync(directory, { recursive: true }))

const keys = Object.fromEntries(["NORTH", "WEST", "SOUTH", "NOBODY"].map((name) => [`${name}_KEY`, canary]))

const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { url } = yield* TestServer
  const environment = { ...keys, AUSPEX_BASE_URL: url, AUSPEX_ADMIN_TOKEN: testAdminToken }
  return yield* runCommand(admin, ["gateway", ...args], environment)
})

const models: ReadonlyArray<TestModel> = [
  { name: "well", routes: [{ provider: "north", model: "plain", cost: [0.0001, 0.0000000005] }] },
  { name: "uncosted", routes: [{ provider: "south", model: "plain" }] },
  { name: "broken", routes: [{ provider: "north", model: "status:500" }] },
  { name: "refused", routes: [{ provider: "north", model: "status:400", cost: [0.0001, 0.0001] }] },
  { name: "unasked", routes: [{ provider: "west", model: "plain" }] }
]

layer(gatewayServer(models, {}, "usual"))("An operator", (it) => {
  /** Checks a file with these models; each route names the behaviour of its provider. */
  const check = Effect.fnUntraced(function* (
    tried: ReadonlyArray<TestModel>,
    edit: (text: string) => string = (text) => text,
    ...more: ReadonlyArray<string>
  ) {
    const { north, south, west } = yield* Providers
    const file = join(directory, "tried.yaml")
    const ports = { north: north.port, west: west.port, south: south.port }
    writeFileSync(file, edit(gatewayYaml(ports, tried, "usual")))
    return yield* run("check", file, ...more)
  })

  it.effect("An operator tries each route of a file with one request for one token, in either style", () =>
    Effect.gen(function* () {
      const { north, south, west } = yield* Providers
      const before = [north, south, west].map(({ received }) => received.length)
      const ran = yield* check([
        { name: "one", routes: [{ provider: "north", model: "plain" }] },
        // The same route serves a second model, and is tried once.
        {
          name: "two",
          routes: [
            { provider: "north", model: "plain" },
            { provider: "south", model: "plain" }
          ]
        },
        { name: "vectors", embeds: true, routes: [{ provider: "west", model: "vectors" }] }
      ])
      assert.isTrue(ran.ok, ran.err)
      assert.match(ran.out, /north\/plain +api_key_env +200 +\d+ +nothing/)
      assert.match(ran.out, /south\/plain +api_key_env +200 +\d+ +nothing/)
      assert.match(ran.out, /west\/vectors +api_key_env +200 +\d+ +nothing/)
      assert.deepStrictEqual(
        [north, south, west].map(({ received }, index) => received.length - (before[index] ?? 0)),
        [1, 1, 1]
      )
      assert.include(north.received.at(-1)?.text, '"max_completion_tokens":1')
      assert.include(south.received.at(-1)?.text, '"max_tokens":1')
    })
  )

  it.effect("An operator reads the problem of each route in words, without a key, and in the exit code", () =>
    Effect.gen(function* () {
      const { north } = yield* Providers
      north.scripts.set("reasoning", [
        {
          status: 400,
          body: {
            error: {
              message: "Could not finish the message because max_tokens or model output limit was reached."
            }
          }
        }
      ])
      north.scripts.set("poor", [
        { status: 400, body: { error: { message: "Your credit balance is too low to access the API." } } }
      ])
      const names = [
        "status:401",
        "status:404",
        "status:429",
        "status:503",
        "html",
        "silent",
        "reasoning",
        "poor"
      ]
      const ran = yield* inTime(
        check([
          ...names.map((name): TestModel => ({ name, routes: [{ provider: "north", model: name }] })),
          { name: "nowhere", routes: [{ provider: "nobody", model: "plain" }] }
        ]),
        100
      )
      assert.isFalse(ran.ok)
      const lines = [
        /north\/status:401 +api_key_env +401 +\d+ +the key is refused: refused Bearer \[key\] at \[provider\]/,
        /north\/status:404 .*404 .*no such model, or not at this base_url/,
        /north\/status:429 .*429 .*the limit is reached/,
        /north\/status:503 .*503 .*the provider fails/,
        /north\/html .*200 .*no answer of the provider's style: look at style and base_url/,
        /north\/silent .*- .*no answer within 30s/,
        /north\/reasoning .*400 .*nothing/,
        /north\/poor .*400 .*the provider refuses the account: Your credit balance is too low/,
        /nobody\/plain .*- .*no connection \(ECONNREFUSED\): look at base_url/
      ]
      for (const each of lines) assert.match(ran.out, each)
      assert.include(ran.err, "8 of 9 requests failed: see above.")
      assert.notInclude(ran.out + ran.err, canary)
    })
  )

  it.effect("An operator tries every key of a provider, each by its place in the file", () =>
    Effect.gen(function* () {
      const { west } = yield* Providers
      const before = west.received.length
      writeFileSync(join(directory, "second"), "sk-second-0123456789\n")
      const ran = yield* check(
        ["plain", "other"].map((name) => ({ name, routes: [{ provider: "west", model: name }] })),
        (text) => text.replace("api_key_env: WEST_KEY", "api_key_env: WEST_KEY\n    key_file: ./second"),
        "--json"
      )
      assert.isTrue(ran.ok, ran.err)
      const { items } = JSON.parse(ran.out)
      assert.deepStrictEqual(
        items.map(({ key, route }: Record<string, unknown>) => [route, key]),
        [
          ["west/plain", "api_key_env"],
          ["west/plain", "key_file"],
          ["west/other", "api_key_env"]
        ]
      )
      const sent = west.received.slice(before).map(({ headers }) => headers.authorization)
      assert.include(sent, "Bearer sk-second-0123456789")
    })
  )

  it.effect("An operator reads the problems of the file itself", () =>
    Effect.gen(function* () {
      const one: ReadonlyArray<TestModel> = [{ name: "one", routes: [{ provider: "north", model: "plain" }] }]
      const wrong = yield* check(one, (text) => text.replace("style: openai", "style: other"))
      assert.isFalse(wrong.ok)
      assert.include(wrong.err, "tried.yaml cannot be used: providers[0].style: ")
      const keyless = yield* check(one, (text) => text.replace("NORTH_KEY", "NOT_SET_KEY"))
      assert.include(keyless.err, "providers[0].api_key_env: the environment variable NOT_SET_KEY is not set")
      assert.include(
        (yield* run("check", join(directory, "none.yaml"))).err,
        "none.yaml cannot be used: ENOENT"
      )
    })
  )

  it.effect("An operator sees the health, cooldown and latency of each route", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-03-01T12:00:00Z"))
      const { key } = yield* spender()
      assert.strictEqual((yield* chat(key, { model: "well" })).status, 200)
      assert.strictEqual((yield* inTime(chat(key, { model: "broken" }))).status, 502)
      const { json } = yield* get("/api/v1/admin/gateway/routes", { token: testAdminToken })
      assert.deepInclude(member(json, "items", 0), {
        model: "well",
        provider: "north",
        route: "plain",
        health: "healthy",
        attempts: 1,
        failed_attempts: 0,
        latency_ms: 0,
        first_byte_ms: 0,
        keys: 1,
        keys_cooling: 0
      })
      assert.deepInclude(member(json, "items", 2), {
        health: "cooling",
        failures_in_a_row: 3,
        attempts: 3,
        failed_attempts: 3,
        last_failure: "status_500"
      })
      const ran = yield* run("routes")
      assert.match(ran.out, /broken +north\/status:500 +cooling until 2026-03-01 12:00:3\d/, ran.err)
      assert.match(ran.out, /unasked +west\/plain +untried/)
      yield* TestClock.adjust("31 seconds")
      assert.match((yield* run("routes")).out, /broken +north\/status:500 +failing/)
      assert.strictEqual((yield* get("/api/v1/admin/gateway/routes")).status, 401)
    })
  )

  it.effect("An operator sees the exact sums of calls beside the providers' charges", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-05-01T12:00:00Z"))
      const { agentId, key } = yield* spender()
      const calls = (model: string, count: number) =>
        Effect.replicateEffect(inTime(chat(key, { model })), count, { discard: true })
      yield* calls("well", 2)
      yield* TestClock.setTime(Date.parse("2026-05-02T12:00:00Z"))
      yield* calls("uncosted", 1)
      yield* calls("broken", 1)
      yield* TestClock.setTime(Date.parse("2026-05-03T00:00:00Z"))
      const report = (query: string) =>
        Effect.map(
          get(`/api/v1/admin/gateway/usage?since=2026-05-01T00:00:00Z&${query}`, { token: testAdminToken }),
          ({ json }) => json
        )
      const byModel = yield* report("by=model")
      // 25 and 9 tokens are charged 0.0002 and 0.0008 each; at 0.0001 and 5e-10 they cost 0.0025000045.
      const well = {
        name: "well",
        calls: 2,
        failed_calls: 0,
        prompt_tokens: 50,
        cached_tokens: 0,
        cache_write_tokens: 0,
        completion_tokens: 18,
        reasoning_tokens: 0,
        charged: 0.0244,
        calls_without_cost: 0,
        provider_cost: 0.005001,
        margin: 0.019399
      }
      assert.deepStrictEqual(member(byModel, "items", 0), well)
      assert.deepInclude(member(byModel, "items", 1), {
        name: "uncosted",
        charged: 0.0122,
        calls_without_cost: 1,
        provider_cost: 0,
        margin: 0
      })
      assert.deepInclude(member(byModel, "items", 2), {
        name: "broken",
        calls: 1,
        failed_calls: 1,
        charged: 0
      })
      assert.deepInclude(byModel["totals"], {
        calls: 4,
        charged: 0.0366,
        provider_cost: 0.005001,
        margin: 0.019399
      })
      assert.strictEqual(byModel["groups"], 3)

      const names = (json: Record<string, unknown>) =>
        [0, 1, 2, 3].map((place) => member(json, "items", place, "name")).filter((name) => name !== undefined)
      assert.deepStrictEqual(names(yield* report("by=provider")), ["north", "south", null])
      assert.deepStrictEqual(names(yield* report("by=day")), ["2026-05-01", "2026-05-02"])
      assert.deepStrictEqual(names(yield* report("by=agent")), [agentId])
      const cut = yield* report("by=provider&max_items=1")
      assert.deepStrictEqual([names(cut), cut["groups"]], [["north"], 3])
      assert.deepInclude(cut["totals"], { calls: 4 })
      assert.deepStrictEqual(names(yield* report("by=day&until=2026-05-02T00:00:00Z")), ["2026-05-01"])

      const ran = yield* run("usage", "--by", "provider", "--from", "2026-05-01T00:00:00Z")
      assert.match(ran.out, /^2026-05-01 00:00:00 UTC to 2026-05-03 00:00:00 UTC, in credits:/, ran.err)
      assert.match(ran.out, /north +2 +0 +50 +0 +18 +0\.0244 +0\.005001 +0\.019399 +0/)
      assert.match(ran.out, /south +1 +0 +25 +0 +9 +0\.0122 +not known +not known +1/)
      assert.match(ran.out, /all +4 +1 /)
      const short = yield* run("usage", "--by", "provider", "--from", "2026-05-01T00:00:00Z", "--limit", "1")
      assert.include(short.out, "and 2 rows more, which are in the sums: --limit shows them")

      yield* calls("refused", 1)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(member(yield* report("by=model"), "items", 3), {
        name: "refused",
        failed_calls: 1,
        charged: 0,
        calls_without_cost: 0,
        provider_cost: 0
      })
    })
  )

  it.effect("An operator reads which range a report may have", () =>
    Effect.gen(function* () {
      const wrong = Effect.fnUntraced(function* (query: string) {
        const { json, status } = yield* get(`/api/v1/admin/gateway/usage?${query}`, { token: testAdminToken })
        assert.strictEqual(status, 400)
        return String(json["detail"])
      })
      assert.include(
        yield* wrong("since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z"),
        "until: Expected an instant after since"
      )
      assert.include(
        yield* wrong("since=2020-01-01T00:00:00Z&until=2026-01-02T00:00:00Z"),
        "since: Expected at most 366 days before until"
      )
      assert.include(yield* wrong("by=key"), "by")
      assert.include((yield* run("usage", "--from", "yesterday")).err, "--from")
    })
  )

  it.effect(
    "An operator has the times of attempts and of first bytes by provider in the metrics, and nothing of clients",
    () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        yield* chat(key, { model: "uncosted" })
        const ofProviders = (yield* Metric.snapshot).filter(({ id }) => id.startsWith("gateway_provider_"))
        const south = ofProviders.filter(({ attributes }) => attributes?.["provider"] === "south")
        // The registry also has the series of other tests.
        assert.deepStrictEqual([...new Set(south.map(({ id }) => id))].toSorted(), [
          "gateway_provider_duration_seconds",
          "gateway_provider_first_byte_seconds"
        ])
        for (const { attributes } of ofProviders) {
          assert.isEmpty(
            Object.keys(attributes ?? {}).filter((name) => name !== "provider" && name !== "result")
          )
        }
      })
  )
})

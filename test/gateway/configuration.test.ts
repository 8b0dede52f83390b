/** The gateway's file: its settings, its problems, and reading it again. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Option, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { candidates } from "../../src/layers/gateway/fallback.ts"
import { GatewayConfig, layer as configured } from "../../src/layers/gateway/GatewayConfig.ts"
import { configurationOf, modelNamed } from "../../src/layers/gateway/configuration.ts"
import type { FoundKey, KeySource, ProviderSetting } from "../../src/layers/gateway/configuration.ts"
import { readConfigurationFile } from "../../src/layers/gateway/configurationFile.ts"
import { costOf, priceOf, tokensOf } from "../../src/scoring/tokenPrices.ts"
import type { TokenPrice } from "../../src/scoring/tokenPrices.ts"

const file = `providers:
  - { name: north, style: openai, base_url: "https://north.example/v1", api_key_env: NORTH_KEY }
  - { name: south, style: anthropic, base_url: "https://south.example", api_key_env: SOUTH_KEY, translate: false }
models:
  - name: swift-1
    price: { input: 0.0002, output: 0.0000000005 }
    max_output_tokens: 8192
    routes:
      - { provider: north, model: swift-1-0613, priority: 2 }
      - { provider: south, model: swift-1, priority: 1, weight: 3 }
  - name: north/odd
    price: { input: 1, output: 1 }
    max_output_tokens: 10
    routes: [{ provider: north, model: swift-1-0613 }, { provider: north, model: odd/one }]
`
const keyOf = ({ name }: KeySource): FoundKey => Result.succeed(`key of ${name}`.replaceAll(" ", "-"))
const isNotSet = (): FoundKey => Result.fail("is not set")
const parsed = (text: string, key = keyOf) =>
  Result.flatMap(readConfigurationFile(text), (read) => configurationOf(read, key))
/** Parts without a price of their own. */
const priced = ({ input, output }: { readonly input: bigint; readonly output: bigint }): TokenPrice => ({
  input,
  cachedInput: input,
  cacheWrite: input,
  cacheWriteLong: input,
  output,
  reasoning: output,
  image: 0n
})
const problems = (text: string) => Result.getOrElse(Result.flip(parsed(text)), () => [])
const secretsOf = (provider: ProviderSetting | undefined) =>
  provider?.keys.map(({ label, secret }) => [label, Redacted.value(secret)])

describe("The gateway's file", () => {
  const configuration = Result.getOrThrow(parsed(file))

  it("The gateway's file gives providers, models, exact prices and routes, with defaults", () => {
    const north = configuration.providers.get("north")
    assert.strictEqual(north?.translates, true)
    assert.deepStrictEqual(secretsOf(north), [["api_key_env", "key-of-NORTH_KEY"]])
    const model = configuration.models.get("swift-1")
    assert.deepStrictEqual(model?.price, priced({ input: 200_000_000n, output: 500n }))
    assert.deepStrictEqual(model?.routes[0]?.timeouts, {
      firstByte: 120_000,
      idle: 60_000,
      response: 300_000
    })
    assert.strictEqual(model?.imageTokens, 3000)
    assert.deepStrictEqual(
      model?.routes.map(({ model: name, weight }) => [name, weight]),
      [
        ["swift-1-0613", 1],
        ["swift-1", 3]
      ]
    )
  })

  it.each([
    ["style: openai", "style: other", "providers[0].style"],
    ["https://north.example/v1", "ftp://north", "providers[0].base_url"],
    ["max_output_tokens: 8192", "max_output_tokens: 0", "models[0].max_output_tokens"],
    ["input: 0.0002", "input: -1", "models[0].price.input"],
    ["provider: south, model", "provider: nobody, model", "models[0].routes[1].provider"],
    ["name: south", "name: north", "providers[1].name"],
    ["translate: false", "translate: false, connect_timeout: soon", "providers[1].connect_timeout"],
    ["translate: false", "translates: false", "providers[1].translates"],
    ["translate: false", "allow: { browsing: {} }", "providers[1].allow.browsing"],
    ["translate: false", "allow: { speed.fast: { factor: 1.0001 } }", "providers[1].allow.speed.fast.factor"],
    [
      "translate: false",
      "allow: { tools.web_search: { price: 1 } }",
      "providers[1].allow.tools.web_search.price"
    ],
    ["max_output_tokens: 8192", "max_output_tokens: 8192\n    fallback: [swift-1]", "models[0].fallback[0]"],
    [
      "max_output_tokens: 8192",
      "max_output_tokens: 8192\n    context_fallback: [none]",
      "models[0].context_fallback[0]"
    ],
    ["input: 0.0002", "input: 0.0002, cached_input: -1", "models[0].price.cached_input"],
    ["max_output_tokens: 8192", "max_output_tokens: 8192\n    context_length: 0", "models[0].context_length"],
    [
      "max_output_tokens: 8192",
      "max_output_tokens: 8192\n    capabilities: [tools, magic]",
      "models[0].capabilities[1]"
    ]
  ])("A wrong value is named by its path: %s as %s", (right, wrong, path) => {
    assert.include(problems(file.replace(right, wrong)).join("\n"), `${path}:`)
  })

  it("The gateway's file gives the priced features of its providers, and the prices of their parts", () => {
    const more = file
      .replace(
        "translate: false",
        "allow: { tools.web_search: { fee: 0.01, uses: 5 }, speed.fast: { factor: 1.5 } }"
      )
      .replace("input: 0.0002", "input: 0.0002, cached_input: 0.00002, cache_write_1h: 0.0004, image: 0.1")
    const { models, providers } = Result.getOrThrow(parsed(more))
    assert.deepStrictEqual(
      [...(providers.get("south")?.allow ?? [])],
      [
        ["tools.web_search", { factor: 1000n, fee: 10_000_000_000n, uses: 5, tokens: 0 }],
        ["speed.fast", { factor: 1500n, fee: 0n, uses: 0, tokens: 0 }]
      ]
    )
    assert.deepStrictEqual(models.get("swift-1")?.price, {
      ...priced({ input: 200_000_000n, output: 500n }),
      cachedInput: 20_000_000n,
      cacheWriteLong: 400_000_000n,
      image: 100_000_000_000n
    })
  })

  it.each([
    ["api_key_env: SOUTH_KEY", "auth: bearer", "providers[1].api_key_env"],
    ["SOUTH_KEY", "SOUTH_KEY, auth: none", "providers[1].api_key_env"],
    ["SOUTH_KEY", "SOUTH_KEY, auth: basic", "providers[1].auth"],
    ["SOUTH_KEY", "[]", "providers[1].api_key_env"],
    ["SOUTH_KEY", "[SOUTH_KEY, south key]", "providers[1].api_key_env[1]"],
    ["SOUTH_KEY", "SOUTH_KEY, key_file: [./one, two]", "providers[1].key_file[1]"],
    ["SOUTH_KEY", "SOUTH_KEY, headers: { Content-Type: text/plain }", "providers[1].headers.Content-Type"],
    [
      "SOUTH_KEY",
      "SOUTH_KEY, headers: { Proxy-Authorization: x }",
      "providers[1].headers.Proxy-Authorization"
    ],
    ["SOUTH_KEY", "SOUTH_KEY, headers: { AUTHORIZATION: x }", "providers[1].headers.AUTHORIZATION"],
    ["SOUTH_KEY", "SOUTH_KEY, headers: { X-Goog-Api-Key: x }", "providers[1].headers.X-Goog-Api-Key"],
    ["SOUTH_KEY", "SOUTH_KEY, headers: { Host: x }", "providers[1].headers.Host"],
    ["SOUTH_KEY", "SOUTH_KEY, headers: { content-length: '9' }", "providers[1].headers.content-length"],
    ["SOUTH_KEY", "SOUTH_KEY, headers: { Transfer-Encoding: x }", "providers[1].headers.Transfer-Encoding"],
    ["SOUTH_KEY", "SOUTH_KEY, headers: { x team: x }", "providers[1].headers.x team"],
    ["SOUTH_KEY", 'SOUTH_KEY, headers: { x-team: "a\\nb: c" }', "providers[1].headers.x-team"],
    ["SOUTH_KEY", "SOUTH_KEY, query: { api-key: x }", "providers[1].query.api-key"],
    ["SOUTH_KEY", 'SOUTH_KEY, query: { "a&b": x }', "providers[1].query.a&b"],
    ["SOUTH_KEY", "SOUTH_KEY, omit: [messages]", "providers[1].omit[0]"],
    ["SOUTH_KEY", "SOUTH_KEY, omit: [max_tokens]", "providers[1].omit[0]"],
    ["SOUTH_KEY", "SOUTH_KEY, rename: { model: deployment }", "providers[1].rename.model"],
    ["SOUTH_KEY", "SOUTH_KEY, rename: { tier: service_tier }", "providers[1].rename.tier"],
    ["SOUTH_KEY", "SOUTH_KEY, rename: { tier: Service_Tier }", "providers[1].rename.tier"],
    ["SOUTH_KEY", "SOUTH_KEY, rename: { seed: max_tokens }", "providers[1].rename.seed"],
    ["SOUTH_KEY", "SOUTH_KEY, omit: [seed], rename: { seed: random_seed }", "providers[1].rename.seed"]
  ])("A wrong setting of a provider's requests is named by its path: %s as %s", (right, wrong, path) => {
    assert.include(problems(file.replace(right, wrong)).join("\n"), `${path}:`)
  })

  it("The gateway's file gives the keys, headers, parameters and members of a provider's requests", () => {
    const more = file.replace(
      "SOUTH_KEY",
      `[SOUTH_KEY, SOUTH_KEY_2], key_file: ./south, auth: bearer, headers: { X-Team: a b }, query: { v: "1" },
       omit: [metadata], rename: { max_tokens: max_new_tokens }`
    )
    const south = Result.getOrThrow(parsed(more)).providers.get("south")
    assert.deepStrictEqual(secretsOf(south), [
      ["api_key_env[0]", "key-of-SOUTH_KEY"],
      ["api_key_env[1]", "key-of-SOUTH_KEY_2"],
      ["key_file", "key-of-./south"]
    ])
    assert.deepStrictEqual(
      [south?.auth, south?.headers, south?.query],
      ["bearer", { "x-team": "a b" }, { v: "1" }]
    )
    assert.deepStrictEqual(south?.changes, {
      // No maximum was reserved for a client's own member of the new name.
      omit: new Set(["metadata", "max_new_tokens"]),
      rename: new Map([["max_tokens", "max_new_tokens"]])
    })
    const local = Result.getOrThrow(parsed(file.replace("api_key_env: NORTH_KEY", "auth: none")))
    assert.deepStrictEqual(secretsOf(local.providers.get("north")), [])
  })

  const vectors = `
  - name: vectors-1
    price: { input: 0.00001 }
    capabilities: [embeddings]
    routes: [{ provider: north, model: vectors-1-large }]
`

  it("The gateway's file may have models of embeddings, which generate nothing", () => {
    const model = Result.getOrThrow(parsed(file + vectors)).models.get("vectors-1")
    assert.deepStrictEqual([model?.embeds, model?.maxOutputTokens], [true, 0])
    assert.deepStrictEqual(model?.price, priced({ input: 10_000_000n, output: 0n }))
    assert.strictEqual(configuration.models.get("swift-1")?.embeds, false)
  })

  it.each([
    ["[embeddings]", "[embeddings, tools]", "models[2].capabilities"],
    ["[embeddings]", "[embeddings]\n    max_output_tokens: 10", "models[2].max_output_tokens"],
    ["[embeddings]", "[embeddings]\n    fallback: [swift-1]", "models[2].fallback"],
    ["provider: north, model: vectors", "provider: south, model: vectors", "models[2].routes[0].provider"],
    ["capabilities: [embeddings]", "capabilities: [tools]", "models[2].price.output"],
    ["capabilities: [embeddings]", "capabilities: [tools]", "models[2].max_output_tokens"],
    ["max_output_tokens: 8192", "max_output_tokens: 8192\n    fallback: [vectors-1]", "models[0].fallback[0]"]
  ])("A wrong setting of a model of embeddings is named by its path: %s as %s", (right, wrong, path) => {
    assert.include(problems((file + vectors).replace(right, wrong)).join("\n"), `${path}:`)
  })

  it("The timeouts of a model replace those of its provider", () => {
    const more = file
      .replace("NORTH_KEY }", "NORTH_KEY, idle_timeout: 7 seconds, response_timeout: 8 seconds }")
      .replace("name: swift-1", "name: swift-1\n    response_timeout: 9 seconds")
    const [north, south] = Result.getOrThrow(parsed(more)).models.get("swift-1")?.routes ?? []
    assert.deepStrictEqual(north?.timeouts, { firstByte: 120_000, idle: 7000, response: 9000 })
    assert.deepStrictEqual(south?.timeouts, { firstByte: 120_000, idle: 60_000, response: 9000 })
  })

  it("An unset variable of a key is named, and so is a text that is no YAML", () => {
    const missing = parsed(file, isNotSet)
    assert.include(Result.isFailure(missing) ? missing.failure.join() : "", "NORTH_KEY is not set")
    assert.include(problems("providers: [").join(), "line")
  })

  it("A problem with aliases that lead nowhere or explode is named", () => {
    assert.isNotEmpty(problems(file.replace("name: north,", "name: *nothing,")))
    const bomb = `a: &a [1,1,1,1,1,1,1,1,1,1,1,1]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
`
    assert.isNotEmpty(problems(bomb + file))
  })

  it("A key that stands in the file by mistake is not shown in the problems", () => {
    const secret = "gsk_canary0123456789"
    const mistakes = [
      file.replace("api_key_env: NORTH_KEY", `api_key: ${secret}`),
      file.replace("api_key_env: NORTH_KEY", `api_key_env: NORTH_KEY, api_key: ${secret}`),
      file.replace("NORTH_KEY", secret),
      file.replace("NORTH_KEY", `sk-${secret}`),
      file.replace("NORTH_KEY", `[${secret}]`),
      file.replace("api_key_env: NORTH_KEY", `key_file: ${secret}`),
      file.replace("api_key_env: NORTH_KEY", `key_file: ./${secret}`),
      file.replace("NORTH_KEY", `NORTH_KEY, headers: { Authorization: ${secret} }`),
      file.replace("NORTH_KEY", `NORTH_KEY, query: { api_key: ${secret} }`),
      file.replace("https://north.example/v1", `https://user:${secret}@north.example/v1`)
    ]
    for (const mistake of mistakes) {
      const read = parsed(mistake, isNotSet)
      const complaints = Result.isFailure(read) ? read.failure.join("\n") : ""
      assert.include(complaints, "providers[0]")
      assert.notInclude(complaints, secret)
    }
  })

  it("A model's name is split at its first slash, and only if the head is a provider", () => {
    const named = (name: string) => {
      const found = modelNamed(configuration, name)
      return found === undefined ? undefined : [found.model.name, found.pinned, found.model.routes.length]
    }
    assert.deepStrictEqual(named("swift-1"), ["swift-1", false, 2])
    // If two models map to the name, the first in the file prices it.
    assert.deepStrictEqual(named("north/swift-1-0613"), ["swift-1", true, 1])
    assert.deepStrictEqual(named("north/odd/one"), ["north/odd", true, 1])
    assert.isUndefined(named("north/none"))
    assert.isUndefined(named("nowhere/swift-1"))
  })

  it("Routes are ordered by priority, and those that cool down move to the end", () => {
    const routes = configuration.models.get("swift-1")?.routes ?? []
    const names = (style: "openai" | "anthropic", cooling: (model: string) => boolean) =>
      candidates(
        routes,
        style,
        ({ model }) => cooling(model),
        () => 0.5
      ).map(({ model }) => model)
    assert.deepStrictEqual(
      names("anthropic", () => false),
      ["swift-1", "swift-1-0613"]
    )
    assert.deepStrictEqual(
      names("anthropic", (model) => model === "swift-1"),
      ["swift-1-0613", "swift-1"]
    )
  })

  it("A cost is rounded up once for all tokens of a call", () => {
    const price = priced({ input: priceOf("0.0000005") ?? 0n, output: priceOf("0.000000000001") ?? 0n })
    assert.strictEqual(costOf(price, tokensOf(3, 0)), 2n)
    assert.strictEqual(costOf(price, tokensOf(2, 1)), 2n)
    assert.strictEqual(costOf(price, tokensOf(0, 0)), 0n)
    assert.isUndefined(priceOf("0.0000000000001"))
  })

  it.effect("The gateway's file is read again, and a bad one keeps the old one and logs why", () => {
    const directory = mkdtempSync(join(tmpdir(), "auspex-gateway-"))
    const path = join(directory, "gateway.yaml")
    const logged: Array<string> = []
    const logger = Logger.map(Logger.formatJson, (line) => void logged.push(line))
    writeFileSync(path, file)
    return Effect.gen(function* () {
      const { current, reload } = yield* GatewayConfig
      const models = Effect.map(current, (found) => [...Option.getOrThrow(found).configuration.models.keys()])
      const since = Effect.map(current, (found) => Option.getOrThrow(found).since)
      const began = yield* since
      assert.deepStrictEqual(yield* models, ["swift-1", "north/odd"])
      writeFileSync(path, file.replace("name: swift-1", "name: swift-2"))
      yield* TestClock.adjust("1 hour")
      yield* reload
      assert.deepStrictEqual(yield* since, began)
      assert.deepStrictEqual(yield* models, ["swift-2", "north/odd"])
      writeFileSync(path, file.replace("8192", "none"))
      yield* reload
      assert.deepStrictEqual(yield* models, ["swift-2", "north/odd"])
      assert.include(logged.join("\n"), "models[0].max_output_tokens")
    }).pipe(
      Effect.provide(
        configured(Option.some(path)).pipe(
          Layer.provide(
            ConfigProvider.layer(ConfigProvider.fromEnv({ env: { NORTH_KEY: "a", SOUTH_KEY: "b" } }))
          ),
          Layer.provideMerge(Logger.layer([logger]))
        )
      ),
      Effect.ensuring(Effect.sync(() => rmSync(directory, { recursive: true })))
    )
  })
})

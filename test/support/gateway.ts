/** A gateway in front of our own test providers: `layer(gatewayServer(models))("...", (it) => ...)`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as GatewayConfig from "../../src/layers/gateway/GatewayConfig.ts"
import * as Gateway from "../../src/layers/gateway/Gateway.ts"
import type { EndedCall, OpenCall } from "../../src/services/GatewayBilling.ts"
import { GatewayKeys } from "../../src/services/GatewayKeys.ts"
import type { NewGatewayKey } from "../../src/services/GatewayKeys.ts"
import { anotherOperator, claimedAgents, issue, onboard } from "./agents.ts"
import { fund } from "./credit.ts"
import { database } from "./database.ts"
import { logSigner } from "./logSigner.ts"
import { mailbox } from "./mailbox.ts"
import { get, member, post } from "./requests.ts"
import type { RequestOptions } from "./requests.ts"
import { testServer } from "./server.ts"
import { services } from "./services.ts"
import { settings } from "./settings.ts"
import { upstream } from "./upstream.ts"
import type { UpstreamServer } from "./upstream.ts"
import { passing, readUntil } from "./waiting.ts"

/** Only the provider that this key is for may ever see it. */
export const canary = "sk-canary-0123456789abcdef"

/** Providers by their names in the file. `north` and `west` speak chat completions, `south` messages. */
export class Providers extends Context.Service<
  Providers,
  {
    readonly north: UpstreamServer
    readonly west: UpstreamServer
    readonly south: UpstreamServer
    /** The path of the configuration. */
    readonly file: string
  }
>()("auspex/test/Providers") {}

export interface TestRoute {
  readonly provider: "north" | "west" | "south" | "nobody"
  /** The behaviour of the model, as in test/support/upstream.ts. */
  readonly model: string
  readonly priority?: number
  readonly weight?: number
  /** The cost by token of prompt and completion. */
  readonly cost?: readonly [number, number]
}

export interface TestModel {
  readonly name: string
  readonly routes: ReadonlyArray<TestRoute>
  readonly price?: readonly [number, number]
  /** The prices of parts of it, by their names in the file. */
  readonly prices?: Readonly<Record<string, number>>
  readonly maxOutputTokens?: number
  /** The model only embeds texts. */
  readonly embeds?: true
  /** Further lines of its entry. */
  readonly more?: string
}

const timeouts = {
  short: `connect_timeout: 1 second
    first_byte_timeout: 300 millis
    idle_timeout: 300 millis
    response_timeout: 400 millis`,
  /** For tests in which nothing hangs: a busy machine must not look like a hanging provider. */
  usual: "connect_timeout: 5 seconds"
}
export type Timeouts = keyof typeof timeouts

/** Further lines of a provider's entry. */
export type ProviderLines = Readonly<Partial<Record<TestRoute["provider"], string>>>

const providerYaml = (
  name: TestRoute["provider"],
  style: string,
  port: number,
  path: string,
  times: Timeouts,
  more: ProviderLines
) => `  - name: ${name}
    style: ${style}
    base_url: http://127.0.0.1:${port}${path}
    api_key_env: ${name.toUpperCase()}_KEY
    ${timeouts[times]}
    ${more[name] ?? ""}
`

const modelYaml = ({
  embeds,
  maxOutputTokens = 100,
  more = "",
  name,
  price = [0.0002, 0.0008],
  prices = {},
  routes
}: TestModel) => `  - name: ${name}
    price: ${JSON.stringify({ input: price[0], ...(embeds !== true && { output: price[1] }), ...prices })}
    ${embeds === true ? "capabilities: [embeddings]" : `max_output_tokens: ${maxOutputTokens}`}
    ${more}
    routes:
${routes
  .map(
    ({ cost, model, priority = 1, provider, weight = 1 }) =>
      `      - { provider: ${provider}, model: "${model}", priority: ${priority}, weight: ${weight}${
        cost === undefined ? "" : `, cost: { input: ${cost[0]}, output: ${cost[1]} }`
      } }\n`
  )
  .join("")}`

export const gatewayYaml = (
  ports: { readonly north: number; readonly west: number; readonly south: number },
  models: ReadonlyArray<TestModel>,
  times: Timeouts,
  more: ProviderLines = {}
): string => `providers:
${providerYaml("north", "openai", ports.north, "/v1", times, more)}${providerYaml("west", "openai", ports.west, "/v1", times, more)}${providerYaml("south", "anthropic", ports.south, "", times, more)}${providerYaml("nobody", "openai", 1, "/v1", times, more)}models:
${models.map(modelYaml).join("")}`

const keys = ConfigProvider.layer(
  ConfigProvider.fromEnv({
    env: Object.fromEntries(["NORTH", "WEST", "SOUTH", "NOBODY"].map((name) => [`${name}_KEY`, canary]))
  })
)

const providers = (models: ReadonlyArray<TestModel>, times: Timeouts, more: ProviderLines = {}) =>
  Layer.effect(
    Providers,
    Effect.gen(function* () {
      const [north, west, south] = [yield* upstream, yield* upstream, yield* upstream]
      const directory = mkdtempSync(join(tmpdir(), "auspex-gateway-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(directory, { recursive: true })))
      const file = join(directory, "gateway.yaml")
      writeFileSync(
        file,
        gatewayYaml({ north: north.port, west: west.port, south: south.port }, models, times, more)
      )
      return Providers.of({ north, west, south, file })
    })
  )

const configured = Layer.unwrap(
  Effect.map(Providers, ({ file }) => Layer.orDie(GatewayConfig.layer(Option.some(file))))
).pipe(Layer.provide(keys))

/** The gateway's file, with its providers. */
export const gatewayFile = (models: ReadonlyArray<TestModel>, times: Timeouts = "usual") =>
  configured.pipe(Layer.provideMerge(Layer.fresh(providers(models, times))))

const gatewayServices = (environment: Readonly<Record<string, string>>) =>
  Gateway.layer.pipe(
    Layer.provideMerge(configured),
    Layer.provideMerge(services),
    Layer.provideMerge(Layer.mergeAll(database, settings(environment), mailbox, logSigner()))
  )

export const gatewayServer = (
  models: ReadonlyArray<TestModel>,
  environment: Readonly<Record<string, string>> = {},
  times: Timeouts = "short",
  more: ProviderLines = {}
) =>
  testServer({ services: gatewayServices(environment) }).pipe(
    Layer.provideMerge(Layer.fresh(providers(models, times, more)))
  )

/** An agent whose owner lets it spend credit on models, with this much of it and a key. */
export const spender = Effect.fnUntraced(function* (credit = 100, key: NewGatewayKey = {}) {
  const sql = yield* SqlClient.SqlClient
  const owner = yield* anotherOperator
  const [agentId] = yield* claimedAgents(1)
  if (agentId === undefined) return yield* Effect.die(new Error("no agent"))
  yield* sql`update operators set plan = 'pro' where id in (select owner_id from agents where id = ${agentId}::uuid)`
  yield* sql`update agents set credit_arena_enabled = true where id = ${agentId}::uuid`
  if (credit > 0) yield* fund(`agent:${agentId}`, credit)
  const made = yield* Effect.orDie(
    GatewayKeys.use((service) => service.create({ kind: "agent", id: agentId }, agentId, key))
  )
  return { agentId, owner, key: made.api_key, keyId: made.key_id }
})

/** An agent that may use the gateway, with its access token. */
export const enabled = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const agent = yield* onboard()
  const owner = yield* anotherOperator
  yield* sql`update operators set plan = 'team' where id = ${owner}::uuid`
  yield* sql`
    update agents set claimed_at = provisional_until, owner_id = ${owner}::uuid, prediction_limit = null,
                      credit_arena_enabled = true
     where id = ${agent.agentId}::uuid`
  const { access_token } = yield* issue(agent.agentId, agent.secret)
  return { ...agent, owner, token: access_token }
})

/** An answered call in its settled form. */
export const answeredCall = (open: OpenCall, others: Partial<EndedCall> = {}): EndedCall => ({
  ...open,
  provider: "north",
  servedModel: null,
  promptTokens: 25,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  completionTokens: 9,
  reasoningTokens: 0,
  cost: 0n,
  providerCost: null,
  status: 200,
  error: null,
  latencyMs: 10,
  firstByteMs: 9,
  attempts: 1,
  estimated: false,
  ...others
})

export const chatPath = "/api/v1/llm/v1/chat/completions"
export const messagesPath = "/api/v1/llm/v1/messages"

const hello = [{ role: "user", content: "Hello" }]

export const chat = (key: string, body: object, options: RequestOptions = {}) =>
  post(chatPath, { token: key, json: { messages: hello, ...body }, ...options })

export const message = (key: string, body: object) =>
  post(messagesPath, {
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01" },
    json: { messages: hello, max_tokens: 50, ...body }
  })

/** Lets the test's time pass like real time, or this many times faster, for providers that hang and for pauses. */
export const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>, times = 1): Effect.Effect<A, E, R> =>
  passing(effect, 20 * times, 20)

/** The newest call of this key; undefined without one. */
export const newestCall = (key: string) =>
  Effect.map(get("/api/v1/llm/usage", { token: key }), ({ json }) => member(json, "items", 0))

/** The newest call once there is one: a call that nobody waits for is settled in the background. */
export const settledCall = (key: string) => readUntil(newestCall(key), (call) => call !== undefined)

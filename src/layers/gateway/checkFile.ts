/**
 * Checks a gateway's file before a server reads it: sends one small request to each route, with the keys, headers and
 * connections that calls would have.
 */
import { Clock, Duration, Effect, Result } from "effect"
import type { Endpoint } from "../../services/Gateway.ts"
import { collect } from "./attempt.ts"
import { routeId } from "./circuitBreaker.ts"
import type { Configuration, ModelSetting, ProviderKey, RouteSetting } from "./configuration.ts"
import { readConfiguration } from "./GatewayConfig.ts"
import { rejectionIn } from "./rejection.ts"
import { ownRequest, readAnswer } from "./relay.ts"
import { connect } from "./upstream.ts"
import type { Upstream } from "./upstream.ts"

/** A request to a route with one of its provider's keys. */
export interface TriedRoute {
  /** The route in the form `provider/model`. */
  readonly route: string
  /** The key's place in the file; null if the provider needs none. */
  readonly key: string | null
  /** The status is null if nothing was answered. */
  readonly status: number | null
  readonly millis: number
  /** Null: the route serves. */
  readonly problem: string | null
}

/** Fails with all problems of the file itself. A provider's further keys are tried at the first of its routes. */
export const checkFile = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<ReadonlyArray<TriedRoute>, ReadonlyArray<string>> {
  const configuration = yield* readConfiguration(path)
  const upstreams = new Map([...configuration.providers].map(([name, each]) => [name, connect(each)]))
  return yield* Effect.forEach(
    probesOf(configuration),
    (probe) => {
      const upstream = upstreams.get(probe.route.provider.name)
      return upstream === undefined ? Effect.die(new Error("no connections")) : tried(upstream, probe)
    },
    { concurrency: 8 }
  ).pipe(Effect.ensuring(Effect.sync(() => upstreams.forEach(({ close }) => close()))))
})

interface Probe {
  readonly model: ModelSetting
  readonly route: RouteSetting
  readonly key: ProviderKey | undefined
}

const probesOf = ({ models }: Configuration): ReadonlyArray<Probe> => {
  const routes = new Map<string, Omit<Probe, "key">>()
  for (const model of models.values()) {
    for (const route of model.routes) routes.set(`${model.embeds} ${routeId(route)}`, { model, route })
  }
  const known = new Set<string>()
  return [...routes.values()].flatMap((each) => {
    const { keys, name } = each.route.provider
    const [first, ...others] = keys
    const isFirst = !known.has(name)
    known.add(name)
    return [first, ...(isFirst ? others : [])].map((key) => ({ ...each, key }))
  })
}

const timeout = Duration.seconds(30)
const maxAnswerBytes = 1024 * 1024

const probeBodies = {
  chat: { max_completion_tokens: 1, messages: [{ role: "user", content: "Hi" }] },
  embeddings: { input: "Hi" }
}

const tried = Effect.fnUntraced(function* (upstream: Upstream, probe: Probe) {
  const { key, model, route } = probe
  const endpoint = model.embeds ? "embeddings" : "chat"
  const body = ownRequest(endpoint, probeBodies[endpoint], model, route)
  const beganAt = yield* Clock.currentTimeMillis
  const answer = yield* Effect.tryPromise({
    try: async (signal) => {
      const request = { endpoint, body, stream: false, key, versionHeaders: {} } as const
      const response = await upstream.send(request, signal)
      return { status: response.status, bytes: await collect(response.body, maxAnswerBytes) }
    },
    catch: (error) => `no connection${codeOf(error)}: look at base_url`
  }).pipe(
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () => Effect.fail(`no answer within ${Duration.format(timeout)}`)
    }),
    Effect.result
  )
  const ended: TriedRoute = {
    route: routeId(route),
    key: key?.label ?? null,
    millis: (yield* Clock.currentTimeMillis) - beganAt,
    ...(Result.isFailure(answer)
      ? { status: null, problem: answer.failure }
      : {
          status: answer.success.status,
          problem: problemIn(endpoint, route, answer.success.status, answer.success.bytes)
        })
  }
  return ended
})

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && /^[A-Z0-9_]+$/.test(String(error.code))
    ? ` (${String(error.code)})`
    : ""

/** A model that reasons needs more than one token; this error shows that the route works. */
const outOfTokens = /max_tokens or model output limit was reached/i

const problemIn = (
  endpoint: Endpoint,
  { model, provider }: RouteSetting,
  status: number,
  bytes: Buffer | undefined
): string | null => {
  if (bytes === undefined) return "the answer is larger than one token can be: look at base_url"
  if (status === 200) {
    const read = readAnswer(bytes, {
      endpoint,
      providerStyle: provider.style,
      model,
      asksUsage: true,
      asksJson: false,
      requested: undefined,
      choices: 1,
      requestId: "check",
      created: 0
    })
    return Result.isSuccess(read) ? null : "no answer of the provider's style: look at style and base_url"
  }
  const { accountFault, message } = rejectionIn(bytes, provider)
  if (status === 400 && outOfTokens.test(message)) return null
  return `${accountFault === undefined ? meaningOf(status) : accountProblem}: ${message}`
}

const accountProblem = "the provider refuses the account"

const meaningOf = (status: number): string => {
  if (status >= 500) return "the provider fails"
  if (status >= 300 && status < 400) return "the request is redirected: look at base_url"
  return meanings.get(status) ?? "the request is refused"
}

const meanings: ReadonlyMap<number, string> = new Map([
  [401, "the key is refused"],
  [402, "there is no credit"],
  [403, "the key lacks the permission"],
  [404, "no such model, or not at this base_url"],
  [429, "the limit is reached"]
])

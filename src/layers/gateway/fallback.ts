/**
 * Tries the candidates of a call in order until one delivers something, the last of them up to three times; then the models
 * that may stand in for the named one.
 */
import { Clock, Effect, Exit, Random, Result } from "effect"
import { RejectedUpstream, UpstreamsBusy, UpstreamsFailed } from "../../services/Gateway.ts"
import type { Call, CallError, Style } from "../../services/Gateway.ts"
import { cheapSpan } from "../cheapSpan.ts"
import { badCall } from "./admitCall.ts"
import type { AdmittedCall, Serving } from "./admitCall.ts"
import { attempt } from "./attempt.ts"
import type { CallState, ClientStream, Failure, Outcome } from "./attempt.ts"
import { routeId } from "./circuitBreaker.ts"
import type { CircuitBreaker, EndedAttempt } from "./circuitBreaker.ts"
import type { ModelSetting, ProviderKey, RouteSetting } from "./configuration.ts"
import { keyRefusal } from "./keyRing.ts"
import type { KeyRefusal, KeyRing } from "./keyRing.ts"
import { countAttempt } from "./metrics.ts"
import { requestBody, targetOf } from "./relay.ts"
import type { Rejected, WholeAnswer } from "./types.ts"

/** The end of a call that a provider accepted. */
export type CallResult =
  | { readonly result: "whole"; readonly answer: WholeAnswer }
  | { readonly result: "streamed" | "broken" | "unread" }

/** The state that the attempts of one call share. */
interface Run {
  readonly circuitBreaker: CircuitBreaker
  readonly call: Call
  readonly admittedCall: AdmittedCall
  readonly state: CallState
  readonly client: ClientStream
  readonly beganAt: number
  /** The last failure of each route that was asked. */
  readonly failures: Map<string, Failure>
  /** Keys that a provider has refused during this call. */
  readonly refusedKeys: Set<ProviderKey>
  /** The reason why a route could not be asked. */
  untranslatable: Rejected | undefined
  /** A provider has rejected the thinking of earlier turns because another provider made it; no further provider gets it. */
  isThinkingForeign: boolean
}

/** Fails only if nothing was delivered. Interruption means that the client has left. */
export const fallback = Effect.fnUntraced(function* (
  circuitBreaker: CircuitBreaker,
  call: Call,
  admittedCall: AdmittedCall,
  state: CallState,
  client: ClientStream
): Effect.fn.Return<CallResult, CallError> {
  const { contextFallback, named } = admittedCall
  const run: Run = {
    circuitBreaker,
    call,
    admittedCall,
    state,
    client,
    beganAt: yield* Clock.currentTimeMillis,
    failures: new Map(),
    refusedKeys: new Set(),
    untranslatable: undefined,
    isThinkingForeign: false
  }
  let left: ReadonlyArray<Serving> = [named, ...admittedCall.fallback]
  let tooLong: RejectedUpstream | undefined
  for (;;) {
    const [serving, ...others] = left
    if (serving === undefined || state.isAbandoned) break
    left = others
    const served = yield* serve(run, serving)
    if (served === undefined) continue
    if (served.result !== "rejected") return served
    if (!served.isTooLong) return yield* tooLong ?? served.error
    if (tooLong === undefined) left = contextFallback
    tooLong ??= served.error
  }
  if (tooLong !== undefined) return yield* tooLong
  state.served = undefined
  if (run.failures.size > 0) return yield* noneAnswered([...run.failures.values()], state.attempts)
  return yield* badCall(
    run.untranslatable ?? {
      message: `The model ${named.model.name} is not served in this style of calling.`,
      param: "model"
    }
  )
})

interface ProviderRejected {
  readonly result: "rejected"
  readonly error: RejectedUpstream
  /** The prompt is too long for the model. */
  readonly isTooLong: boolean
}

/** Pauses before the last candidate is asked again, in milliseconds. */
const pauses = [250, 1000]
/** A longer Retry-After is not waited for. */
const maxPause = 5000
/** A call that took longer is not tried again: its client would not wait. */
const repeatWithin = 120_000

/** Tries the routes of a model, the last one with a transient failure up to three times; undefined if none of them serves. */
const serve = Effect.fnUntraced(function* (
  run: Run,
  { model, routes }: Serving
): Effect.fn.Return<CallResult | ProviderRejected | undefined> {
  const left = [...(yield* orderOf(run, routes))]
  let repeats = 0
  let again: { readonly route: RouteSetting; readonly pause: number } | undefined
  // Once the client has left, nobody waits for another provider's answer.
  while (!run.state.isAbandoned) {
    let route = left.shift()
    if (route === undefined) {
      const pause = pauses[repeats]
      if (again === undefined || pause === undefined) return undefined
      if ((yield* Clock.currentTimeMillis) - run.beganAt > repeatWithin) return undefined
      repeats += 1
      // The pauses vary, so that calls that failed together do not return together.
      const uneven = Math.round(pause * (0.75 + 0.5 * (yield* Random.next)))
      yield* Effect.sleep(Math.max(uneven, again.pause))
      route = again.route
      again = undefined
    }
    const result = yield* askRoute(run, model, route, left)
    const outcome = result?.outcome
    switch (outcome?.outcome) {
      case undefined:
        break
      case "whole":
        return { result: "whole", answer: outcome.answer }
      case "streamed":
      case "broken":
      case "unread":
        return { result: outcome.outcome }
      case "refused":
        if (run.isThinkingForeign || !outcome.rejection.isThinkingForeign) return rejected(outcome)
        run.isThinkingForeign = true
        left.unshift(route)
        break
      case "failed":
        if (result?.hasAnotherKey === true) {
          left.unshift(route)
          break
        }
        run.failures.set(routeId(route), outcome.failure)
        if (mayPass(outcome.failure)) again = { route, pause: outcome.failure.retryAfterMillis ?? 0 }
    }
  }
  return undefined
})

/** Tests whether the next attempt may succeed. A provider that was silent for minutes, or refuses its key, is not asked again. */
const mayPass = ({ kind, retryAfterMillis = 0, status }: Failure): boolean => {
  const isTransient =
    kind === "status"
      ? status !== null && (status === 408 || status === 429 || status >= 500)
      : kind === "connect" || kind === "ended" || kind === "error_event"
  return isTransient && retryAfterMillis <= maxPause
}

const rejected = ({ rejection, status }: Outcome & { readonly outcome: "refused" }): ProviderRejected => ({
  result: "rejected",
  error: new RejectedUpstream({
    detail: rejection.message,
    code: rejection.code ?? "invalid_request",
    type: rejection.type,
    status,
    param: rejection.param
  }),
  isTooLong: rejection.isTooLong
})

interface RouteResult {
  readonly outcome: Outcome
  /** Only the provider's key failed, and another one is ready. */
  readonly hasAnotherKey: boolean
}

/** Makes one attempt, with its metrics and its effect on the route's health; undefined if the body cannot be translated for the route. */
const askRoute = Effect.fnUntraced(function* (
  run: Run,
  model: ModelSetting,
  route: RouteSetting,
  others: ReadonlyArray<RouteSetting>
): Effect.fn.Return<RouteResult | undefined> {
  const { admittedCall, call, circuitBreaker, client, state } = run
  const { admitted, pinned, snapshot } = admittedCall
  const { provider, timeouts } = route
  const bodyFor = (each: RouteSetting) =>
    requestBody(admitted, { ...targetOf(model, each), isThinkingForeign: run.isThinkingForeign })
  const body = bodyFor(route)
  if (Result.isFailure(body)) {
    run.untranslatable = body.failure
    return undefined
  }
  const upstream = snapshot.upstreams.get(provider.name)
  if (upstream === undefined) return yield* Effect.die(new Error(`no connections to ${provider.name}`))
  const beganAt = yield* Clock.currentTimeMillis
  const key = upstream.keys.take(beganAt)
  let hasAnotherKey = false
  state.attempts += 1
  state.served = { model, route }
  if (!pinned) circuitBreaker.begin(route, beganAt)
  const ended = (outcome: Outcome | undefined) =>
    Effect.gen(function* () {
      const name = outcome === undefined ? "left" : outcomeName(outcome)
      const labels = { provider: provider.name, model: model.name, route: route.model, outcome: name }
      const now = yield* Clock.currentTimeMillis
      const attempt: EndedAttempt = {
        millis: now - beganAt,
        // An earlier attempt's first byte does not count for this one.
        firstByteMillis:
          state.firstByteAt === undefined || state.firstByteAt < beganAt
            ? undefined
            : state.firstByteAt - beganAt,
        outcome: name,
        result: resultOf(outcome)
      }
      yield* countAttempt(labels, attempt)
      circuitBreaker.ended(route, now, attempt)
      yield* Effect.annotateCurrentSpan({
        "gateway.provider": provider.name,
        "gateway.route": route.model,
        "gateway.outcome": name
      })
      if (outcome === undefined) return
      hasAnotherKey = noteKey(run, upstream.keys, key, outcome, now)
      yield* logFault({ ...labels, ...(provider.keys.length > 1 && key && { key: key.label }) }, outcome)
      if (!pinned && !hasAnotherKey) noteHealth(circuitBreaker, route, outcome, beganAt, now)
    })
  const outcome = yield* attempt({
    upstream,
    timeouts,
    request: {
      endpoint: call.endpoint,
      body: body.success,
      stream: admitted.stream,
      key,
      versionHeaders: call.versionHeaders
    },
    reading: {
      endpoint: call.endpoint,
      providerStyle: provider.style,
      // The client learns which model answers if it is not the named one.
      model: model === admittedCall.named.model ? admitted.model : model.name,
      asksUsage: admitted.asksUsage,
      asksJson: admitted.asksJson,
      requested: admitted.requested,
      choices: admitted.choices,
      requestId: call.requestId,
      created: Math.floor(beganAt / 1000)
    },
    client,
    // The test is lazy, because it may translate the body.
    isLast: () => others.every((later) => Result.isFailure(bodyFor(later))),
    state
  }).pipe(
    Effect.onExit((exit) => {
      if (Exit.isSuccess(exit)) return ended(exit.value)
      return ended(state.silent ? silence : undefined)
    }),
    cheapSpan(`Gateway.attempt ${routeId(route)}`)
  )
  return { outcome, hasAnotherKey }
})

/** Has a refused key cool down, and tests whether the call can go on with another one. */
const noteKey = (
  { refusedKeys }: Run,
  keys: KeyRing,
  key: ProviderKey | undefined,
  outcome: Outcome,
  now: number
): boolean => {
  const refusal = outcome.outcome === "failed" ? keyRefusalOf(outcome.failure) : undefined
  if (refusal === undefined || key === undefined) return false
  keys.refused(key, now, refusal)
  refusedKeys.add(key)
  return keys.ready(now).some((each) => !refusedKeys.has(each))
}

/** Another key may be served; a refused region is refused to all keys. */
const keyRefusalOf = ({ kind, reason, retryAfterMillis, status }: Failure): KeyRefusal | undefined => {
  if (kind !== "account") return keyRefusal(status, retryAfterMillis)
  return reason === "region" ? undefined : { isLimit: reason === "limit", retryAfterMillis }
}

/** The outcome when a client has left after the provider was silent for too long. */
const silence: Outcome = {
  outcome: "failed",
  failure: { kind: "timeout", status: null, retryAfterMillis: undefined }
}

const orderOf = Effect.fnUntraced(function* (
  { admittedCall: { admitted, pinned }, circuitBreaker }: Run,
  routes: ReadonlyArray<RouteSetting>
) {
  if (pinned) return routes
  const now = yield* Clock.currentTimeMillis
  const random = yield* Random.Random
  return candidates(
    routes,
    admitted.style,
    (route) => circuitBreaker.isOpen(route, now),
    () => random.nextDoubleUnsafe()
  )
})

/**
 * Orders routes by ascending priority; within one, routes of the called style come before those that need translation, and
 * within these the order is random by weight. Routes with an open circuit go to the end in the same order.
 */
export const candidates = (
  routes: ReadonlyArray<RouteSetting>,
  style: Style,
  isOpen: (route: RouteSetting) => boolean,
  random: () => number
): ReadonlyArray<RouteSetting> => {
  if (routes.length < 2) return routes
  const priorities = [...new Set(routes.map(({ priority }) => priority))].sort((a, b) => a - b)
  const ordered = priorities.flatMap((priority) => {
    const equal = routes.filter((route) => route.priority === priority)
    const native = equal.filter(({ provider }) => provider.style === style)
    const translated = equal.filter(({ provider }) => provider.style !== style)
    return [...weightedOrder(native, random), ...weightedOrder(translated, random)]
  })
  const open = new Set(ordered.filter(isOpen))
  return [...ordered.filter((route) => !open.has(route)), ...open]
}

/** Random order by weight, without replacement: each next route is drawn by its weight among the remaining ones. */
const weightedOrder = (
  routes: ReadonlyArray<RouteSetting>,
  random: () => number
): ReadonlyArray<RouteSetting> => {
  const left = [...routes]
  const order: Array<RouteSetting> = []
  while (left.length > 1) {
    let point = random() * left.reduce((sum, { weight }) => sum + weight, 0)
    const index = left.findIndex(({ weight }) => {
      point -= weight
      return point < 0
    })
    order.push(...left.splice(Math.max(index, 0), 1))
  }
  return [...order, ...left]
}

/** The log has none of the provider's words, which may quote a prompt. */
const logFault = (labels: Readonly<Record<string, string>>, outcome: Outcome): Effect.Effect<void> => {
  if (outcome.outcome === "refused") {
    return Effect.logInfo("a provider rejected a call").pipe(
      Effect.annotateLogs({ ...labels, status: outcome.status, code: outcome.rejection.code })
    )
  }
  if (!isFailure(outcome)) return Effect.void
  const reason = outcome.outcome === "failed" ? outcome.failure.reason : undefined
  return Effect.logWarning("a provider failed").pipe(
    Effect.annotateLogs({ ...labels, ...(reason !== undefined && { reason }) })
  )
}

const isFailure = (outcome: Outcome): boolean =>
  outcome.outcome === "broken" || (outcome.outcome === "failed" && outcome.failure.kind !== "empty")

/** An undefined outcome means that the client left. */
const resultOf = (outcome: Outcome | undefined): EndedAttempt["result"] => {
  if (outcome === undefined || outcome.outcome === "unread") return "left"
  if (outcome.outcome === "refused") return "rejected"
  return outcome.outcome === "failed" || outcome.outcome === "broken" ? "failed" : "ok"
}

const noteHealth = (
  circuitBreaker: CircuitBreaker,
  route: RouteSetting,
  outcome: Outcome,
  beganAt: number,
  now: number
) => {
  if (isFailure(outcome)) {
    const { retryAfterMillis, status } =
      outcome.outcome === "failed" ? outcome.failure : { status: null, retryAfterMillis: undefined }
    circuitBreaker.failed(route, now, { isLimit: status === 429, retryAfterMillis })
  } else if (outcome.outcome !== "failed") {
    // A provider that rejects a request, or is not read to the end, is up.
    circuitBreaker.succeeded(route, beganAt)
  }
}

const outcomeName = (outcome: Outcome): string => {
  if (outcome.outcome === "broken") return `broken_${outcome.kind}`
  if (outcome.outcome !== "failed") return outcome.outcome
  return outcome.failure.kind === "status" ? `status_${outcome.failure.status}` : outcome.failure.kind
}

const noneAnswered = (failures: ReadonlyArray<Failure>, attempts: number) => {
  const seconds = minRetryAfter(failures)
  return seconds === undefined
    ? new UpstreamsFailed({
        detail: "No provider of the model answered: nothing was charged. Try again shortly.",
        attempts
      })
    : new UpstreamsBusy({
        detail: `Every provider of the model is busy: nothing was charged. Try again in ${seconds} s.`,
        retry_after: seconds
      })
}

const minSeconds = 1
const maxSeconds = 60
/** The Retry-After of a busy model is this one if no provider sent one. */
const defaultSeconds = 5

/** The shortest Retry-After of all providers in seconds; undefined unless every one was busy. */
const minRetryAfter = (failures: ReadonlyArray<Failure>): number | undefined => {
  if (failures.some(({ status }) => status !== 429)) return undefined
  const waits = failures.map(({ retryAfterMillis: millis }) =>
    millis === undefined ? defaultSeconds : Math.ceil(millis / 1000)
  )
  return Math.min(maxSeconds, Math.max(minSeconds, Math.min(...waits)))
}

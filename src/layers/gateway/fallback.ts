/**
 * Tries the candidates of a call in order until one delivers something, the last of them up to three times; then the models
 * that may stand in for the one that was named.
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

/** How a call ended that a provider accepted. */
export type CallResult =
  | { readonly result: "whole"; readonly answer: WholeAnswer }
  | { readonly result: "streamed" | "broken" | "unread" }

/** What the attempts of one call share. */
interface Run {
  readonly circuitBreaker: CircuitBreaker
  readonly call: Call
  readonly admittedCall: AdmittedCall
  readonly state: CallState
  readonly client: ClientStream
  readonly beganAt: number
  /** Of each route that was asked, its last failure. */
  readonly failures: Map<string, Failure>
  /** Keys that a provider has refused to this call. */
  readonly refusedKeys: Set<ProviderKey>
  /** Why a route could not be asked. */
  untranslatable: Rejected | undefined
  /** A provider has refused the thinking of earlier turns as another's: it is sent to none any more. */
  isThinkingForeign: boolean
}

/** Fails only when nothing was delivered. Interruption means that the client has left. */
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
  /** The prompt, for the model. */
  readonly isTooLong: boolean
}

/** Before the last candidate is asked again, in milliseconds: once for each time. */
const pauses = [250, 1000]
/** A Retry-After up to this is waited for. */
const maxPause = 5000
/** A call that took longer is not tried again: its client would not wait for it. */
const repeatWithin = 120_000

/** Tries the routes of a model, the last one whose failure may pass up to three times; undefined: none of them serves. */
const serve = Effect.fnUntraced(function* (
  run: Run,
  { model, routes }: Serving
): Effect.fn.Return<CallResult | ProviderRejected | undefined> {
  const left = [...(yield* orderOf(run, routes))]
  let repeats = 0
  let again: { readonly route: RouteSetting; readonly pause: number } | undefined
  // Nobody waits for another one's answer once the client has left.
  while (!run.state.isAbandoned) {
    let route = left.shift()
    if (route === undefined) {
      const pause = pauses[repeats]
      if (again === undefined || pause === undefined) return undefined
      if ((yield* Clock.currentTimeMillis) - run.beganAt > repeatWithin) return undefined
      repeats += 1
      // Uneven, so that calls that failed together do not come back together.
      const uneven = Math.round(pause * (0.75 + 0.5 * (yield* Random.next)))
      yield* Effect.sleep(Math.max(uneven, again.pause))
      route = again.route
      again = undefined
    }
    const asked = yield* askRoute(run, model, route, left)
    const outcome = asked?.outcome
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
        if (asked?.hasAnotherKey === true) {
          left.unshift(route)
          break
        }
        run.failures.set(routeId(route), outcome.failure)
        if (mayPass(outcome.failure)) again = { route, pause: outcome.failure.retryAfterMillis ?? 0 }
    }
  }
  return undefined
})

/** Whether the next attempt may succeed. A provider that was silent for minutes, or refuses its key, is not asked again. */
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

interface AskedRoute {
  readonly outcome: Outcome
  /** It failed by a key of the provider alone, and another one is ready. */
  readonly hasAnotherKey: boolean
}

/** One attempt, with its metrics and what it says of the route's health; undefined: the body cannot be translated for it. */
const askRoute = Effect.fnUntraced(function* (
  run: Run,
  model: ModelSetting,
  route: RouteSetting,
  others: ReadonlyArray<RouteSetting>
): Effect.fn.Return<AskedRoute | undefined> {
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
        // That of an earlier attempt is not this one's.
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
      // The client reads which model answers where it is not the one that it named.
      model: model === admittedCall.named.model ? admitted.model : model.name,
      asksUsage: admitted.asksUsage,
      asksJson: admitted.asksJson,
      requested: admitted.requested,
      choices: admitted.choices,
      requestId: call.requestId,
      created: Math.floor(beganAt / 1000)
    },
    client,
    // Lazy, because it may translate the body.
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

/** Has a key cool down that was refused, and answers whether the call can go on with another one. */
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

/** Where another key may be served; a region is refused to all of them. */
const keyRefusalOf = ({ kind, reason, retryAfterMillis, status }: Failure): KeyRefusal | undefined => {
  if (kind !== "account") return keyRefusal(status, retryAfterMillis)
  return reason === "region" ? undefined : { isLimit: reason === "limit", retryAfterMillis }
}

/** What a client left that had waited long enough. */
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
 * By ascending priority; within one, those that speak the called style before those that need translation; within these
 * by weighted chance. Routes whose circuit is open go to the end, not away, in the same order.
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

/** Weighted random order without replacement: each next one is weightedOrder by its weight among those that are left. */
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

/** Logged without any of the provider's words, which may quote a prompt. */
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

/** Undefined: the client left. */
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

const minWait = 1
const maxWait = 60
/** The wait where no provider sent Retry-After, in seconds as all of these. */
const defaultWait = 5

/** Undefined unless every provider was busy. */
const minRetryAfter = (failures: ReadonlyArray<Failure>): number | undefined => {
  if (failures.some(({ status }) => status !== 429)) return undefined
  const waits = failures.map(({ retryAfterMillis: millis }) =>
    millis === undefined ? defaultWait : Math.ceil(millis / 1000)
  )
  return Math.min(maxWait, Math.max(minWait, Math.min(...waits)))
}

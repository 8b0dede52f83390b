/** Tries the candidates of a call in order until one delivers something. */
import { Clock, Effect, Exit, Random, Redacted, Result } from "effect"
import { RejectedUpstream, UpstreamsBusy, UpstreamsFailed } from "../../services/Gateway.ts"
import type { Call, CallError, Style } from "../../services/Gateway.ts"
import { cheapSpan } from "../cheapSpan.ts"
import { badCall } from "./admitCall.ts"
import type { AdmittedCall } from "./admitCall.ts"
import { providerRejection } from "./errors.ts"
import { requestBody } from "./relay.ts"
import type { Rejected, WholeAnswer } from "./types.ts"
import { attempt } from "./attempt.ts"
import type { CallState, ClientStream, Failure, Outcome } from "./attempt.ts"
import { routeId } from "./circuitBreaker.ts"
import type { CircuitBreaker } from "./circuitBreaker.ts"
import type { ProviderSetting, RouteSetting } from "./configuration.ts"
import { countAttempt } from "./metrics.ts"

/** How a call ended that a provider accepted. */
export type CallResult =
  | { readonly result: "whole"; readonly answer: WholeAnswer }
  | { readonly result: "streamed" | "broken" | "unread" }

/** Fails only when nothing was delivered. Interruption means that the client has left. */
export const fallback = Effect.fnUntraced(function* (
  circuitBreaker: CircuitBreaker,
  call: Call,
  admittedCall: AdmittedCall,
  state: CallState,
  client: ClientStream
): Effect.fn.Return<CallResult, CallError> {
  const { admitted, model, pinned, snapshot } = admittedCall
  const order = yield* orderOf(circuitBreaker, call.style, admittedCall)
  const failures: Array<Failure> = []
  let untranslatable: Rejected | undefined
  const bodyFor = (route: RouteSetting) =>
    requestBody(admitted, {
      style: route.provider.style,
      model: route.model,
      maxOutputTokens: model.maxOutputTokens
    })

  for (const [index, route] of order.entries()) {
    const body = bodyFor(route)
    if (Result.isFailure(body)) {
      untranslatable = body.failure
      continue
    }
    const upstream = snapshot.upstreams.get(route.provider.name)
    if (upstream === undefined)
      return yield* Effect.die(new Error(`no connections to ${route.provider.name}`))
    const now = yield* Clock.currentTimeMillis
    state.attempts += 1
    state.provider = route.provider.name
    if (!pinned) circuitBreaker.begin(route, now)
    const outcome = yield* attempt({
      upstream,
      request: { body: body.success, stream: admitted.stream, versionHeaders: call.versionHeaders },
      reading: {
        clientStyle: call.style,
        providerStyle: route.provider.style,
        model: admitted.model,
        asksUsage: admitted.asksUsage,
        choices: admitted.choices,
        requestId: call.requestId,
        created: Math.floor(now / 1000)
      },
      client,
      // Lazy, because it may translate the body.
      isLast: () => order.slice(index + 1).every((later) => Result.isFailure(bodyFor(later))),
      state
    }).pipe(
      Effect.onExit((exit) => {
        const outcome = Exit.isSuccess(exit) ? outcomeName(exit.value) : "left"
        const labels = { provider: route.provider.name, model: model.name, route: route.model, outcome }
        return Effect.andThen(
          countAttempt(labels),
          Effect.annotateCurrentSpan({
            "gateway.provider": route.provider.name,
            "gateway.route": route.model,
            "gateway.outcome": outcome
          })
        )
      }),
      cheapSpan(`Gateway.attempt ${routeId(route)}`)
    )
    if (!pinned) yield* noteHealth(circuitBreaker, route, outcome, model.name)
    switch (outcome.outcome) {
      case "whole":
        return { result: "whole", answer: outcome.answer }
      case "streamed":
      case "broken":
      case "unread":
        return { result: outcome.outcome }
      case "refused": {
        const { message, param } = providerRejection(route.provider.style, outcome.body)
        return yield* new RejectedUpstream({
          detail: withoutProvider(message, route.provider),
          status: outcome.status,
          param: param === null ? null : withoutProvider(param, route.provider)
        })
      }
      case "failed":
        failures.push(outcome.failure)
    }
  }
  state.provider = null
  if (failures.length > 0) return yield* noneAnswered(failures)
  return yield* badCall(
    untranslatable ?? {
      message: `The model ${model.name} is not served in this style of calling.`,
      param: "model"
    }
  )
})

const orderOf = Effect.fnUntraced(function* (
  circuitBreaker: CircuitBreaker,
  style: Style,
  { model, pinned }: AdmittedCall
) {
  if (pinned) return model.routes.filter((route) => isUsable(route, style))
  const now = yield* Clock.currentTimeMillis
  const random = yield* Random.Random
  return candidates(
    model.routes,
    style,
    (route) => circuitBreaker.isOpen(route, now),
    () => random.nextDoubleUnsafe()
  )
})

const isUsable = ({ provider }: RouteSetting, style: Style): boolean =>
  provider.style === style || provider.translates

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
  const usable = routes.filter((route) => isUsable(route, style))
  if (usable.length < 2) return usable
  const priorities = [...new Set(usable.map(({ priority }) => priority))].sort((a, b) => a - b)
  const ordered = priorities.flatMap((priority) => {
    const equal = usable.filter((route) => route.priority === priority)
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

const noteHealth = Effect.fnUntraced(function* (
  circuitBreaker: CircuitBreaker,
  route: RouteSetting,
  outcome: Outcome,
  model: string
) {
  const isFailure =
    outcome.outcome === "broken" || (outcome.outcome === "failed" && outcome.failure.kind !== "empty")
  if (!isFailure) {
    // A provider that rejects a request, or is not read to the end, is up.
    if (outcome.outcome !== "failed") circuitBreaker.succeeded(route)
    return
  }
  const retryAfterMillis = outcome.outcome === "failed" ? outcome.failure.retryAfterMillis : undefined
  circuitBreaker.failed(route, yield* Clock.currentTimeMillis, retryAfterMillis)
  yield* Effect.logWarning("a provider failed").pipe(
    Effect.annotateLogs({
      provider: route.provider.name,
      model,
      route: route.model,
      outcome: outcomeName(outcome)
    })
  )
})

const outcomeName = (outcome: Outcome): string => {
  if (outcome.outcome === "broken") return `broken_${outcome.kind}`
  if (outcome.outcome !== "failed") return outcome.outcome
  return outcome.failure.kind === "status" ? `status_${outcome.failure.status}` : outcome.failure.kind
}

/** Removes the provider's key and address from a text for the client. */
const withoutProvider = (text: string, { apiKey, baseUrl }: ProviderSetting): string =>
  text
    .replaceAll(Redacted.value(apiKey), "[key]")
    .replaceAll(baseUrl.host, "[provider]")
    .replaceAll(baseUrl.hostname, "[provider]")

const noneAnswered = (failures: ReadonlyArray<Failure>) => {
  const seconds = minRetryAfter(failures)
  return seconds === undefined
    ? new UpstreamsFailed({
        detail: "No provider of the model answered: nothing was charged. Try again shortly."
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

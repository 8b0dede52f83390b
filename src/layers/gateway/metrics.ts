/** Metrics of the gateway. Their attributes come from the configuration, so clients cannot create new series. */
import { Effect, Metric } from "effect"
import type { EndedAttempt } from "./circuitBreaker.ts"

type Attributes = Record<string, string>

const attempts = (attributes: Attributes) =>
  Metric.counter("gateway_attempts_total", {
    description: "Attempts at providers, by provider, model, route and outcome",
    incremental: true,
    attributes
  })

const durations = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const firstBytes = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const duration = (attributes: Attributes) =>
  Metric.histogram("gateway_call_duration_seconds", {
    description: "Time from a call's arrival to its end, by model and outcome",
    boundaries: durations,
    attributes
  })

const firstByte = (attributes: Attributes) =>
  Metric.histogram("gateway_first_byte_seconds", {
    description: "Time from a call's arrival to its first content, by model",
    boundaries: firstBytes,
    attributes
  })

const providerDuration = (attributes: Attributes) =>
  Metric.histogram("gateway_provider_duration_seconds", {
    description: "Time of an attempt at a provider, by provider and result (ok, rejected, failed, left)",
    boundaries: durations,
    attributes
  })

const providerFirstByte = (attributes: Attributes) =>
  Metric.histogram("gateway_provider_first_byte_seconds", {
    description: "Time from an attempt's beginning to a provider's first content, by provider",
    boundaries: firstBytes,
    attributes
  })

const tokens = (attributes: Attributes) =>
  Metric.counter("gateway_tokens_total", {
    description: "Tokens that were charged, by model and kind",
    incremental: true,
    attributes
  })

const tokensOfKind = (model: string, kind: "prompt" | "completion") => tokens({ model, kind })

/** Each metric is made once with its attributes: attributes given with an update would be serialised each time. */
const memoized = <Key, Made>(make: (key: Key) => Made) => {
  const known = new Map<Key, Made>()
  return (key: Key): Made => {
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make(key)
    known.set(key, made)
    return made
  }
}

const attemptsOf = memoized((provider: string) =>
  memoized((model: string) =>
    memoized((route: string) => memoized((outcome: string) => attempts({ provider, model, route, outcome })))
  )
)

const callsOf = memoized((model: string) => ({
  duration: memoized((outcome: string) => duration({ model, outcome })),
  firstByte: firstByte({ model }),
  prompt: tokensOfKind(model, "prompt"),
  completion: tokensOfKind(model, "completion")
}))

const providersOf = memoized((provider: string) => ({
  duration: memoized((result: EndedAttempt["result"]) => providerDuration({ provider, result })),
  firstByte: providerFirstByte({ provider })
}))

export const countAttempt = (
  attributes: {
    readonly provider: string
    readonly model: string
    readonly route: string
    readonly outcome: string
  },
  { firstByteMillis, millis, result }: EndedAttempt
): Effect.Effect<void> =>
  Effect.contextWith((context) => {
    const { model, outcome, provider, route } = attributes
    attemptsOf(provider)(model)(route)(outcome).updateUnsafe(1, context)
    const times = providersOf(provider)
    times.duration(result).updateUnsafe(millis / 1000, context)
    if (firstByteMillis !== undefined) times.firstByte.updateUnsafe(firstByteMillis / 1000, context)
    return Effect.void
  })

export const countCall = (call: {
  readonly model: string
  readonly outcome: string
  readonly latencyMs: number
  readonly firstByteMs: number | null
  readonly promptTokens: number
  readonly completionTokens: number
}): Effect.Effect<void> =>
  Effect.contextWith((context) => {
    const { completionTokens, firstByteMs, latencyMs, outcome, promptTokens } = call
    const calls = callsOf(call.model)
    calls.duration(outcome).updateUnsafe(latencyMs / 1000, context)
    if (firstByteMs !== null) calls.firstByte.updateUnsafe(firstByteMs / 1000, context)
    if (promptTokens > 0) calls.prompt.updateUnsafe(promptTokens, context)
    if (completionTokens > 0) calls.completion.updateUnsafe(completionTokens, context)
    return Effect.void
  })

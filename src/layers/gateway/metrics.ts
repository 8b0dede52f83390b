/** Metrics of the gateway. Their attributes come from the configuration, so clients cannot create new series. */
import { Effect, Metric } from "effect"

type Attributes = Record<string, string>

const attempts = (attributes: Attributes) =>
  Metric.counter("gateway_attempts", {
    description: "Attempts at providers, by provider, model, route and outcome",
    incremental: true,
    attributes
  })

const duration = (attributes: Attributes) =>
  Metric.histogram("gateway_call_duration_seconds", {
    description: "Time from a call's arrival to its end, by model and outcome",
    boundaries: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    attributes
  })

const firstByte = (attributes: Attributes) =>
  Metric.histogram("gateway_first_byte_seconds", {
    description: "Time from a call's arrival to its first content, by model",
    boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    attributes
  })

const tokens = (attributes: Attributes) =>
  Metric.counter("gateway_tokens", {
    description: "Tokens that were charged, by model and kind",
    incremental: true,
    attributes
  })

const tokensOfKind = (model: string, kind: "prompt" | "completion") => tokens({ model, kind })

/** Metrics are made once with their attributes: attributes given with an update would be serialised each time. */
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

export const countAttempt = (attributes: {
  readonly provider: string
  readonly model: string
  readonly route: string
  readonly outcome: string
}): Effect.Effect<void> => {
  const { model, outcome, provider, route } = attributes
  return Metric.update(attemptsOf(provider)(model)(route)(outcome), 1)
}

export const countCall = Effect.fnUntraced(function* (call: {
  readonly model: string
  readonly outcome: string
  readonly latencyMs: number
  readonly firstByteMs: number | null
  readonly prompt: number
  readonly completion: number
}) {
  const { completion, firstByteMs, latencyMs, outcome, prompt } = call
  const calls = callsOf(call.model)
  yield* Metric.update(calls.duration(outcome), latencyMs / 1000)
  if (firstByteMs !== null) yield* Metric.update(calls.firstByte, firstByteMs / 1000)
  if (prompt > 0) yield* Metric.update(calls.prompt, prompt)
  if (completion > 0) yield* Metric.update(calls.completion, completion)
})

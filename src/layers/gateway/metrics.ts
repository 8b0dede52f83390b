/** What operators see of the gateway: by provider, model, route and outcome, none of which a client can make up. */
import { Effect, Metric } from "effect"

const attempts = Metric.counter("gateway_attempts", {
  description: "Attempts at providers, by provider, model, route and outcome",
  incremental: true
})

const duration = Metric.histogram("gateway_call_duration_seconds", {
  description: "Time from a call's arrival to its end, by model and outcome",
  boundaries: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
})

const firstByte = Metric.histogram("gateway_first_byte_seconds", {
  description: "Time from a call's arrival to its first content, by model",
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
})

const tokens = Metric.counter("gateway_tokens", {
  description: "Tokens that were charged, by model and kind",
  incremental: true
})

/** Looking a metric up by its attributes costs more than counting. */
const kept = <M>(make: (attributes: Record<string, string>) => M) => {
  const known = new Map<string, M>()
  return (attributes: Record<string, string>): M => {
    const key = Object.values(attributes).join(" ")
    const found = known.get(key) ?? make(attributes)
    known.set(key, found)
    return found
  }
}

const attemptsOf = kept((attributes) => Metric.withAttributes(attempts, attributes))
const durationOf = kept((attributes) => Metric.withAttributes(duration, attributes))
const firstByteOf = kept((attributes) => Metric.withAttributes(firstByte, attributes))
const tokensOf = kept((attributes) => Metric.withAttributes(tokens, attributes))

export const countAttempt = (attributes: {
  readonly provider: string
  readonly model: string
  readonly route: string
  readonly outcome: string
}) => Metric.update(attemptsOf(attributes), 1)

export const countCall = (call: {
  readonly model: string
  readonly outcome: string
  readonly latencyMs: number
  readonly firstByteMs: number | null
  readonly prompt: number
  readonly completion: number
}) =>
  Effect.gen(function* () {
    const { completion, firstByteMs, latencyMs, model, outcome, prompt } = call
    yield* Metric.update(durationOf({ model, outcome }), latencyMs / 1000)
    if (firstByteMs !== null) yield* Metric.update(firstByteOf({ model }), firstByteMs / 1000)
    if (prompt > 0) yield* Metric.update(tokensOf({ model, kind: "prompt" }), prompt)
    if (completion > 0) yield* Metric.update(tokensOf({ model, kind: "completion" }), completion)
  })

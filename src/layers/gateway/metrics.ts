/** What operators see of the gateway: by provider, model, route and outcome, none of which a client can make up. */
import { Metric } from "effect"
import type { Context } from "effect"

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

/**
 * A metric is made once with its attributes: given to it with each update they would be written as text each time, which
 * costs more than counting.
 */
const kept = <M>(make: (attributes: Attributes) => M) => {
  const known = new Map<string, M>()
  return (key: string, attributes: Attributes): M => {
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make(attributes)
    known.set(key, made)
    return made
  }
}

const attemptsOf = kept(attempts)
const durationOf = kept(duration)
const firstByteOf = kept(firstByte)
const tokensOf = kept(tokens)

export const countAttempt = (
  attributes: {
    readonly provider: string
    readonly model: string
    readonly route: string
    readonly outcome: string
  },
  context: Context.Context<never>
): void => {
  const { model, outcome, provider, route } = attributes
  attemptsOf(`${provider} ${model} ${route} ${outcome}`, attributes).updateUnsafe(1, context)
}

export const countCall = (
  call: {
    readonly model: string
    readonly outcome: string
    readonly latencyMs: number
    readonly firstByteMs: number | null
    readonly prompt: number
    readonly completion: number
  },
  context: Context.Context<never>
): void => {
  const { completion, firstByteMs, latencyMs, model, outcome, prompt } = call
  durationOf(`${model} ${outcome}`, { model, outcome }).updateUnsafe(latencyMs / 1000, context)
  if (firstByteMs !== null) firstByteOf(model, { model }).updateUnsafe(firstByteMs / 1000, context)
  if (prompt > 0) tokensOf(`${model} prompt`, { model, kind: "prompt" }).updateUnsafe(prompt, context)
  if (completion > 0) {
    tokensOf(`${model} completion`, { model, kind: "completion" }).updateUnsafe(completion, context)
  }
}

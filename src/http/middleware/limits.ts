import { Context, Effect, Layer } from "effect"
import { Limits } from "../../services/Limits.ts"
import { CurrentRequest } from "../CurrentRequest.ts"
import { CountsTowards } from "./annotations.ts"
import { AddressLimit, AgentLimit, CurrentAgent } from "./definitions.ts"

export const byAddress = Layer.effect(
  AddressLimit,
  Effect.gen(function* () {
    const limits = yield* Limits
    return AddressLimit.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const counts = Context.get(endpoint.annotations, CountsTowards)
        const { address } = yield* CurrentRequest
        if (counts !== null) yield* limits.take(counts.limit, address)
        return yield* httpEffect
      })
    )
  })
)

export const byAgent = Layer.effect(
  AgentLimit,
  Effect.gen(function* () {
    const limits = yield* Limits
    return AgentLimit.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const counts = Context.get(endpoint.annotations, CountsTowards)
        const { address } = yield* CurrentRequest
        const { agentId } = yield* CurrentAgent
        if (counts !== null) yield* limits.take(counts.limit, counts.of === "agent" ? agentId : address)
        return yield* httpEffect
      })
    )
  })
)

import { Context, Effect, Layer } from "effect"
import type { ByteSize } from "effect"
import { HttpIncomingMessage, HttpServerRequest } from "effect/http"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { allows } from "../../services/Scopes.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { errorStatus } from "../errorStatus.ts"
import { BadBodiesCountTowards, CountsTowards, DecidedByBody, MaxBody } from "./annotations.ts"
import { AddressLimit, AgentLimit, CurrentAgent } from "./definitions.ts"

/** Malformed or with wrong fields, too large, of another type. */
const badBody: ReadonlySet<number> = new Set([400, 413, 415])

export const byAddress = Layer.effect(
  AddressLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimiter
    return AddressLimit.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const counts = Context.get(endpoint.annotations, CountsTowards)
        const { address } = yield* countedRequest
        if (counts !== null) yield* limits.consume(counts.limit, address)
        const bad = Context.get(endpoint.annotations, BadBodiesCountTowards)
        if (bad === null) return yield* httpEffect
        return yield* Effect.tapError(httpEffect, (error) =>
          badBody.has(errorStatus(error)) ? limits.consume(bad, address) : Effect.void
        )
      })
    )
  })
)

/** The body as far as it can be read; what is wrong with it is told later. */
const sentBody = (largest: ByteSize.ByteSize) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => request.json).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, largest),
    Effect.orElseSucceed((): unknown => undefined)
  )

export const byAgent = Layer.effect(
  AgentLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimiter
    return AgentLimit.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const counts = Context.get(endpoint.annotations, CountsTowards)
        const { agentId, scopes } = yield* CurrentAgent
        const decide = Context.get(endpoint.annotations, DecidedByBody)
        if (decide !== undefined) {
          const { limit, scope } = decide(yield* sentBody(Context.get(endpoint.annotations, MaxBody)))
          if (allows(scopes, scope)) {
            yield* countedRequest
            yield* limits.consume(limit, agentId)
          }
        }
        if (counts !== null) {
          const { address } = yield* countedRequest
          yield* limits.consume(counts.limit, counts.of === "agent" ? agentId : address)
        }
        return yield* httpEffect
      })
    )
  })
)

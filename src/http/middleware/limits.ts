/** Rate limits of requests: by address, by agent, and of what names nobody. */
import { Context, Duration, Effect, Layer } from "effect"
import type { ByteSize } from "effect"
import { HttpIncomingMessage, HttpServerRequest } from "effect/http"
import { RateLimiter as LocalRateLimiter } from "effect/persistence"
import { RateLimiter, TooManyRequests } from "../../services/RateLimiter.ts"
import { Settings } from "../../services/Settings.ts"
import type { LimitName } from "../../services/Settings.ts"
import { allows } from "../../services/Scopes.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { errorStatus } from "../errors.ts"
import {
  BadBodiesCountTowards,
  CountsTowards,
  DecidedByBody,
  MaxBody,
  AddressLimit,
  AgentLimit,
  CurrentAgent
} from "./definitions.ts"

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
const sentBody = (maxBytes: ByteSize.ByteSize) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => request.json).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBytes),
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
        const needs =
          decide === undefined ? [] : decide(yield* sentBody(Context.get(endpoint.annotations, MaxBody)))
        const uses = needs
          .filter(({ scope }) => allows(scopes, scope))
          .map(({ limit }): readonly [LimitName, string] => [limit, agentId])
        if (counts === null && uses.length === 0) return yield* httpEffect
        const { address } = yield* countedRequest
        yield* limits.consumeAll(
          counts === null ? uses : [[counts.limit, counts.of === "agent" ? agentId : address], ...uses]
        )
        return yield* httpEffect
      })
    )
  })
)

/**
 * The limit of what no other limit counts: documents, unknown paths and methods, health, refused tokens and keys. It is
 * counted in this process, by address: it has to cost no statement, and to hold while the database is away.
 */
export class UnidentifiedLimit extends Context.Service<
  UnidentifiedLimit,
  {
    /** Counts one request of this address, and fails when there were too many. */
    readonly consume: (address: string) => Effect.Effect<void, TooManyRequests>
  }
>()("auspex/http/UnidentifiedLimit") {}

/** The store in memory forgets nothing. After so many windows it is thrown away, and everybody begins anew. */
const maxWindows = 100_000

const emptyLimiter = Effect.provide(LocalRateLimiter.make, LocalRateLimiter.layerStoreMemory, { local: true })

export const unidentified = Layer.effect(
  UnidentifiedLimit,
  Effect.gen(function* () {
    const { unidentifiedLimit } = yield* Settings
    let limiter = yield* emptyLimiter
    let windows = 0

    const consume = Effect.fnUntraced(function* (address: string) {
      for (const { count, window } of unidentifiedLimit) {
        const key = `${Duration.toMillis(window)}:${address}`
        const { remaining } = yield* limiter.consume({ key, limit: count, window }).pipe(
          Effect.catch(({ reason }) => {
            // The store in memory has nothing that could fail.
            if (reason._tag === "RateLimitStoreError") return Effect.die(reason)
            const seconds = Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter)))
            return new TooManyRequests({
              detail: `Too many requests that name no agent: at most ${count} in ${Duration.format(window)}. Try again in ${seconds} s.`,
              retry_after: seconds
            })
          })
        )
        if (remaining === count - 1) windows += 1
        if (windows > maxWindows) {
          limiter = yield* emptyLimiter
          windows = 0
        }
      }
    })
    return UnidentifiedLimit.of({ consume })
  })
)

/** Rate limits of requests: by address, by agent, and for requests without an identity. */
import { Cause, Context, Duration, Effect, Exit, Layer, Option } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RateLimiter as LocalRateLimiter } from "effect/persistence"
import { Idempotency } from "../../services/Idempotency.ts"
import { LimitReached, OwedUses, RateLimiter, TooManyRequests } from "../../services/RateLimiter.ts"
import type { Quota, Use } from "../../services/RateLimiter.ts"
import { Settings } from "../../services/Settings.ts"
import { storeUnavailableIn } from "../../services/domain/errors.ts"
import type { AgentId } from "../../services/domain/ids.ts"
import { allows } from "../../services/Scopes.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { errorStatus, isRefusal } from "../errors.ts"
import { sentBody } from "./requestBody.ts"
import { isStoredForAddress, isStoredForAgent, replayedHeader } from "./idempotency.ts"
import {
  BadBodiesCountTowards,
  CountsTowards,
  BatchAdmission,
  BatchLimit,
  DecidedByBody,
  DecidedByItem,
  AddressLimit,
  AgentLimit,
  CurrentAgent,
  isWrite
} from "../api/middleware.ts"

/** The statuses for a body that is malformed, has wrong fields, is too large, or has another type. */
const badBody: ReadonlySet<number> = new Set([400, 413, 415])

export const byAddress = Layer.effect(
  AddressLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimiter
    const idempotency = yield* Idempotency
    return AddressLimit.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const counts = Context.get(endpoint.annotations, CountsTowards)
        const { address } = yield* countedRequest
        if (counts !== null) {
          // A replayed request only reads.
          const isStored = isWrite(endpoint.method) && (yield* isStoredForAddress(idempotency, address))
          yield* limits.consume(isStored ? "reads" : counts.limit, address)
        }
        const bad = Context.get(endpoint.annotations, BadBodiesCountTowards)
        if (bad === null) return yield* httpEffect
        return yield* Effect.tapError(httpEffect, (error) =>
          badBody.has(errorStatus(error)) ? limits.consume(bad, address) : Effect.void
        )
      })
    )
  })
)

/** The limits that a body or an item counts towards; a limit that the body decides counts only if the agent has its scope. */
const usesBy = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top, deciding: typeof DecidedByBody) {
  const counts = Context.get(endpoint.annotations, CountsTowards)
  const decide = Context.get(endpoint.annotations, deciding)
  const { agentId, scopes } = yield* CurrentAgent
  const { address } = yield* countedRequest
  return (sent: unknown): ReadonlyArray<Use> => {
    const decided = (decide?.(sent) ?? [])
      .filter(({ scope }) => allows(scopes, scope))
      .map(({ limit }): Use => [limit, agentId])
    if (counts === null) return decided
    return [[counts.limit, counts.of === "agent" ? agentId : address], ...decided]
  }
})

const usesOf = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
  const uses = yield* usesBy(endpoint, DecidedByBody)
  if (Context.get(endpoint.annotations, DecidedByBody) === undefined) return uses(undefined)
  // The problems of a body are reported later.
  return uses(yield* Effect.orElseSucceed(sentBody(endpoint), () => undefined))
})

const limitReached = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) => Cause.isDieReason(reason) && reason.defect instanceof LimitReached)

const statusOf = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): number =>
  Exit.match(exit, {
    onSuccess: ({ status }) => status,
    onFailure: (cause) =>
      Option.match(Cause.findErrorOption(cause), { onNone: () => 500, onSome: errorStatus })
  })

/** A lost database is a defect here; the edge answers it as 503. */
const isRefused = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): boolean =>
  isRefusal(statusOf(exit)) && !(Exit.isFailure(exit) && storeUnavailableIn(exit.cause).length > 0)

const isReplay = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): boolean =>
  Exit.isSuccess(exit) && exit.value.headers[replayedHeader] !== undefined

export const byAgent = Layer.effect(
  AgentLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimiter
    const idempotency = yield* Idempotency

    /** A request with a stored answer has no effect, so it is admitted even at the limit. */
    const admitted = (agentId: AgentId, uses: ReadonlyArray<Use>) =>
      limits
        .admitWrite(agentId, uses)
        .pipe(
          Effect.catch((full) =>
            Effect.flatMap(isStoredForAgent(idempotency, agentId), (isStored) =>
              isStored ? Effect.succeed({ accepted: Effect.void }) : full
            )
          )
        )

    const write = <E, R>(
      httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      uses: ReadonlyArray<Use>
    ): Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      E | TooManyRequests,
      R | CurrentAgent | HttpServerRequest.HttpServerRequest
    > =>
      Effect.gen(function* () {
        const { agentId } = yield* CurrentAgent
        const { address } = yield* countedRequest
        const { accepted } = yield* admitted(agentId, uses)
        const exit = yield* Effect.exit(Effect.provideService(httpEffect, OwedUses, uses))
        // The limit had room on admission and was full on recording: try again.
        if (limitReached(exit)) return yield* write(httpEffect, uses)
        if (isReplay(exit)) yield* limits.consume("reads", address)
        else if (statusOf(exit) < 400) yield* accepted
        else if (isRefused(exit)) yield* limits.consume("refused_writes", agentId)
        return yield* exit
      })

    return AgentLimit.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const uses = yield* usesOf(endpoint)
        if (isWrite(endpoint.method)) return yield* write(httpEffect, uses)
        yield* limits.consumeAll(uses)
        return yield* httpEffect
      })
    )
  })
)

export const byItem = Layer.effect(
  BatchLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimiter
    const idempotency = yield* Idempotency
    return BatchLimit.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const { agentId } = yield* CurrentAgent
        const { address } = yield* countedRequest
        // The whole batch counts as one read, even if no item is accepted.
        const reads = ["reads", address] as const
        yield* limits
          .admitWrite(agentId, [reads])
          .pipe(
            Effect.catch((full) =>
              Effect.flatMap(isStoredForAgent(idempotency, agentId), (isStored) =>
                isStored ? limits.consume(...reads) : full
              )
            )
          )
        const refuse = limits.consume("refused_writes", agentId)
        let refused = 0
        const admission = {
          usesOf: yield* usesBy(endpoint, DecidedByItem),
          conclude: (count: number) => {
            refused = count
          }
        }
        const exit = yield* Effect.exit(Effect.provideService(httpEffect, BatchAdmission, admission))
        if (isReplay(exit)) return yield* exit
        // They are counted concurrently, so that one statement counts them all. The batch has taken effect, so a full limit is ignored.
        yield* Effect.forEach(Array.from({ length: refused }), () => Effect.ignore(refuse), {
          concurrency: "unbounded",
          discard: true
        })
        if (refused === 0 && isRefused(exit)) yield* refuse
        return yield* exit
      })
    )
  })
)

/** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers) for the windows that a request counted towards. */
export const quotaHeaders = (quotas: ReadonlyMap<string, Quota>): Readonly<Record<string, string>> => {
  if (quotas.size === 0) return {}
  const each = [...quotas]
  return {
    "ratelimit-policy": each
      .map(([policy, { count, window }]) => `"${policy}";q=${count};w=${window}`)
      .join(", "),
    ratelimit: each
      .map(([policy, { remaining, reset }]) => `"${policy}";r=${remaining};t=${reset}`)
      .join(", ")
  }
}

/**
 * The limit of requests that no other limit counts: documents, unknown paths and methods, health, rejected tokens and keys.
 * It counts by address in this process: it costs no statement and holds while the database is away.
 */
export class UnidentifiedLimit extends Context.Service<
  UnidentifiedLimit,
  {
    /** Counts one request of this address, adds its windows to `quotas`, and fails above the limit. */
    readonly consume: (address: string, quotas: Map<string, Quota>) => Effect.Effect<void, TooManyRequests>
  }
>()("auspex/http/UnidentifiedLimit") {}

/** The store in memory never drops a window. After this many windows a new store replaces it, and all counts restart. */
const maxWindows = 100_000

const emptyLimiter = Effect.provide(LocalRateLimiter.make, LocalRateLimiter.layerStoreMemory, { local: true })

export const unidentified = Layer.effect(
  UnidentifiedLimit,
  Effect.gen(function* () {
    const { unidentifiedLimit } = yield* Settings
    let limiter = yield* emptyLimiter
    let windows = 0

    const consume = Effect.fnUntraced(function* (address: string, quotas: Map<string, Quota>) {
      for (const { count, window } of unidentifiedLimit) {
        const key = `${Duration.toMillis(window)}:${address}`
        const note = (remaining: number, reset: number) =>
          quotas.set("unidentified", { count, window: Duration.toSeconds(window), remaining, reset })
        const { remaining, resetAfter } = yield* limiter.consume({ key, limit: count, window }).pipe(
          Effect.catch(({ reason }) => {
            // The store in memory has nothing that could fail.
            if (reason._tag === "RateLimitStoreError") return Effect.die(reason)
            const seconds = Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter)))
            note(0, seconds)
            return new TooManyRequests({
              detail: `Too many requests that name no agent: at most ${count} in ${Duration.format(window)}. Try again in ${seconds} s.`,
              retry_after: seconds
            })
          })
        )
        note(remaining, Math.max(1, Math.ceil(Duration.toSeconds(resetAfter))))
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

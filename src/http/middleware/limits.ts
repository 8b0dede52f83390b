/** Rate limits of requests: by address, by agent, and of what names nobody. */
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
import { keptForAddress, keptForAgent, replayedHeader } from "./idempotency.ts"
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

/** Malformed or with wrong fields, too large, of another type. */
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
          // What was done before is only read.
          const isKept = isWrite(endpoint.method) && (yield* keptForAddress(idempotency, address))
          yield* limits.consume(isKept ? "reads" : counts.limit, address)
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

/** What a body or an item uses; of what it decides only where the scope for it is held. */
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
  // What is wrong with a body is told later.
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

/** A lost database is answered 503 further out: here it is a defect. */
const isRefused = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): boolean =>
  isRefusal(statusOf(exit)) && !(Exit.isFailure(exit) && storeUnavailableIn(exit.cause).length > 0)

const isReplay = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): boolean =>
  Exit.isSuccess(exit) && exit.value.headers[replayedHeader] !== undefined

export const byAgent = Layer.effect(
  AgentLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimiter
    const idempotency = yield* Idempotency

    /** A request whose answer is kept does nothing again, so it is let in whatever is full. */
    const admitted = (agentId: AgentId, uses: ReadonlyArray<Use>) =>
      limits
        .admitWrite(agentId, uses)
        .pipe(
          Effect.catch((full) =>
            Effect.flatMap(keptForAgent(idempotency, agentId), (isKept) =>
              isKept ? Effect.succeed({ accepted: Effect.void }) : full
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
        // There was room when it came, and none any more when it would have been recorded.
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
        // Its body costs as much where nothing of it is taken.
        const reads = ["reads", address] as const
        yield* limits
          .admitWrite(agentId, [reads])
          .pipe(
            Effect.catch((full) =>
              Effect.flatMap(keptForAgent(idempotency, agentId), (isKept) =>
                isKept ? limits.consume(...reads) : full
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
        // At once, so that one statement counts them. What has been done stands, whatever is full by now.
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

/** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers) of the windows that a request met. */
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
 * The limit of what no other limit counts: documents, unknown paths and methods, health, refused tokens and keys. It is
 * counted in this process, by address: it has to cost no statement, and to hold while the database is away.
 */
export class UnidentifiedLimit extends Context.Service<
  UnidentifiedLimit,
  {
    /** Counts one request of this address, notes its windows, and fails when there were too many. */
    readonly consume: (address: string, quotas: Map<string, Quota>) => Effect.Effect<void, TooManyRequests>
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

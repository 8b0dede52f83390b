/** Executes one call from admission to settlement: reserves, asks providers, and settles whatever the client does. */
import { Cause, Clock, Effect, Exit, Fiber, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { costOf, exactCostOf } from "../../scoring/tokenPrices.ts"
import type { Call, CallError } from "../../services/Gateway.ts"
import type { EndedCall, OpenCall, Settled } from "../../services/GatewayBilling.ts"
import { cheapSpan } from "../cheapSpan.ts"
import { maxTokensFor } from "./admitCall.ts"
import type { AdmittedCall, Serving } from "./admitCall.ts"
import { maximumName } from "./callBody.ts"
import { statusOf, withRemedy } from "./errors.ts"
import { chargedFor } from "./pricedFeatures.ts"
import type { PricedFeature } from "./pricedFeatures.ts"
import { contextLengthCode } from "./rejection.ts"
import { promptTokens, textTokens } from "./tokens.ts"
import type { Admitted, ShownError } from "./types.ts"
import { plainUsage } from "./usage.ts"
import type { Usage } from "./usage.ts"
import { newCallState } from "./attempt.ts"
import type { CallState, ClientStream } from "./attempt.ts"
import type { CircuitBreaker } from "./circuitBreaker.ts"
import { fallback } from "./fallback.ts"
import type { CallResult } from "./fallback.ts"
import type { RouteSetting } from "./configuration.ts"
import { countCall } from "./metrics.ts"

/** The payment of calls. */
interface Billing {
  /** The result is the credit that can still be spent. */
  readonly reserve: (open: OpenCall) => Effect.Effect<bigint, CallError>
  /** Never fails: while the database is away, the settlement is retried in the background. */
  readonly settle: (ended: EndedCall) => Effect.Effect<Settled>
}

/** A call's result and charge. */
interface Executed {
  readonly result: CallResult
  readonly settled: Settled | undefined
}

export const makeExecuteCall = Effect.fnUntraced(function* (
  { reserve, settle }: Billing,
  circuitBreaker: CircuitBreaker
) {
  const random = yield* SecureRandom.SecureRandom
  const scope = yield* Effect.scope
  let abandoned = 0

  /**
   * A whole answer is generated and paid even if its client leaves. So the call ends in the background, unless too many already
   * do, and is charged by the provider's report.
   */
  const endingAlone = <A, E, R>(call: Effect.Effect<A, E, R>, state: CallState) =>
    Effect.gen(function* () {
      const running = yield* Effect.forkIn(call, scope)
      return yield* Fiber.join(running).pipe(
        Effect.onInterrupt(() => {
          if (!state.sent || abandoned >= maxAbandoned) return Fiber.interrupt(running)
          state.isAbandoned = true
          abandoned += 1
          running.addObserver(() => (abandoned -= 1))
          return Effect.void
        })
      )
    })

  /**
   * Fails only if nothing was delivered. Interruption means that the client has left. The client is made once its remaining
   * credit is known.
   */
  return Effect.fnUntraced(function* (
    call: Call,
    admittedCall: AdmittedCall,
    makeClient: (left: bigint | undefined) => ClientStream
  ): Effect.fn.Return<Executed, CallError> {
    const { admitted, maxCost, named } = admittedCall
    yield* Effect.annotateCurrentSpan({ "gateway.model": named.model.name, "gateway.style": admitted.style })
    const open: OpenCall = {
      callId: yield* random.uuidV7(),
      holder: call.holder,
      requestId: call.requestId,
      model: admitted.model,
      style: admitted.style,
      stream: admitted.stream,
      reserved: maxCost,
      createdAt: yield* Clock.currentTimeMillis
    }
    const state = newCallState()
    let client = makeClient(undefined)
    let settled: Settled | undefined
    const called = Effect.acquireUseRelease(
      maxCost > 0n
        ? Effect.mapError(reserve(open), (error) =>
            withRemedy(error, (left) => maxTokensFor(admittedCall, left), maximumName(admitted))
          )
        : nothingLeft,
      (left) => {
        client = makeClient(left)
        return fallback(circuitBreaker, call, admittedCall, state, client)
      },
      (_, exit) =>
        Effect.gen(function* () {
          const usage = yield* billableUsage(admittedCall, state, exit)
          const ended = endedCall(admittedCall, open, state, usage, yield* Clock.currentTimeMillis)
          yield* countCall({ ...ended, model: named.model.name, outcome: ended.error ?? "ok" })
          settled = yield* settle(ended)
        })
    )
    const result = yield* admitted.stream ? called : endingAlone(called, state)
    if (result.result === "broken" && state.reader !== undefined) {
      yield* client.write(state.reader.error(brokenStream(call.requestId)))
    }
    return { result, settled }
  }, cheapSpan("Gateway.call"))
})

const nothingLeft: Effect.Effect<bigint | undefined> = Effect.undefined

const brokenStream = (requestId: string): ShownError => ({
  status: 502,
  message: "The provider failed in the middle of the answer: nothing was charged.",
  code: "stream_failed",
  param: null,
  requestId
})

/** The basis of a call's charge and record. */
interface BillableUsage {
  readonly status: number
  readonly error: string | null
  /** Only a served call is charged. A provider asks nothing for a refused call; what it asks for a broken one is unknown. */
  readonly end: "served" | "refused" | "broken"
  readonly usage: Usage
  /** The provider reported no usage, so the gateway counted tokens. */
  readonly estimated: boolean
}

/** PostgreSQL's largest bigint: a provider that reports more is wrong. */
const maxCost = 9_223_372_036_854_775_807n

const endedCall = (
  { admitted, features, named }: AdmittedCall,
  open: OpenCall,
  { attempts, firstByteAt, served }: CallState,
  { end, error, estimated, status, usage }: BillableUsage,
  now: number
): EndedCall => {
  const since = open.createdAt
  return {
    ...open,
    provider: served?.route.provider.name ?? null,
    servedModel: served === undefined || served.model === named.model ? null : served.model.name,
    promptTokens: usage.prompt,
    cachedTokens: usage.cached,
    cacheWriteTokens: usage.written + usage.writtenLong,
    completionTokens: usage.completion,
    reasoningTokens: usage.reasoning,
    cost: end === "served" && served !== undefined ? chargeOf(admitted, features, served, usage) : 0n,
    providerCost:
      served === undefined || end === "broken"
        ? null
        : providerCostOf(admitted, features, served.route, end, usage),
    status,
    error,
    latencyMs: now - since,
    firstByteMs: firstByteAt === undefined ? null : firstByteAt - since,
    attempts,
    estimated
  }
}

/** The charge is at the price of the model that served. */
const chargeOf = (
  { images }: Admitted,
  features: ReadonlyArray<PricedFeature>,
  { model, route }: NonNullable<CallState["served"]>,
  usage: Usage
): bigint => {
  return atMost(costOf(model.price, usage, images, chargedFor(features, route.provider, usage)))
}

/** Everything besides tokens costs us as much as is charged for it. */
const providerCostOf = (
  { images }: Admitted,
  features: ReadonlyArray<PricedFeature>,
  { cost, provider }: RouteSetting,
  end: "served" | "refused",
  usage: Usage
): bigint | null => {
  if (cost === undefined) return null
  return end === "refused"
    ? 0n
    : atMost(exactCostOf(cost, usage, images, chargedFor(features, provider, usage)))
}

const atMost = (cost: bigint): bigint => (cost > maxCost ? maxCost : cost)

const failed = (end: "refused" | "broken", status: number, error: string): BillableUsage => ({
  end,
  status,
  error,
  usage: plainUsage(0, 0),
  estimated: false
})

/** Providers' codes must not become labels of metrics. */
const errorOf = (error: CallError): string =>
  error._tag === "RejectedUpstream" && error.code !== contextLengthCode ? "invalid_request" : error.code

const billableUsage = Effect.fnUntraced(function* (
  admittedCall: AdmittedCall,
  state: CallState,
  exit: Exit.Exit<CallResult, CallError>
) {
  const paid = (status: number, error: string | null, result?: CallResult) =>
    Effect.map(generatedUsage(admittedCall, state, result), (generated): BillableUsage => ({
      end: "served",
      status,
      error,
      ...generated
    }))
  if (Exit.isSuccess(exit) && exit.value.result !== "unread") {
    if (state.isAbandoned) return yield* paid(499, "client_left", exit.value)
    if (exit.value.result === "broken") return failed("broken", 200, "stream_failed")
    return yield* paid(200, null, exit.value)
  }
  if (Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause)) {
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    return error === undefined
      ? failed("broken", 500, "internal_error")
      : failed("refused", statusOf(error), errorOf(error))
  }
  // "A client that disconnects is billed for what was generated."
  return state.sent ? yield* paid(499, "client_left") : failed("broken", 499, "client_left")
})

/** The maximum number of calls in the background whose clients have left. */
const maxAbandoned = 200
/** The assumed speed of generating an answer that nobody has seen, in tokens a second. */
const assumedSpeed = 100

/** The usage that the provider reported, or else counted tokens. */
const generatedUsage = Effect.fnUntraced(function* (
  { admitted, named }: AdmittedCall,
  state: CallState,
  result: CallResult | undefined
) {
  const { reader, served } = state
  const answer = result?.result === "whole" ? result.answer : undefined
  const reported = answer === undefined ? reader?.usage() : answer.usage
  if (reported !== undefined) return { usage: reported, estimated: false }
  const generated = answer?.generated ?? reader?.generated()
  const completion =
    generated === undefined && !admitted.stream
      ? assumedTokens(admitted, served ?? named, state.sentAt, yield* Clock.currentTimeMillis)
      : yield* textTokens(generated ?? "")
  const prompt = reader?.prompt()
  if (prompt !== undefined) return { usage: { ...prompt, completion, reasoning: 0 }, estimated: true }
  const { imageTokens } = (served ?? named).model
  return { usage: plainUsage(yield* promptTokens(admitted, imageTokens), completion), estimated: true }
})

/** The tokens that a call can have generated: at most as many as the time since the request allows, and as the body allows. */
const assumedTokens = (
  { choices, maxTokens }: Admitted,
  { model }: Serving | NonNullable<CallState["served"]>,
  sentAt: number | undefined,
  now: number
): number => {
  const seconds = sentAt === undefined ? 0 : (now - sentAt) / 1000
  return choices * Math.min(maxTokens ?? model.maxOutputTokens, Math.ceil(seconds * assumedSpeed))
}

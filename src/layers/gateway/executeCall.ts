/** One call from admission to settlement: admit, reserve, ask providers, and settle whatever the client does. */
import { Cause, Clock, Effect, Exit, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { costOf } from "../../scoring/tokenPrices.ts"
import type { Call, CallError } from "../../services/Gateway.ts"
import type { EndedCall, OpenCall } from "../../services/GatewayBilling.ts"
import { cheapSpan } from "../cheapSpan.ts"
import type { AdmittedCall } from "./admitCall.ts"
import { statusOf, streamError } from "./errors.ts"
import { promptTokens, textTokens } from "./tokens.ts"
import type { Usage } from "./types.ts"
import { newCallState } from "./attempt.ts"
import type { CallState, ClientStream } from "./attempt.ts"
import { makeCircuitBreaker } from "./circuitBreaker.ts"
import { fallback } from "./fallback.ts"
import type { CallResult } from "./fallback.ts"
import { countCall } from "./metrics.ts"

/** How a call is paid. */
interface Billing {
  readonly reserve: (open: OpenCall) => Effect.Effect<void, CallError>
  /** Never fails: while the database is away, the settlement is retried in the background. */
  readonly settle: (ended: EndedCall) => Effect.Effect<void>
}

export const makeExecuteCall = Effect.fnUntraced(function* ({ reserve, settle }: Billing) {
  const random = yield* SecureRandom.SecureRandom
  const circuitBreaker = makeCircuitBreaker()

  /** Fails only when nothing was delivered. Interruption means that the client has left. */
  return Effect.fnUntraced(function* (
    call: Call,
    admittedCall: AdmittedCall,
    client: ClientStream
  ): Effect.fn.Return<CallResult, CallError> {
    const { admitted, maxCost, model } = admittedCall
    yield* Effect.annotateCurrentSpan({ "gateway.model": model.name, "gateway.style": call.style })
    const open: OpenCall = {
      callId: yield* random.uuidV7(),
      holder: call.holder,
      requestId: call.requestId,
      model: admitted.model,
      style: call.style,
      stream: admitted.stream,
      reserved: maxCost,
      createdAt: yield* Clock.currentTimeMillis
    }
    const state = newCallState()
    const result = yield* Effect.acquireUseRelease(
      maxCost > 0n ? reserve(open) : Effect.void,
      () => fallback(circuitBreaker, call, admittedCall, state, client),
      (_, exit) =>
        Effect.gen(function* () {
          const usage = yield* billableUsage(admittedCall, state, exit)
          const ended = endedCall(admittedCall, open, state, usage, yield* Clock.currentTimeMillis)
          yield* countCall({ ...ended, model: model.name, outcome: ended.error ?? "ok" })
          yield* settle(ended)
        })
    )
    if (result.result === "broken") yield* client.write(brokenStream(call))
    return result
  }, cheapSpan("Gateway.call"))
})

const brokenStream = (call: Call) =>
  streamError(call.style, {
    status: 502,
    message: "The provider failed in the middle of the answer: nothing was charged.",
    code: "stream_failed",
    param: null,
    requestId: call.requestId
  })

/** What a call is charged and recorded with. */
interface BillableUsage {
  readonly status: number
  readonly error: string | null
  readonly usage: Usage
  /** The provider reported no usage, so tokens were counted here. */
  readonly estimated: boolean
}

/** PostgreSQL's largest bigint: a provider that reports more has lost count. */
const maxCost = 9_223_372_036_854_775_807n

const endedCall = (
  { model }: AdmittedCall,
  open: OpenCall,
  { attempts, firstByteAt, provider }: CallState,
  { error, estimated, status, usage }: BillableUsage,
  now: number
): EndedCall => {
  const since = open.createdAt
  const cost = costOf(model.price, usage)
  return {
    ...open,
    provider,
    promptTokens: usage.prompt,
    completionTokens: usage.completion,
    cost: cost > maxCost ? maxCost : cost,
    status,
    error,
    latencyMs: now - since,
    firstByteMs: firstByteAt === undefined ? null : firstByteAt - since,
    attempts,
    estimated
  }
}

const failed = (status: number, error: string): BillableUsage => ({
  status,
  error,
  usage: { prompt: 0, completion: 0 },
  estimated: false
})

const billableUsage = Effect.fnUntraced(function* (
  admittedCall: AdmittedCall,
  state: CallState,
  exit: Exit.Exit<CallResult, CallError>
) {
  if (Exit.isSuccess(exit) && exit.value.result !== "unread") {
    if (exit.value.result === "broken") return failed(200, "stream_failed")
    return { status: 200, error: null, ...(yield* generatedUsage(admittedCall, state, exit.value)) }
  }
  if (Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause)) {
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    return error === undefined ? failed(500, "internal_error") : failed(statusOf(error), error.code)
  }
  // "A client that disconnects is billed for what was generated."
  if (!state.sent) return failed(499, "client_left")
  return { status: 499, error: "client_left", ...(yield* generatedUsage(admittedCall, state, undefined)) }
})

/** The usage that the provider reported, or else counted tokens. */
const generatedUsage = Effect.fnUntraced(function* (
  { admitted, model }: AdmittedCall,
  { reader }: CallState,
  result: CallResult | undefined
) {
  const answer = result?.result === "whole" ? result.answer : undefined
  const reported = answer === undefined ? reader?.usage() : answer.usage
  if (reported !== undefined) return { usage: reported, estimated: false }
  const generated = answer?.generated ?? reader?.generated() ?? ""
  const usage: Usage = {
    prompt: reader?.promptTokens() ?? (yield* promptTokens(admitted, model.imageTokens)),
    completion: yield* textTokens(generated)
  }
  return { usage, estimated: true }
})

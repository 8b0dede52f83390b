/**
 * A call from its admission to its settlement. It is promises and callbacks of undici, in which nothing of Effect's runtime
 * takes part but what waits for the database: a call is a few dozen microseconds of work, and fibers were as much again
 * (decision 24). Whatever the client does, it comes to its end: leaving only gives up what a provider was asked for.
 */
import { Cause, Effect, Exit } from "effect"
import { costOf } from "../../scoring/tokenPrices.ts"
import type { Call, CallError, Recipient } from "../../services/Gateway.ts"
import type { EndedCall, OpenCall } from "../../services/GatewayBilling.ts"
import type { InForce } from "./Configured.ts"
import type { Leaving } from "./leaving.ts"
import { letIn } from "./letIn.ts"
import type { LetIn } from "./letIn.ts"
import { countCall } from "./metrics.ts"
import { newCourse } from "./routing.ts"
import type { Course, Ending, Route } from "./routing.ts"
import { streamError } from "./styles/index.ts"
import type { Surroundings } from "./surroundings.ts"
import { failed, verdictOf } from "./verdict.ts"
import type { Verdict } from "./verdict.ts"

/** Where calls are paid. */
interface Till {
  readonly newCallId: (now: number) => string
  readonly reserve: (open: OpenCall) => Effect.Effect<void, CallError>
  /** The call is charged in the end, also where the database is away just now. */
  readonly settleSurely: (ended: EndedCall) => Effect.Effect<void>
}

/** The ledger counts no further; a provider that reports more has lost count. */
const mostCost = 9_223_372_036_854_775_807n
const atMostLedger = (cost: bigint): bigint => (cost > mostCost ? mostCost : cost)

const brokenStream = (call: Call) =>
  streamError(call.style, {
    status: 502,
    message: "The provider failed in the middle of the answer: nothing was charged.",
    code: "stream_failed",
    param: null,
    requestId: call.requestId
  })

const endedCall = (
  allowed: LetIn,
  open: OpenCall,
  course: Course,
  { error, estimated, status, usage }: Verdict,
  now: number
): EndedCall => {
  const since = open.createdAt
  const { firstByteAt } = course.progress
  return {
    ...open,
    provider: course.provider,
    promptTokens: usage.prompt,
    completionTokens: usage.completion,
    cost: atMostLedger(costOf(allowed.model.price, usage)),
    status,
    error,
    latencyMs: now - since,
    firstByteMs: firstByteAt === undefined ? null : firstByteAt - since,
    attempts: course.attempts,
    estimated
  }
}

const deliverRest = (ending: Ending, asked: Call, recipient: Recipient): void => {
  if (ending.ending === "whole") recipient.whole("application/json; charset=utf-8", ending.answer.bytes)
  else if (ending.ending === "broken") recipient.write(brokenStream(asked))
}

/** Of what cannot fail but by a fault of ours. */
const sure = async <A>(run: Promise<Exit.Exit<A>>): Promise<A> => {
  const exit = await run
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

export const makeConduct = (route: Route, { newCallId, reserve, settleSurely }: Till) => {
  const settle = (
    allowed: LetIn,
    open: OpenCall,
    course: Course,
    verdict: Verdict,
    { metrics, now, run }: Surroundings
  ): Promise<unknown> => {
    const ended = endedCall(allowed, open, course, verdict, now())
    const { firstByteMs, latencyMs } = ended
    const outcome = ended.error ?? "ok"
    countCall({ model: allowed.model.name, outcome, latencyMs, firstByteMs, ...verdict.usage }, metrics)
    return run(settleSurely(ended))
  }

  /** A failure means that nothing was delivered; an interruption, that the client has left. */
  return async (
    inForce: InForce,
    asked: Call,
    recipient: Recipient,
    around: Surroundings,
    leaving: Leaving
  ): Promise<Exit.Exit<void, CallError>> => {
    const admission = letIn(inForce, asked.style, asked.body)
    if (Exit.isFailure(admission)) return admission
    const allowed = admission.value
    around.annotate({ "gateway.model": allowed.model.name, "gateway.style": asked.style })
    const createdAt = around.now()
    const open: OpenCall = {
      callId: newCallId(createdAt),
      holder: asked.holder,
      requestId: asked.requestId,
      model: allowed.admitted.model,
      style: asked.style,
      stream: allowed.admitted.stream,
      reserved: allowed.atMost,
      createdAt
    }
    if (open.reserved > 0n) {
      const reserved = await around.run(reserve(open))
      if (Exit.isFailure(reserved)) return reserved
    }
    const course = newCourse()
    let exit: Exit.Exit<Ending, CallError>
    let verdict: Verdict
    try {
      exit = await route(asked, allowed, course, recipient, around, leaving)
      const judged = verdictOf(allowed, course, exit)
      verdict = Effect.isEffect(judged) ? await sure(around.run(judged)) : judged
    } catch (fault) {
      // A fault of ours frees what was reserved all the same.
      exit = Exit.die(fault)
      verdict = failed(500, "internal_error")
    }
    await settle(allowed, open, course, verdict, around)
    if (Exit.isFailure(exit)) return exit
    deliverRest(exit.value, asked, recipient)
    return Exit.void
  }
}

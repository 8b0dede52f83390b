/** The gateway: lets a call in, reserves, routes, settles, and says what happened in the style it was called in. */
import {
  Cause,
  Clock,
  DateTime,
  Duration,
  Effect,
  Exit,
  Latch,
  Layer,
  Option,
  Result,
  Schedule
} from "effect"
import { SecureRandom } from "effect/crypto"
import { costOf, pricePlaces } from "../../scoring/tokenPrices.ts"
import { Gateway } from "../../services/Gateway.ts"
import type { Call, CallError, ModelOffer, Recipient } from "../../services/Gateway.ts"
import { GatewayBilling } from "../../services/GatewayBilling.ts"
import type { EndedCall, OpenCall } from "../../services/GatewayBilling.ts"
import { hotSpan } from "../hotSpan.ts"
import { Configured } from "./Configured.ts"
import type { InForce } from "./Configured.ts"
import { makeCooldown } from "./cooldown.ts"
import { badCall, configuredOnly, letIn, unknownModel } from "./letIn.ts"
import type { LetIn } from "./letIn.ts"
import { countCall } from "./metrics.ts"
import { refusal, statusOf } from "./refusal.ts"
import { makeRouting, newCourse } from "./routing.ts"
import type { Course, Ending } from "./routing.ts"
import { admitCount, countPrompt, countText, roughCount, roughPrompt, streamError } from "./styles/index.ts"
import type { Admitted, Usage } from "./styles/types.ts"
import { modelNamed } from "./configuration.ts"

/** How often it is said of long calls that they are under way. */
const aliveInterval = Duration.minutes(1)

/** Settling is tried again for as long as the reservation would stay. */
const again = { schedule: Schedule.spaced("5 seconds"), times: 100 }

interface Verdict {
  readonly status: number
  readonly error: string | null
  readonly usage: Usage
  readonly estimated: boolean
}

const nothing: Usage = { prompt: 0, completion: 0 }

const failed = (status: number, error: string): Verdict => ({
  status,
  error,
  usage: nothing,
  estimated: false
})

/** A call whose tokens cannot be counted is settled all the same: its reservation must not stay. */
const counted = (count: () => Promise<number>, roughly: () => number) =>
  Effect.tryPromise(count).pipe(
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("the tokens of a call could not be counted: four bytes are taken for one", error),
        roughly()
      )
    )
  )

const countedPrompt = (admitted: Admitted, imageTokens: number) =>
  Effect.map(
    counted(
      () => countPrompt(admitted),
      () => roughPrompt(admitted)
    ),
    (tokens) => tokens + admitted.images * imageTokens
  )

/** What was generated, as the provider reports it, or else counted. */
const used = Effect.fnUntraced(function* (
  { admitted, model }: LetIn,
  { progress }: Course,
  ending: Ending | undefined
) {
  const reported = ending?.ending === "whole" ? ending.answer.usage : progress.reader?.usage()
  if (reported !== undefined) return { usage: reported, estimated: false }
  const generated =
    ending?.ending === "whole" ? ending.answer.generated : (progress.reader?.generated() ?? "")
  const usage: Usage = {
    prompt: progress.reader?.promptTokens() ?? (yield* countedPrompt(admitted, model.imageTokens)),
    completion: yield* counted(
      () => countText(generated),
      () => roughCount(generated)
    )
  }
  return { usage, estimated: true }
})

const verdictOf = Effect.fnUntraced(function* (
  allowed: LetIn,
  course: Course,
  exit: Exit.Exit<Ending, CallError>
) {
  if (Exit.isSuccess(exit) && exit.value.ending !== "unread") {
    if (exit.value.ending === "broken") return failed(200, "stream_failed")
    return { status: 200, error: null, ...(yield* used(allowed, course, exit.value)) } satisfies Verdict
  }
  if (Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause)) {
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    if (error === undefined) return failed(500, "internal_error")
    return failed(statusOf(error), error.code)
  }
  // "A client that disconnects is billed for what was generated."
  if (!course.progress.sent) return failed(499, "client_left")
  return { status: 499, error: "client_left", ...(yield* used(allowed, course, undefined)) } satisfies Verdict
})

const brokenStream = (call: Call) =>
  streamError(call.style, {
    status: 502,
    message: "The provider failed in the middle of the answer: nothing was charged.",
    code: "stream_failed",
    param: null,
    requestId: call.requestId
  })

/** The ledger counts no further; a provider that reports more has lost count. */
const mostCost = 9_223_372_036_854_775_807n
const atMostLedger = (cost: bigint): bigint => (cost > mostCost ? mostCost : cost)

const credits = (price: bigint): number => Number(price) / 10 ** pricePlaces

const make = Effect.gen(function* () {
  const configured = yield* Configured
  const billing = yield* GatewayBilling
  const random = yield* SecureRandom.SecureRandom
  const scope = yield* Effect.scope
  const route = makeRouting(makeCooldown())
  /** Calls with a reservation, by when they began. */
  const underWay = new Map<string, number>()
  /** Open while there may be such calls: without any, nothing is asked and no time is counted. */
  const busy = yield* Latch.make(false)

  const sayAlive = Effect.gen(function* () {
    // In one step, so that no call begins in between.
    if (underWay.size === 0) return void busy.closeUnsafe()
    const now = yield* Clock.currentTimeMillis
    const long = [...underWay].filter(([, since]) => now - since >= Duration.toMillis(aliveInterval) / 2)
    yield* billing.keepAlive(long.map(([id]) => id))
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("reservations could not be kept alive", cause)))
  yield* Effect.forkScoped(Effect.forever(Effect.delay(busy.whenOpen(sayAlive), aliveInterval)))

  const settled = (ended: EndedCall) =>
    Effect.gen(function* () {
      const charged = yield* billing.settle(ended)
      underWay.delete(ended.callId)
      if (charged < ended.cost) {
        yield* Effect.logWarning("a call cost more than it could: what was reserved was charged").pipe(
          Effect.annotateLogs({ call: ended.callId, model: ended.model, provider: ended.provider })
        )
      }
    })

  /** The answer does not wait for a database that is away; the reservation holds meanwhile. */
  const settleSurely = (ended: EndedCall) =>
    Effect.catchCause(settled(ended), (cause) =>
      Effect.logWarning("a call could not be settled: it is tried again", cause).pipe(
        Effect.andThen(
          Effect.sandbox(settled(ended)).pipe(
            Effect.retry(again),
            Effect.ensuring(Effect.sync(() => underWay.delete(ended.callId))),
            Effect.ignoreCause,
            Effect.delay("1 second"),
            Effect.forkIn(scope)
          )
        )
      )
    )

  const settle = Effect.fnUntraced(function* (
    allowed: LetIn,
    open: OpenCall,
    course: Course,
    exit: Exit.Exit<Ending, CallError>
  ) {
    const { error, estimated, status, usage } = yield* verdictOf(allowed, course, exit)
    const now = yield* Clock.currentTimeMillis
    const since = DateTime.toEpochMillis(open.createdAt)
    const { firstByteAt } = course.progress
    const ended: EndedCall = {
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
    yield* countCall({
      model: allowed.model.name,
      outcome: error ?? "ok",
      latencyMs: ended.latencyMs,
      firstByteMs: ended.firstByteMs,
      ...usage
    })
    // What costs nothing has nothing to wait for.
    yield* open.reserved === 0n
      ? Effect.forkIn(settleSurely(ended), scope, { startImmediately: true })
      : settleSurely(ended)
  })

  const callWith = Effect.fnUntraced(function* (inForce: InForce, asked: Call, recipient: Recipient) {
    const allowed = yield* letIn(inForce, asked.style, asked.body)
    yield* Effect.annotateCurrentSpan({ "gateway.model": allowed.model.name, "gateway.style": asked.style })
    const open: OpenCall = {
      callId: yield* random.uuidV7(),
      holder: asked.holder,
      requestId: asked.requestId,
      model: allowed.admitted.model,
      style: asked.style,
      stream: allowed.admitted.stream,
      reserved: allowed.atMost,
      createdAt: yield* DateTime.now
    }
    const course = newCourse()
    const reserve = Effect.tap(billing.reserve(open), () => {
      if (open.reserved === 0n) return Effect.void
      underWay.set(open.callId, DateTime.toEpochMillis(open.createdAt))
      return busy.open
    })
    const ending = yield* Effect.acquireUseRelease(
      reserve,
      () => route(asked, allowed, course, recipient),
      // Uninterruptible: a client that leaves does not leave without paying.
      (_, exit) => settle(allowed, open, course, exit)
    )
    if (ending.ending === "whole") {
      recipient.begin("application/json; charset=utf-8", ending.answer.bytes.length)
      recipient.write(ending.answer.bytes)
    } else if (ending.ending === "broken") recipient.write(brokenStream(asked))
  })

  const call: Gateway["Service"]["call"] = Effect.fnUntraced(function* (asked: Call, recipient: Recipient) {
    yield* Effect.acquireUseRelease(
      configuredOnly(configured.lend),
      (inForce) => callWith(inForce, asked, recipient),
      ({ giveBack }) => Effect.sync(giveBack)
    )
  }, hotSpan("Gateway.call"))

  const countTokens: Gateway["Service"]["countTokens"] = Effect.fn("Gateway.countTokens")(function* (body) {
    const { configuration } = yield* configuredOnly(configured.current)
    const read = admitCount("anthropic", body)
    if (Result.isFailure(read)) return yield* badCall(read.failure)
    const named = modelNamed(configuration, read.success.model)
    if (named === undefined) return yield* unknownModel(read.success.model)
    return yield* countedPrompt(read.success, named.model.imageTokens)
  })

  const models = Effect.map(
    configured.current,
    Option.match({
      onNone: (): ReadonlyArray<ModelOffer> => [],
      onSome: ({ configuration, since }) =>
        [...configuration.models.values()].map(({ maxOutputTokens, name, price }) => ({
          id: name,
          inputPrice: credits(price.input),
          outputPrice: credits(price.output),
          maxOutputTokens,
          since
        }))
    })
  )

  return Gateway.of({ call, countTokens, models, refusal })
})

export const layer = Layer.effect(Gateway, make)

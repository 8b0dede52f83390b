/** The gateway: lets a call in, reserves, routes, settles, and says what happened in the style it was called in. */
import {
  Cause,
  Clock,
  Context,
  DateTime,
  Duration,
  Effect,
  Exit,
  Latch,
  Layer,
  Option,
  Random,
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
import { counted } from "./counted.ts"
import { badCall, configuredOnly, letIn, unknownModel } from "./letIn.ts"
import type { LetIn } from "./letIn.ts"
import { countCall } from "./metrics.ts"
import { refusal, statusOf } from "./refusal.ts"
import { makeRouting, newCourse } from "./routing.ts"
import type { Course, Ending, Surroundings } from "./routing.ts"
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

const countedPrompt = (admitted: Admitted, imageTokens: number) =>
  Effect.map(
    counted(
      () => countPrompt(admitted),
      () => roughPrompt(admitted)
    ),
    (tokens) => tokens + admitted.images * imageTokens
  )

/** What was generated, counted where the provider did not report it. */
const estimate = Effect.fnUntraced(function* (
  { admitted, model }: LetIn,
  { progress }: Course,
  ending: Ending | undefined
) {
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

/** With what was generated, as the provider reports it, or else counted. */
const charged = (
  status: number,
  error: string | null,
  allowed: LetIn,
  course: Course,
  ending: Ending | undefined
): Effect.Effect<Verdict> => {
  const reported = ending?.ending === "whole" ? ending.answer.usage : course.progress.reader?.usage()
  return reported === undefined
    ? Effect.map(estimate(allowed, course, ending), (used) => ({ status, error, ...used }))
    : Effect.succeed({ status, error, usage: reported, estimated: false })
}

const verdictOf = (
  allowed: LetIn,
  course: Course,
  exit: Exit.Exit<Ending, CallError>
): Effect.Effect<Verdict> => {
  if (Exit.isSuccess(exit) && exit.value.ending !== "unread") {
    return exit.value.ending === "broken"
      ? Effect.succeed(failed(200, "stream_failed"))
      : charged(200, null, allowed, course, exit.value)
  }
  if (Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause)) {
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    return Effect.succeed(
      error === undefined ? failed(500, "internal_error") : failed(statusOf(error), error.code)
    )
  }
  // "A client that disconnects is billed for what was generated."
  return course.progress.sent
    ? charged(499, "client_left", allowed, course, undefined)
    : Effect.succeed(failed(499, "client_left"))
}

const brokenStream = (call: Call) =>
  streamError(call.style, {
    status: 502,
    message: "The provider failed in the middle of the answer: nothing was charged.",
    code: "stream_failed",
    param: null,
    requestId: call.requestId
  })

const surroundings = (context: Context.Context<never>): Surroundings => {
  const clock = Context.get(context, Clock.Clock)
  const random = Context.get(context, Random.Random)
  return {
    now: () => clock.currentTimeMillisUnsafe(),
    random: () => random.nextDoubleUnsafe(),
    metrics: context
  }
}

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

  const settle = (
    allowed: LetIn,
    open: OpenCall,
    course: Course,
    { error, estimated, status, usage }: Verdict,
    { metrics, now }: Surroundings
  ) => {
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
      latencyMs: now() - since,
      firstByteMs: firstByteAt === undefined ? null : firstByteAt - since,
      attempts: course.attempts,
      estimated
    }
    const { firstByteMs, latencyMs } = ended
    countCall(
      { model: allowed.model.name, outcome: error ?? "ok", latencyMs, firstByteMs, ...usage },
      metrics
    )
    return open.reserved === 0n ? billing.record(ended) : settleSurely(ended)
  }

  const reserve = (open: OpenCall) =>
    Effect.tap(billing.reserve(open), () => {
      underWay.set(open.callId, DateTime.toEpochMillis(open.createdAt))
      return busy.open
    })

  /** Uninterruptible but for what is asked of providers: a client that leaves does not leave without paying. */
  const callWith = Effect.fnUntraced(function* (
    inForce: InForce,
    asked: Call,
    recipient: Recipient,
    interruptible: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  ) {
    const around = surroundings(yield* Effect.context<never>())
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
      createdAt: DateTime.makeUnsafe(around.now())
    }
    const course = newCourse()
    if (open.reserved > 0n) yield* reserve(open)
    const exit = yield* Effect.exit(interruptible(route(asked, allowed, course, recipient, around)))
    yield* settle(allowed, open, course, yield* verdictOf(allowed, course, exit), around)
    const ending = yield* exit
    if (ending.ending === "whole") recipient.whole("application/json; charset=utf-8", ending.answer.bytes)
    else if (ending.ending === "broken") recipient.write(brokenStream(asked))
  })

  const call: Gateway["Service"]["call"] = (asked, recipient) =>
    Effect.uninterruptibleMask((interruptible) =>
      Effect.flatMap(configuredOnly(configured.lend), (inForce) =>
        Effect.ensuring(
          callWith(inForce, asked, recipient, interruptible),
          Effect.sync(() => inForce.giveBack())
        )
      )
    ).pipe(hotSpan("Gateway.call"))

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

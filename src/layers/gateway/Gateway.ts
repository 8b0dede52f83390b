/** The gateway: lets a call in, reserves, routes, settles, and says what happened in the style it was called in. */
import { Clock, Duration, Effect, Exit, Latch, Layer, Option, Result, Schedule } from "effect"
import type { Context } from "effect"
import { pricePlaces } from "../../scoring/tokenPrices.ts"
import { Gateway } from "../../services/Gateway.ts"
import type { Call, CallError, ModelOffer, Recipient } from "../../services/Gateway.ts"
import { GatewayBilling } from "../../services/GatewayBilling.ts"
import type { EndedCall, OpenCall } from "../../services/GatewayBilling.ts"
import { hotSpan } from "../hotSpan.ts"
import { makeCallIds } from "./callIds.ts"
import { makeConduct } from "./conduct.ts"
import { modelNamed } from "./configuration.ts"
import { Configured } from "./Configured.ts"
import { makeCooldown } from "./cooldown.ts"
import { Leaving } from "./leaving.ts"
import { badCall, configuredOnly, leastCost, noGateway, unknownModel } from "./letIn.ts"
import { inStyle, refusal } from "./refusal.ts"
import { makeRouting } from "./routing.ts"
import { admitCount } from "./styles/index.ts"
import { makeSurroundings } from "./surroundings.ts"
import { countedPrompt } from "./verdict.ts"

/** How often it is said of long calls that they are under way. */
const aliveInterval = Duration.minutes(1)

/** Settling is tried again for as long as the reservation would stay. */
const again = { schedule: Schedule.spaced("5 seconds"), times: 100 }

const credits = (price: bigint): number => Number(price) / 10 ** pricePlaces

const make = Effect.gen(function* () {
  const configured = yield* Configured
  const billing = yield* GatewayBilling
  const scope = yield* Effect.scope
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

  const reserve = (open: OpenCall) =>
    Effect.tap(billing.reserve(open), () => {
      underWay.set(open.callId, open.createdAt)
      return busy.open
    })

  const conduct = makeConduct(makeRouting(makeCooldown()), {
    newCallId: makeCallIds(),
    reserve,
    settleSurely
  })

  const surroundings = makeSurroundings()
  /** Under way. */
  let calls = 0
  const none = yield* Latch.make(true)
  // They are settled before there is nobody to do it.
  yield* Effect.addFinalizer(() => none.await)

  const begin = (
    asked: Call,
    recipient: Recipient,
    within: Context.Context<never>,
    ended: (exit: Exit.Exit<void, CallError>) => void
  ) => {
    const lent = configured.lend()
    if (Option.isNone(lent)) {
      ended(Exit.fail(noGateway()))
      return () => {}
    }
    const leaving = new Leaving()
    calls += 1
    none.closeUnsafe()
    const end = (exit: Exit.Exit<void, CallError>) => {
      lent.value.giveBack()
      calls -= 1
      if (calls === 0) none.openUnsafe()
      ended(exit)
    }
    const around = surroundings(within, asked.requestId)
    void conduct(lent.value.inForce, asked, recipient, around, leaving).then(end, (defect) =>
      end(Exit.die(defect))
    )
    return () => leaving.leave()
  }

  const call: Gateway["Service"]["call"] = (asked, recipient) =>
    Effect.withFiber<void, CallError>(({ context: within }) =>
      Effect.callback((resume) => {
        const whenLeft = Latch.makeUnsafe(false)
        const leave = begin(asked, recipient, within, (exit) => {
          whenLeft.openUnsafe()
          resume(exit)
        })
        return Effect.andThen(Effect.sync(leave), whenLeft.await)
      })
    ).pipe(hotSpan("Gateway.call"))

  const countTokens: Gateway["Service"]["countTokens"] = Effect.fn("Gateway.countTokens")(function* (body) {
    const { configuration } = yield* configuredOnly(configured.current)
    const read = admitCount("anthropic", body)
    if (Result.isFailure(read)) return yield* badCall(read.failure)
    const named = modelNamed(configuration, read.success.model)
    if (named === undefined) return yield* unknownModel(read.success.model)
    return yield* countedPrompt(read.success, named.model.imageTokens)
  })

  const checkCredit: Gateway["Service"]["checkCredit"] = Effect.fn("Gateway.checkCredit")(function* (holder) {
    const { configuration } = yield* configuredOnly(configured.current)
    const least = leastCost(configuration)
    if (least > 0n) yield* billing.covers(holder, least)
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

  return Gateway.of({ call, checkCredit, countTokens, models, refusal, inStyle })
})

export const layer = Layer.effect(Gateway, make)

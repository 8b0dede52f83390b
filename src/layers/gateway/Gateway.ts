/** The gateway's service: calls as streams, what keeps and settles their reservations, models and errors. */
import {
  Cause,
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  Latch,
  Layer,
  Option,
  Queue,
  Result,
  Schedule,
  Stream
} from "effect"
import { pricePlaces } from "../../scoring/tokenPrices.ts"
import { Gateway } from "../../services/Gateway.ts"
import type { Answer, CallError, ModelOffer } from "../../services/Gateway.ts"
import { GatewayBilling } from "../../services/GatewayBilling.ts"
import type { EndedCall, OpenCall } from "../../services/GatewayBilling.ts"
import { cheapSpan } from "../cheapSpan.ts"
import { admitCount, badCall, configuredOnly, minCost, unknownModel } from "./admitCall.ts"
import { errorAnswer, inStyle } from "./errors.ts"
import { promptTokens } from "./tokens.ts"
import type { ClientStream } from "./attempt.ts"
import { modelNamed } from "./configuration.ts"
import { makeExecuteCall } from "./executeCall.ts"
import type { CallResult } from "./fallback.ts"
import { GatewayConfig } from "./GatewayConfig.ts"

const json = "application/json; charset=utf-8"
const eventStream = "text/event-stream; charset=utf-8"

/** Pieces of a stream that wait for a client that has no room. */
const maxQueued = 16
/** A client that takes nothing for so long has left. */
const clientTimeout = Duration.minutes(1)

/** How often it is said of long calls that they are under way. */
const aliveInterval = Duration.minutes(1)

/** Settling is tried again for as long as the reservation would stay. */
const again = { schedule: Schedule.spaced("5 seconds"), times: 100 }

const credits = (price: bigint): number => Number(price) / 10 ** pricePlaces

const make = Effect.gen(function* () {
  const config = yield* GatewayConfig
  const billing = yield* GatewayBilling
  const scope = yield* Effect.scope
  /** Calls with a reservation, by when they began. */
  const underWay = new Map<string, number>()
  /** Open while there may be such calls: without any, nothing is asked and no time is counted. */
  const busy = yield* Latch.make(false)

  const renewReservations = Effect.gen(function* () {
    // In one step, so that no call begins in between.
    if (underWay.size === 0) return void busy.closeUnsafe()
    const now = yield* Clock.currentTimeMillis
    const long = [...underWay].filter(([, since]) => now - since >= Duration.toMillis(aliveInterval) / 2)
    yield* billing.keepAlive(long.map(([id]) => id))
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("reservations could not be kept alive", cause)))
  yield* Effect.forkScoped(Effect.forever(Effect.delay(busy.whenOpen(renewReservations), aliveInterval)))

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
  const settle = (ended: EndedCall) =>
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

  const executeCall = yield* makeExecuteCall({ reserve, settle })

  const call: Gateway["Service"]["call"] = Effect.fnUntraced(function* (asked) {
    const answer = yield* Deferred.make<Answer, CallError>()
    const bytes = yield* Queue.bounded<Uint8Array, Cause.Done>(maxQueued)
    const stream: Answer = { stream: true, contentType: eventStream, body: Stream.fromQueue(bytes) }
    const client: ClientStream = {
      begin: Effect.asVoid(Deferred.succeed(answer, stream)),
      write: (chunk) =>
        Effect.timeoutOrElse(Queue.offer(bytes, chunk), {
          duration: clientTimeout,
          orElse: () => Effect.succeed(false)
        })
    }
    const ended = (exit: Exit.Exit<CallResult, CallError>) =>
      Exit.match(exit, {
        // Where the answer has begun, a stream that fails breaks the connection: what was delivered is not the whole.
        onFailure: (cause) =>
          Effect.andThen(Deferred.failCause(answer, cause), Queue.failCause(bytes, Cause.interrupt())),
        onSuccess: (result) => {
          if (result.result === "whole") {
            return Deferred.succeed(answer, { stream: false, contentType: json, body: result.answer.bytes })
          }
          return result.result === "unread" ? Queue.failCause(bytes, Cause.interrupt()) : Queue.end(bytes)
        }
      })
    // Its client leaves by closing the scope.
    yield* executeCall(asked, client).pipe(
      cheapSpan("Gateway.call"),
      Effect.onExit((exit) => Effect.asVoid(ended(exit))),
      Effect.ignoreCause,
      Effect.forkScoped
    )
    return yield* Deferred.await(answer)
  })

  const countTokens: Gateway["Service"]["countTokens"] = Effect.fn("Gateway.countTokens")(function* (body) {
    const { configuration } = yield* configuredOnly(config.current)
    const read = admitCount("anthropic", body)
    if (Result.isFailure(read)) return yield* badCall(read.failure)
    const named = modelNamed(configuration, read.success.model)
    if (named === undefined) return yield* unknownModel(read.success.model)
    return yield* promptTokens(read.success, named.model.imageTokens)
  })

  const checkCredit: Gateway["Service"]["checkCredit"] = Effect.fn("Gateway.checkCredit")(function* (holder) {
    const { configuration } = yield* configuredOnly(config.current)
    const least = minCost(configuration)
    if (least > 0n) yield* billing.covers(holder, least)
  })

  const models = Effect.map(
    config.current,
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

  return Gateway.of({ call, checkCredit, countTokens, models, errorAnswer, inStyle })
})

export const layer = Layer.effect(Gateway, make)

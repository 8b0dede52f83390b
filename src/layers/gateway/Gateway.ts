/** The gateway as a service: calls, renewal and settlement of their reservations, models and errors. */
import {
  Cause,
  Clock,
  DateTime,
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
import type { TokenPrice } from "../../scoring/tokenPrices.ts"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { nearest } from "../../services/domain/nearest.ts"
import { Gateway } from "../../services/Gateway.ts"
import type { Answer, Call, CallError, ModelOffer, RouteHealth } from "../../services/Gateway.ts"
import { GatewayBilling } from "../../services/GatewayBilling.ts"
import type { EndedCall, OpenCall, Settled } from "../../services/GatewayBilling.ts"
import { admitCall, badCall, configuredOnly, minCost, modelFor } from "./admitCall.ts"
import type { AdmittedCall } from "./admitCall.ts"
import { admitCount } from "./callBody.ts"
import { errorAnswer, inStyle, moneyHeaders, withRemedy } from "./errors.ts"
import { promptTokens } from "./tokens.ts"
import type { ClientStream } from "./attempt.ts"
import { makeCircuitBreaker } from "./circuitBreaker.ts"
import { makeExecuteCall } from "./executeCall.ts"
import { GatewayConfig } from "./GatewayConfig.ts"
import type { Snapshot } from "./GatewayConfig.ts"

const json = "application/json; charset=utf-8"
const eventStream = "text/event-stream; charset=utf-8"

/** Shows the price of a part of the tokens only if it differs from the price of the whole. */
const pricesOf = (price: TokenPrice): Readonly<Record<string, number>> => {
  const { cacheWrite, cacheWriteLong, cachedInput, image, input, output, reasoning } = price
  return {
    input: credits(input),
    output: credits(output),
    ...(cachedInput !== input && { cached_input: credits(cachedInput) }),
    ...(cacheWrite !== input && { cache_write: credits(cacheWrite) }),
    ...(cacheWriteLong !== cacheWrite && { cache_write_1h: credits(cacheWriteLong) }),
    ...(reasoning !== output && { reasoning: credits(reasoning) }),
    ...(image > 0n && { image: credits(image) })
  }
}

/** The maximum of a stream's chunks that wait for a slow client. */
const maxQueued = 16
/** A client that reads nothing for this long has left. */
const clientTimeout = Duration.minutes(1)

/** The reservations of long calls are renewed at this interval. */
const aliveInterval = Duration.minutes(1)

/** A settlement is retried for as long as its reservation exists. */
const settleRetries = { schedule: Schedule.spaced("5 seconds"), times: 100 }

/** A call that is no stream delivers only its result. */
const noStream: ClientStream = { begin: Effect.void, write: () => Effect.succeed(true) }

const atMost = (cost: bigint, reserved: bigint): bigint => (cost < reserved ? cost : reserved)

const credits = (price: bigint): number => Number(price) / 10 ** pricePlaces

const instantText = (millis: number | undefined): string | null =>
  millis === undefined ? null : DateTime.formatIso(DateTime.makeUnsafe(millis))

const wholeMillis = (average: number | undefined): number | null =>
  average === undefined ? null : Math.round(average)

const make = Effect.gen(function* () {
  const config = yield* GatewayConfig
  const billing = yield* GatewayBilling
  const scope = yield* Effect.scope
  /** The beginning of each call with a reservation. */
  const openCalls = new Map<string, number>()
  /** The latch is closed while no call has a reservation, so that an idle instance sends no statement. */
  const busy = yield* Latch.make(false)

  const renewReservations = Effect.gen(function* () {
    // The check and the closing are one synchronous step: no call can begin in between.
    if (openCalls.size === 0) return void busy.closeUnsafe()
    const now = yield* Clock.currentTimeMillis
    const long = [...openCalls].filter(([, since]) => now - since >= Duration.toMillis(aliveInterval) / 2)
    yield* billing.keepAlive(long.map(([id]) => id))
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("reservations could not be kept alive", cause)))
  yield* Effect.forkScoped(Effect.forever(Effect.delay(busy.whenOpen(renewReservations), aliveInterval)))

  const settled = (ended: EndedCall) =>
    Effect.gen(function* () {
      const settled = yield* billing.settle(ended)
      openCalls.delete(ended.callId)
      if (settled.charged < ended.cost) {
        yield* Effect.logWarning("a call cost more than its reservation, which was charged whole").pipe(
          Effect.annotateLogs({ call: ended.callId, model: ended.model, provider: ended.provider })
        )
      }
      return settled
    })

  /** The answer does not wait for an unreachable database: the reservation stays, and the settlement is retried. */
  const settle = (ended: EndedCall) =>
    Effect.catchCause(settled(ended), (cause) =>
      Effect.logWarning("the charge of a call could not be recorded; it is tried again", cause).pipe(
        Effect.andThen(
          Effect.sandbox(settled(ended)).pipe(
            Effect.retry(settleRetries),
            Effect.ensuring(Effect.sync(() => openCalls.delete(ended.callId))),
            Effect.ignoreCause,
            Effect.delay("1 second"),
            Effect.forkIn(scope)
          )
        ),
        Effect.as<Settled>({ charged: atMost(ended.cost, ended.reserved), left: undefined })
      )
    )

  const reserve = (open: OpenCall) =>
    Effect.tap(billing.reserve(open), () => {
      openCalls.set(open.callId, open.createdAt)
      return busy.open
    })

  const circuitBreaker = makeCircuitBreaker()
  const executeCall = yield* makeExecuteCall({ reserve, settle }, circuitBreaker)

  const whole = (call: Call, admittedCall: AdmittedCall) =>
    Effect.flatMap(
      executeCall(call, admittedCall, () => noStream),
      ({ result, settled }) => {
        if (result.result !== "whole") {
          return Effect.die(new Error(`a call that is no stream was ${result.result}`))
        }
        const headers =
          settled === undefined ? {} : moneyHeaders({ cost: settled.charged, left: settled.left })
        const answer: Answer = { stream: false, contentType: json, headers, body: result.answer.bytes }
        return Effect.succeed(answer)
      }
    )

  /** Answers as soon as the stream begins. The scope closes when the client leaves, which interrupts the call. */
  const streamed = Effect.fnUntraced(function* (call: Call, admittedCall: AdmittedCall) {
    const answer = yield* Deferred.make<Answer, CallError>()
    const bytes = yield* Queue.bounded<Uint8Array, Cause.Done>(maxQueued)
    const stream = (left: bigint | undefined): Answer => ({
      stream: true,
      contentType: eventStream,
      headers: moneyHeaders({ maxCost: admittedCall.maxCost, left }),
      body: Stream.fromQueue(bytes)
    })
    const client = (left: bigint | undefined): ClientStream => ({
      begin: Effect.asVoid(Effect.suspend(() => Deferred.succeed(answer, stream(left)))),
      write: (chunk) =>
        Queue.isFullUnsafe(bytes)
          ? Effect.timeoutOrElse(Queue.offer(bytes, chunk), {
              duration: clientTimeout,
              orElse: () => Effect.succeed(false)
            })
          : Queue.offer(bytes, chunk)
    })
    yield* executeCall(call, admittedCall, client).pipe(
      // After the answer has begun, a failure breaks the connection, so that nobody takes a part for the whole.
      Effect.onExit((exit) =>
        Exit.isSuccess(exit) && exit.value.result.result !== "unread"
          ? Queue.end(bytes)
          : Queue.failCause(bytes, Cause.interrupt())
      ),
      Effect.onError((cause) => Deferred.failCause(answer, cause)),
      Effect.ignoreCause,
      Effect.forkScoped
    )
    return yield* Deferred.await(answer)
  })

  const call: Gateway["Service"]["call"] = Effect.fnUntraced(function* (request) {
    const snapshot = yield* configuredOnly(config.acquire)
    const admittedCall = yield* admitCall(snapshot, request)
    return yield* admittedCall.admitted.stream
      ? streamed(request, admittedCall)
      : whole(request, admittedCall)
  })

  const countTokens: Gateway["Service"]["countTokens"] = Effect.fn("Gateway.countTokens")(
    function* (holder, body) {
      const snapshot = yield* configuredOnly(config.current)
      const read = admitCount(body)
      if (Result.isFailure(read)) return yield* badCall(read.failure)
      const { model } = yield* modelFor(snapshot, holder, read.success.model)
      return yield* promptTokens(read.success, model.imageTokens)
    }
  )

  const checkCredit: Gateway["Service"]["checkCredit"] = Effect.fn("Gateway.checkCredit")(function* (holder) {
    const { configuration } = yield* configuredOnly(config.current)
    const least = minCost(configuration)
    if (least > 0n) {
      yield* Effect.mapError(billing.covers(holder, least), (error) => withRemedy(error, () => 0))
    }
  })

  const models = Effect.map(
    config.current,
    Option.match({
      onNone: (): ReadonlyArray<ModelOffer> => [],
      onSome: ({ configuration, since }) =>
        [...configuration.models.values()].map(
          ({ capabilities, contextLength, embeds, maxOutputTokens, name, price }) => ({
            id: name,
            prices: pricesOf(price),
            maxOutputTokens: embeds ? undefined : maxOutputTokens,
            contextLength,
            capabilities,
            since
          })
        )
    })
  )

  const requireModels: Gateway["Service"]["requireModels"] = Effect.fnUntraced(function* (names) {
    const known = (yield* models).map(({ id }) => id)
    const errors = names.flatMap((name, index) => {
      if (known.includes(name)) return []
      const meant = nearest(name, known)
      const question = meant === undefined ? "" : ` (did you mean ${meant}?)`
      const message = `There is no model ${JSON.stringify(name.slice(0, 100))}${question}: GET /api/v1/llm/v1/models lists them`
      return [{ path: `allowed_models.${index}`, message }]
    })
    if (errors.length === 0) return
    const detail = errors.map(({ message, path }) => `${path}: ${message}`).join("; ")
    return yield* new InvalidRequest({ detail: detail.slice(0, 2000), errors })
  })

  const healthIn = ({ configuration, upstreams }: Snapshot, now: number): ReadonlyArray<RouteHealth> =>
    [...configuration.models.values()].flatMap(({ name, routes }) =>
      routes.map((route): RouteHealth => {
        const { provider } = route
        const state = circuitBreaker.stateOf(route, now)
        const ready = upstreams.get(provider.name)?.keys.ready(now).length ?? 0
        return {
          model: name,
          provider: provider.name,
          route: route.model,
          priority: route.priority,
          weight: route.weight,
          health: state.health,
          failures_in_a_row: state.failuresInARow,
          cooling_until: instantText(state.coolingUntil),
          keys: provider.keys.length,
          keys_cooling: provider.keys.length - ready,
          attempts: state.attempts,
          failed_attempts: state.failedAttempts,
          latency_ms: wholeMillis(state.latency),
          first_byte_ms: wholeMillis(state.firstByte),
          last_failure: state.lastFailure?.outcome ?? null,
          last_failure_at: instantText(state.lastFailure?.at)
        }
      })
    )

  const routes = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    return Option.match(yield* config.current, { onNone: () => [], onSome: (found) => healthIn(found, now) })
  })

  return Gateway.of({ call, checkCredit, countTokens, models, requireModels, routes, errorAnswer, inStyle })
})

export const layer = Layer.effect(Gateway, make)

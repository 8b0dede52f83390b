/**
 * The lane of usual calls of models, in front of the router: one with a key, and with a body that says how long it is. It is
 * answered in callbacks, without middleware and router, and without a fiber where its key was looked up within the last half
 * second and its limit has a use leased: that takes a third of the processor time of a call away (decision 24). All others go
 * on to the router, untouched, which answers them alike (handlers/models.ts).
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Cause, Clock, Context, Effect, Exit, Layer, LogLevel, Option, References, Result } from "effect"
import { Gateway } from "../services/Gateway.ts"
import type { CallError, Style } from "../services/Gateway.ts"
import type { KeyHolder } from "../services/GatewayKeys.ts"
import { Health } from "../services/Health.ts"
import { Settings } from "../services/Settings.ts"
import { durationsOf, hasOneHost, refusalOf, requestIdOf } from "./everyRequest.ts"
import { sentCredential } from "./gatewayCredential.ts"
import { gatewayPaths } from "./gatewayPaths.ts"
import { mediaType } from "./middleware/requestBody.ts"
import {
  isKeyRefused,
  largestBody,
  makeAdmission,
  recipientOf,
  refuse,
  versionHeaders
} from "./modelCalls.ts"
import { NodeServer } from "./NodeServer.ts"
import { trustedProxies } from "./trustedProxies.ts"
import { UnidentifiedLimit } from "./UnidentifiedLimit.ts"
import { joined } from "./wholeBody.ts"

const routeTo = (path: string, style: Style) => ({ path, style, durations: durationsOf("POST", path) })

type Route = ReturnType<typeof routeTo>

const chat = routeTo(gatewayPaths.chat, "openai")
const messages = routeTo(gatewayPaths.messages, "anthropic")

const routeOf = ({ method, url = "" }: IncomingMessage): Route | undefined => {
  if (method !== "POST") return undefined
  const query = url.indexOf("?")
  const path = query === -1 ? url : url.slice(0, query)
  if (path === chat.path) return chat
  return path === messages.path ? messages : undefined
}

const json = "application/json"
const mostBytes = Number(largestBody)

/** A body of JSON, as it is, that says how long it is, and is not too long; whoever asks whether to go on is told so by the router. */
const isUsual = ({ headers }: IncomingMessage): boolean =>
  headers.expect === undefined &&
  headers["content-length"] !== undefined &&
  Number(headers["content-length"]) <= mostBytes &&
  headers["content-encoding"] === undefined &&
  (headers["content-type"] === json || mediaType(headers["content-type"]) === json)

/** What is seen of every request: spans and log lines of each are the router's. */
const isWatched = (context: Context.Context<never>): boolean =>
  Context.get(context, References.TracerEnabled) ||
  !LogLevel.isGreaterThan(Context.get(context, References.MinimumLogLevel), "Debug")

const make = Effect.gen(function* () {
  const gateway = yield* Gateway
  const { admitted, countAgain } = yield* makeAdmission
  const health = yield* Health
  const unidentified = yield* UnidentifiedLimit
  const { countedAddress } = trustedProxies((yield* Settings).trustedProxies)
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const run = Effect.runCallbackWith(context)

  /** Whose call it is; a key that is refused counts by its address. */
  const letIn = (credential: string, { headers, socket }: IncomingMessage) => {
    const holder = admitted(credential, headers)
    return Effect.isEffect(holder)
      ? Effect.tapError(holder, (error) =>
          isKeyRefused(error)
            ? unidentified.take(countedAddress(socket.remoteAddress, headers["x-forwarded-for"]?.toString()))
            : Effect.void
        )
      : holder
  }

  const failed = async (
    style: Style,
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    cause: Cause.Cause<CallError>
  ) => {
    const refused = refusalOf(cause).pipe(Effect.annotateLogs("request_id", requestId))
    const why = await Effect.runPromiseWith(context)(refused)
    refuse(request, response, requestId, gateway.inStyle(style, why, requestId))
  }

  const serve = (
    { durations, style }: Route,
    credential: string,
    request: IncomingMessage,
    response: ServerResponse
  ) => {
    const started = clock.currentTimeNanosUnsafe()
    const requestId = requestIdOf(request.headers["x-request-id"]?.toString())
    let leave = () => {}

    const count = () => {
      const elapsed = Number(clock.currentTimeNanosUnsafe() - started) / 1e9
      durations(response.statusCode).updateUnsafe(elapsed, context)
    }

    const ended = (exit: Exit.Exit<void, CallError>) => {
      if (Exit.isSuccess(exit)) {
        if (!response.writableEnded) response.end()
        return count()
      }
      if (Cause.hasInterrupts(exit.cause)) return
      // What was delivered must not be taken for the whole.
      if (response.headersSent) return void response.destroy()
      const error = Cause.findErrorOption(exit.cause)
      if (Option.isNone(error)) {
        return void failed(style, request, response, requestId, exit.cause).then(count)
      }
      refuse(request, response, requestId, gateway.refusal(style, error.value, requestId))
      count()
    }

    const read = (holder: KeyHolder) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => void chunks.push(chunk))
      request.on("end", () => {
        const call = {
          style,
          holder,
          body: joined(chunks),
          requestId,
          versionHeaders: versionHeaders(request.headers)
        }
        leave = gateway.begin(call, recipientOf(response, style, requestId), context, (exit) => {
          const error = Exit.findErrorOption(exit)
          if (Option.isNone(error)) return ended(exit)
          run(countAgain(holder, call.body, error.value), { onExit: () => ended(exit) })
        })
      })
    }

    response.on("close", () => {
      if (!response.writableEnded) leave()
    })
    const holder = letIn(credential, request)
    if (!Effect.isEffect(holder)) return read(holder)
    run(Effect.annotateLogs(holder, "request_id", requestId), {
      onExit: (exit) => {
        if (Exit.isFailure(exit)) ended(exit)
        else if (!response.destroyed) read(exit.value)
      }
    })
  }

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const route = routeOf(request)
    if (route === undefined || health.isDraining() || !isUsual(request) || !hasOneHost(request)) return false
    // One that waits behind another of its connection is not told when that is gone.
    if (response.socket === null) return false
    const credential = Result.getOrUndefined(sentCredential(request.headers))
    if (credential === undefined) return false
    serve(route, credential, request, response)
    return true
  }
})

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    if (isWatched(yield* Effect.context<never>())) return
    const server = yield* NodeServer
    server.lane = yield* make
    // Its calls had the server's time to end by themselves (see server.ts for the order).
    yield* Effect.addFinalizer(() => Effect.sync(() => server.hangUp()))
  })
)

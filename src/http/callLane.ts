/**
 * The lane of usual calls of models, in front of the router: one with a key, and with a body that says how long it is. It is
 * answered in callbacks, without middleware and router, and without a fiber where its key was looked up within the last half
 * second and its limit has a use leased: that takes a third of the processor time of a call away (decision 24). All others go
 * on to the router, untouched, which answers them alike (handlers/models.ts).
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Cause, Clock, Context, Effect, Exit, Layer, LogLevel, Option, References, Result } from "effect"
import { Gateway } from "../services/Gateway.ts"
import type { Answer, CallError, Style } from "../services/Gateway.ts"
import { GatewayKeys } from "../services/GatewayKeys.ts"
import type { KeyHolder } from "../services/GatewayKeys.ts"
import { Health } from "../services/Health.ts"
import { Limits } from "../services/Limits.ts"
import { durationsOf, hasOneHost, refusalOf, requestIdOf, securityHeaders } from "./everyRequest.ts"
import { sentCredential } from "./gatewayCredential.ts"
import { gatewayPaths } from "./gatewayPaths.ts"
import { mediaType } from "./middleware/requestBody.ts"
import { largestBody, recipientOf, versionHeaders } from "./modelCalls.ts"
import { NodeServer } from "./NodeServer.ts"
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

/** Refused before its body is read: a connection that is to be closed is not, while bytes of it are still on their way. */
const onceRead = (request: IncomingMessage, answer: () => void): void => {
  if (request.complete) return answer()
  request.once("end", answer)
  request.resume()
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

const write = (response: ServerResponse, requestId: string, { body, headers, status }: Answer): void => {
  if (response.destroyed) return
  response.writeHead(status, {
    ...securityHeaders,
    "cache-control": "no-store",
    ...headers,
    "x-request-id": requestId,
    "content-length": Buffer.byteLength(body)
  })
  response.end(body)
}

/** What is seen of every request: spans and log lines of each are the router's. */
const isWatched = (context: Context.Context<never>): boolean =>
  Context.get(context, References.TracerEnabled) ||
  !LogLevel.isGreaterThan(Context.get(context, References.MinimumLogLevel), "Debug")

const make = Effect.gen(function* () {
  const gateway = yield* Gateway
  const keys = yield* GatewayKeys
  const limits = yield* Limits
  const health = yield* Health
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const run = Effect.runCallbackWith(context)

  /** Whose call it is; at once, where nothing has to be waited for to know that it is let in. */
  const letIn = (credential: string): KeyHolder | Effect.Effect<KeyHolder, CallError> => {
    const known = keys.known(credential)
    if (known !== undefined && limits.takeLeased("gateway_calls", known.keyId)) return known
    return Effect.tap(
      known === undefined ? keys.authenticate(credential) : Effect.succeed(known),
      ({ keyId }) => limits.take("gateway_calls", keyId)
    )
  }

  const failed = async (
    style: Style,
    response: ServerResponse,
    requestId: string,
    cause: Cause.Cause<CallError>
  ) => {
    const refused = refusalOf(cause).pipe(Effect.annotateLogs("request_id", requestId))
    const why = await Effect.runPromiseWith(context)(refused)
    write(response, requestId, gateway.inStyle(style, why, requestId))
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
      if (Option.isNone(error)) return void failed(style, response, requestId, exit.cause).then(count)
      write(response, requestId, gateway.refusal(style, error.value, requestId))
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
        leave = gateway.begin(call, recipientOf(response, style, requestId), context, ended)
      })
    }

    response.on("close", () => {
      if (!response.writableEnded) leave()
    })
    const holder = letIn(credential)
    if (!Effect.isEffect(holder)) return read(holder)
    run(Effect.annotateLogs(holder, "request_id", requestId), {
      onExit: (exit) => {
        if (Exit.isFailure(exit)) onceRead(request, () => ended(exit))
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

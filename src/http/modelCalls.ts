/**
 * Who may call a model, what the call is read from, and what is written to, whoever takes it: the router's handler, or the lane
 * in front of it.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { ByteSize, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Gateway } from "../services/Gateway.ts"
import type { Answer, CallError, Recipient, Style } from "../services/Gateway.ts"
import { GatewayKeys } from "../services/GatewayKeys.ts"
import type { KeyHolder } from "../services/GatewayKeys.ts"
import { Limits } from "../services/Limits.ts"
import { securityHeaders } from "./everyRequest.ts"

export const largestBody = ByteSize.mebibytes(10)

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** Reading and parsing so much costs as much as asking the database a question. */
const largeBody = 64 * 1024

/** Whether more than that may be on its way: a body that comes in chunks may be as long as any. */
const mayBeLarge = (headers: Headers): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > largeBody

/** Errors that are found by parsing the body. */
const parsedInVain: ReadonlySet<CallError["_tag"]> = new Set(["BadCall", "UnknownModel", "CreditTooLow"])

/** Whether a call has come to nothing before any limit counted it. */
export const isKeyRefused = (error: CallError): boolean =>
  error._tag === "InvalidGatewayKey" || error._tag === "GatewayDisabled"

/** What is asked of every call before its body is read: its key, the limits, and for a large body credit. */
export const makeAdmission = Effect.gen(function* () {
  const gateway = yield* Gateway
  const keys = yield* GatewayKeys
  const limits = yield* Limits

  const ofKey = ({ keyId }: KeyHolder) => limits.take("gateway_calls", keyId)
  const ofAgent = ({ agentId }: KeyHolder) => limits.take("gateway_agent_calls", agentId)

  /** Whose request it is, counted; at once, where nothing has to be waited for to know that it is let in. */
  const counted = (credential: string): KeyHolder | Effect.Effect<KeyHolder, CallError> => {
    const known = keys.known(credential)
    const holder = known === undefined ? keys.authenticate(credential) : Effect.succeed(known)
    if (known === undefined || !limits.takeLeased("gateway_calls", known.keyId)) {
      return holder.pipe(Effect.tap(ofKey), Effect.tap(ofAgent))
    }
    return limits.takeLeased("gateway_agent_calls", known.agentId) ? known : Effect.tap(holder, ofAgent)
  }

  /** The same for a call, which is paid. */
  const admitted = (
    credential: string,
    headers: Headers
  ): KeyHolder | Effect.Effect<KeyHolder, CallError> => {
    const holder = counted(credential)
    if (!mayBeLarge(headers)) return holder
    return Effect.tap(Effect.isEffect(holder) ? holder : Effect.succeed(holder), gateway.checkCredit)
  }

  /** A large body that was parsed in vain counts once more. */
  const countAgain = (holder: KeyHolder, body: Uint8Array, error: CallError): Effect.Effect<void> =>
    body.length > largeBody && parsedInVain.has(error._tag)
      ? Effect.andThen(Effect.ignore(ofKey(holder)), Effect.ignore(ofAgent(holder)))
      : Effect.void

  return { counted, admitted, countAgain }
})

/** So long, in milliseconds, somebody who still sends has to see the answer. */
const lingering = 500

/** Whether more of its body is on its way than is worth reading for a connection that can be used again. */
export const isLeftUnread = (request: IncomingMessage): boolean =>
  !request.complete && mayBeLarge(request.headers)

/**
 * Answers a call that has come to nothing. Bytes that arrive at a connection that was closed make the client's side forget
 * the answer: a short rest of the body is read first, and behind a long one, which nobody reads, the connection stays until
 * the client has hung up, or for a moment.
 */
export const refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  answer: Answer
): void => {
  const isUnread = isLeftUnread(request)
  if (!request.complete && !isUnread) {
    request.once("end", () => refuse(request, response, requestId, answer))
    request.resume()
    return
  }
  if (response.destroyed) return
  response.writeHead(answer.status, {
    ...securityHeaders,
    "cache-control": "no-store",
    ...answer.headers,
    "x-request-id": requestId,
    "content-length": Buffer.byteLength(answer.body),
    ...(isUnread && { connection: "close" })
  })
  if (!isUnread) return void response.end(answer.body)
  response.write(answer.body)
  request.once("close", () => response.end())
  response.setTimeout(lingering, () => response.end())
}

const noVersions = {}

export const versionHeaders = (headers: Headers): Readonly<Record<string, string>> => {
  const version = headers["anthropic-version"]
  const beta = headers["anthropic-beta"]
  if (version === undefined && beta === undefined) return noVersions
  return {
    ...(typeof version === "string" && { "anthropic-version": version }),
    ...(typeof beta === "string" && { "anthropic-beta": beta })
  }
}

const sameForAll = [...Object.entries(securityHeaders).flat(), "cache-control", "no-store"]

/** Names and values in turn: what Node writes as it stands. */
const headersOf = (style: Style, requestId: string, contentType: string): Array<string> => {
  const headers = [...sameForAll, "x-request-id", requestId, "content-type", contentType]
  if (style === "anthropic") headers.push("request-id", requestId)
  return headers
}

/** An error, for those who answer with what the router knows. */
export const responseOf = ({ body, headers, status }: Answer) =>
  HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] })

/** Writes to the socket itself: a stream in between would cost more than everything else that is done to a frame. */
export const recipientOf = (response: ServerResponse, style: Style, requestId: string): Recipient => ({
  whole: (contentType, bytes) => {
    if (response.destroyed) return
    const headers = headersOf(style, requestId, contentType)
    headers.push("content-length", String(bytes.length))
    response.writeHead(200, headers)
    response.end(bytes)
  },
  begin: (contentType) => {
    if (!response.destroyed) response.writeHead(200, headersOf(style, requestId, contentType))
  },
  write: (bytes) => response.destroyed || response.write(bytes),
  whenDrained: (proceed) => void response.once("drain", proceed),
  abort: () => void response.destroy()
})

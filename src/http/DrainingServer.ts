/** Node's HTTP server with bounded connections, which drains on shutdown and answers unparsable requests as JSON errors. */
import { randomUUID } from "node:crypto"
import { IncomingMessage, Server, ServerResponse } from "node:http"
import type { ServerOptions } from "node:http"
import { Socket } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer, Metric } from "effect"
import { countedAddress } from "../services/RateLimiter.ts"
import type { Settings } from "../services/Settings.ts"
import { trustedProxies } from "./CurrentRequest.ts"
import { makeThrottledLog } from "./throttledLog.ts"
import { respondWhileStarting } from "./readiness.ts"

/** Requests of one connection that run at a time; the next ones wait. */
const maxInFlight = 8

/**
 * Maximum of requests that wait on one connection. Node parses up to 64 KiB at once, and a parsed request needs much more
 * memory than its bytes.
 */
const maxQueued = 100

/** Unread bytes that a connection may keep without a time limit. */
const maxUnread = 1024 * 1024

export type ClosedFor =
  /** There are too many connections, in total or of one address. */
  | "connections"
  | "address"
  /** Too many requests are queued on one connection. */
  | "pipelining"
  /** The client does not read its answers. */
  | "unread"

export interface ConnectionLimits extends ServerOptions {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** The address belongs to a trusted proxy. */
  readonly isProxy: (address: string) => boolean
  /** A connection with more than `maxUnread` that reads nothing for this many milliseconds is closed. */
  readonly stallTimeout: number
  /** Unread bytes of all connections, above which those with the most are closed. */
  readonly maxUnreadOfAll: number
  readonly onClosed: (why: ClosedFor, address: string) => void
  /** Answers requests that arrive before the application listens. */
  readonly unattended?: (request: IncomingMessage, response: ServerResponse) => void
}

interface Connection {
  readonly socket: Socket
  readonly address: string
  readonly inFlight: Set<ServerResponse>
  /** Several requests if the client pipelines. */
  readonly queue: Array<Received>
}

/** A request, with the event for clients that expect 100 Continue. */
type Received = readonly [
  event: "request" | "checkContinue",
  request: IncomingMessage,
  response: ServerResponse
]

/** Unsent bytes of answers. Of queued answers only the first is written to the socket. */
const unreadOf = ({ inFlight }: Connection): number => {
  let bytes = 0
  for (const response of inFlight) bytes += response.writableLength
  return bytes
}

/**
 * A Node server with bounds on connections, requests in flight and unread answers. `close` waits for requests, not for connections:
 * Node's own also waits for connections that are idle, have sent half a head or poll, and no longer enforces its time limits.
 */
export class DrainingServer extends Server {
  readonly #limits: ConnectionLimits
  readonly #connections = new Map<Socket, Connection>()
  /** Connections with a queued request that may begin, in order. */
  readonly #waiting = new Set<Connection>()
  #isTurnSet = false
  /** Connections by address, without those of proxies. */
  readonly #counts = new Map<string, number>()

  constructor(limits: ConnectionLimits) {
    super(limits)
    this.#limits = limits
    this.maxConnections = limits.maxConnections
    this.on("drop", (dropped) => limits.onClosed("connections", countedAddress(dropped?.remoteAddress ?? "")))
    // Node fires `timeout` when nothing was sent or received for the whole time, so never for a slow reader.
    this.timeout = limits.stallTimeout
    this.on("timeout", (socket) => this.#idle(socket))
    const looking = setInterval(() => this.#shed(), 1000).unref()
    this.once("close", () => clearInterval(looking))
  }

  override emit(event: string, ...given: ReadonlyArray<unknown>): boolean {
    const [first, response] = given
    const isRequest = event === "request" || event === "checkContinue"
    if (isRequest && first instanceof IncomingMessage && response instanceof ServerResponse) {
      this.#receive([event, first, response])
      return true
    }
    if (event === "connection" && first instanceof Socket) {
      if (this.#accept(first)) return super.emit(event, first)
      first.destroy()
      return true
    }
    return super.emit(event, ...given)
  }

  #accept(socket: Socket): boolean {
    const { remoteAddress = "" } = socket
    const address = countedAddress(remoteAddress)
    const isProxy = this.#limits.isProxy(remoteAddress)
    const others = this.#counts.get(address) ?? 0
    if (!isProxy && others >= this.#limits.maxConnectionsPerAddress) {
      this.#limits.onClosed("address", address)
      return false
    }
    if (!isProxy) this.#counts.set(address, others + 1)
    const connection: Connection = { socket, address, inFlight: new Set(), queue: [] }
    this.#connections.set(socket, connection)
    socket.once("close", () => {
      this.#connections.delete(socket)
      if (isProxy) return
      const left = (this.#counts.get(address) ?? 0) - 1
      if (left > 0) this.#counts.set(address, left)
      else this.#counts.delete(address)
    })
    // Reading the body of an earlier request resumes the socket, too.
    socket.on("resume", () => {
      if (connection.queue.length > 0) socket.pause()
    })
    return true
  }

  #receive(received: Received): void {
    const [, { socket }] = received
    const connection = this.#connections.get(socket)
    if (connection === undefined || socket.destroyed) return
    const { inFlight, queue } = connection
    if (inFlight.size === 0 && queue.length === 0) return this.#begin(connection, received)
    if (queue.length >= maxQueued) return this.#close(connection, "pipelining")
    queue.push(received)
    socket.pause()
    this.#enqueue(connection)
  }

  /** Queues the connection for its next request, if that may begin. */
  #enqueue(connection: Connection): void {
    if (connection.queue.length === 0 || connection.inFlight.size >= maxInFlight) return
    this.#waiting.add(connection)
    this.#setTurn()
  }

  #setTurn(): void {
    if (this.#isTurnSet || this.#waiting.size === 0) return
    this.#isTurnSet = true
    setImmediate(() => this.#beginNext())
  }

  /** Begins one request a turn of the event loop, so that a burst on many connections does not delay others. */
  #beginNext(): void {
    this.#isTurnSet = false
    const [connection] = this.#waiting
    if (connection === undefined) return
    this.#waiting.delete(connection)
    const { queue, socket } = connection
    const next = queue.shift()
    if (next !== undefined && !socket.destroyed && this.listening) {
      // Only the last queued request may be incomplete, so reading goes on from here.
      if (queue.length === 0) socket.resume()
      this.#begin(connection, next)
      this.#enqueue(connection)
    }
    this.#setTurn()
  }

  #begin(connection: Connection, [event, request, response]: Received): void {
    connection.inFlight.add(response)
    if (!this.listening) response.setHeader("connection", "close")
    response.once("close", () => this.#ended(connection, response))
    const { unattended } = this.#limits
    if (unattended === undefined || this.listenerCount("request") > 0) super.emit(event, request, response)
    else unattended(request, response)
  }

  #ended(connection: Connection, response: ServerResponse): void {
    const { inFlight, socket } = connection
    inFlight.delete(response)
    if (socket.destroyed) return
    if (this.listening) this.#enqueue(connection)
    else if (inFlight.size === 0) socket.end()
  }

  #idle(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined || connection.inFlight.size === 0) socket.destroy()
    else if (unreadOf(connection) > maxUnread) this.#close(connection, "unread")
    // The client waits for 100 Continue.
    else socket.setTimeout(this.timeout)
  }

  #shed(): void {
    const unread = Array.from(this.#connections.values(), (connection) => ({
      connection,
      bytes: unreadOf(connection)
    })).filter(({ bytes }) => bytes > 0)
    let rest = unread.reduce((sum, { bytes }) => sum + bytes, 0)
    if (rest <= this.#limits.maxUnreadOfAll) return
    for (const { bytes, connection } of unread.sort((left, right) => right.bytes - left.bytes)) {
      this.#close(connection, "unread")
      rest -= bytes
      if (rest <= this.#limits.maxUnreadOfAll) return
    }
  }

  #close({ address, socket }: Connection, why: ClosedFor): void {
    socket.destroy()
    this.#limits.onClosed(why, address)
  }

  override close(whenClosed?: (error?: Error) => void): this {
    super.close(whenClosed)
    for (const { inFlight, socket } of this.#connections.values()) if (inFlight.size === 0) socket.destroy()
    return this
  }
}

/** Time limits of clients, in milliseconds. */
export interface Timeouts extends ServerOptions {
  readonly stallTimeout?: number
}

/** The limits cover the headers, the whole request, and the time between two reads of answers. */
const defaultTimeouts = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  stallTimeout: 10_000
}

const maxUnreadOfAll = 256 * 1024 * 1024

const closedTotal = Metric.counter("http_connections_closed_total", {
  description:
    "Connections closed for a limit, by why: connections (too many in all), address (too many of one), pipelining, unread",
  incremental: true
})

/** Counts connections closed for a limit, and logs at most one line a minute. */
const countClosed = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const throttled = makeThrottledLog(Duration.minutes(1))
  return (why: ClosedFor, address: string) => {
    Metric.withAttributes(closedTotal, { why }).updateUnsafe(1, context)
    Effect.runForkWith(context)(
      throttled("closed", (connections) =>
        Effect.logWarning("connections were closed for a limit; others are counted only for a minute").pipe(
          Effect.annotateLogs({ why, address, connections })
        )
      )
    )
  }
})

const unreadable = (status: string, code: string, detail: string): string => {
  const body = JSON.stringify({ detail, code })
  return [
    `HTTP/1.1 ${status}`,
    "Connection: close",
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Request-Id: ${randomUUID()}`,
    "",
    body
  ].join("\r\n")
}

/** The answers to unparsable requests, by Node's error code. */
const responseTo = (error: string | undefined): string => {
  switch (error) {
    case "HPE_HEADER_OVERFLOW":
      return unreadable(
        "431 Request Header Fields Too Large",
        "headers_too_large",
        "Expected smaller headers."
      )
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return unreadable("408 Request Timeout", "request_timeout", "The request did not arrive in time.")
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return unreadable("413 Content Too Large", "payload_too_large", "Expected smaller chunk extensions.")
    default:
      return unreadable("400 Bad Request", "invalid_request", "The request is not well-formed HTTP.")
  }
}

/** The Node server with its time limits and its answers to unparsable requests. */
const makeNodeServer = Effect.fnUntraced(function* ({ progress, rules, timeouts }: Listening) {
  const { maxConnections, maxConnectionsPerAddress } = rules
  const server = new DrainingServer({
    ...defaultTimeouts,
    ...timeouts,
    unattended: respondWhileStarting(progress ?? (() => "the start")),
    // The edge rejects a missing Host: Node's own answer would have no body.
    requireHostHeader: false,
    maxConnections,
    maxConnectionsPerAddress,
    maxUnreadOfAll,
    isProxy: trustedProxies(rules.trustedProxies).isTrusted,
    onClosed: yield* countClosed
  })
  // Node would answer 417 without a body. RFC 9110 10.1.1 allows ignoring unknown expectations.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
    else socket.end(responseTo(error.code))
  })
  return server
})

type Listening = Parameters<typeof NodeHttpServer.layer>[1] & {
  readonly rules: Pick<Settings["Service"], "maxConnections" | "maxConnectionsPerAddress" | "trustedProxies">
  readonly timeouts?: Timeouts | undefined
  /** The current step of the start, while nothing is served yet. */
  readonly progress?: (() => string) | undefined
}

/** The listening server, with its limits. */
export const listening = (options: Listening) =>
  Layer.unwrap(Effect.map(makeNodeServer(options), (server) => NodeHttpServer.layer(() => server, options)))

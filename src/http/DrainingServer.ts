/** What listens: a server of Node's that hangs up on the slow and the greedy, and answers what it cannot parse in our shape. */
import { randomUUID } from "node:crypto"
import { IncomingMessage, Server, ServerResponse } from "node:http"
import type { ServerOptions } from "node:http"
import { Socket } from "node:net"
import { NodeHttpServer } from "@effect/platform-node"
import { Clock, Effect, Layer, Metric } from "effect"
import { countedAddress } from "../services/RateLimiter.ts"
import { Settings } from "../services/Settings.ts"
import { trustedProxies } from "./CurrentRequest.ts"

/** Requests of one connection that are carried out at a time; the next ones wait. */
const maxInFlight = 8

/**
 * Requests that wait on one connection. Node parses what it has read to the end, up to 64 KiB, and a request takes much
 * more memory than the 18 bytes it may have been sent in.
 */
const maxQueued = 100

/** What a connection may leave unread for as long as it likes. */
const maxUnread = 1024 * 1024

export type ClosedFor =
  /** There are as many connections as there may be, or as one address may have. */
  | "connections"
  | "address"
  /** More requests at once than may wait. */
  | "pipelining"
  /** Answers that nobody reads. */
  | "unread"

export interface ConnectionLimits extends ServerOptions {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** Whether an address is a proxy's, behind which there are many clients. */
  readonly isProxy: (address: string) => boolean
  /** A connection that has left more than `maxUnread` and reads nothing for so many milliseconds is closed. */
  readonly stallTimeout: number
  /** What all connections together may leave unread, in bytes: beyond it those that left the most are closed. */
  readonly maxUnreadOfAll: number
  readonly onClosed: (why: ClosedFor, address: string) => void
}

interface Connection {
  readonly socket: Socket
  readonly address: string
  readonly inFlight: Set<ServerResponse>
  /** Clients that pipeline have several. */
  readonly queue: Array<Received>
}

/** A request, and whether its client asks to go on before it sends the body. */
type Received = readonly [
  event: "request" | "checkContinue",
  request: IncomingMessage,
  response: ServerResponse
]

/** What was answered and has not left for the client. Of answers in turn only the first is handed to the socket. */
const unreadOf = ({ inFlight }: Connection): number => {
  let bytes = 0
  for (const response of inFlight) bytes += response.writableLength
  return bytes
}

/**
 * A Node server whose connections are bounded: in number, in requests under way and in unread answers. Its closing waits for
 * requests, not for connections. Node's own waits for every one that has sent nothing yet, or half a head, or that polls,
 * and no longer enforces its time limits meanwhile.
 */
export class DrainingServer extends Server {
  readonly #limits: ConnectionLimits
  readonly #connections = new Map<Socket, Connection>()
  /** Connections with a request that waits and may begin, in their turn. */
  readonly #waiting = new Set<Connection>()
  #isTurnSet = false
  /** Connections of each address; without those of proxies. */
  readonly #counts = new Map<string, number>()

  constructor(limits: ConnectionLimits) {
    super(limits)
    this.#limits = limits
    this.maxConnections = limits.maxConnections
    this.on("drop", (dropped) => limits.onClosed("connections", countedAddress(dropped?.remoteAddress ?? "")))
    // Node fires it where nothing was sent or received for that long: a slow reader that goes on reading is no case of it.
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

  /** Has its next request begin when it is its turn, if there is one and it may. */
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

  /**
   * One in each turn of the event loop, which accepts one connection and reads of each once: what many connections have sent
   * at once would keep all others waiting.
   */
  #beginNext(): void {
    this.#isTurnSet = false
    const [connection] = this.#waiting
    if (connection === undefined) return
    this.#waiting.delete(connection)
    const { queue, socket } = connection
    const next = queue.shift()
    if (next !== undefined && !socket.destroyed && this.listening) {
      // Of those that wait only the last may not have come whole, so its rest is read from now on.
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
    super.emit(event, request, response)
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
    // It waits for us.
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

/** How long clients are waited for, in milliseconds. */
export interface Timeouts extends ServerOptions {
  readonly stallTimeout?: number
}

/** A client gets this long to send its headers, and its whole request, and to read something of its answers. */
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
    "Connections that were refused or cut off: connections, address (as many as there may be, or as one address may have), pipelining, unread",
  incremental: true
})

/** Counts connections that are closed for a limit; the log has a line of it at most once a minute. */
const countClosed = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  let quietUntil = 0
  return (why: ClosedFor, address: string) => {
    Metric.withAttributes(closedTotal, { why }).updateUnsafe(1, context)
    const now = clock.currentTimeMillisUnsafe()
    if (now < quietUntil) return
    quietUntil = now + 60_000
    Effect.runForkWith(context)(
      Effect.logWarning("a connection was closed for a limit; others are counted only for a minute").pipe(
        Effect.annotateLogs({ why, address })
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

/** What never became a request, by Node's code for it. */
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

/** A Node server that hangs up on slow clients, and answers what it cannot parse in our shape. */
const makeNodeServer = Effect.fnUntraced(function* (timeouts: Timeouts) {
  const { maxConnections, maxConnectionsPerAddress, ...settings } = yield* Settings
  const server = new DrainingServer({
    ...defaultTimeouts,
    ...timeouts,
    // A missing Host is the edge's to refuse: Node's own answer would have no body.
    requireHostHeader: false,
    maxConnections,
    maxConnectionsPerAddress,
    maxUnreadOfAll,
    isProxy: trustedProxies(settings.trustedProxies).isTrusted,
    onClosed: yield* countClosed
  })
  // Node would answer 417 without a body; RFC 9110 10.1.1 lets us pass over expectations that we do not know.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
    else socket.end(responseTo(error.code))
  })
  return server
})

/** Listens, on a server of Node's that hangs up on the slow. */
export const listening = (
  options: Parameters<typeof NodeHttpServer.layer>[1] & { readonly timeouts?: Timeouts | undefined }
) =>
  Layer.unwrap(
    Effect.map(makeNodeServer(options.timeouts ?? {}), (server) =>
      NodeHttpServer.layer(() => server, options)
    )
  )

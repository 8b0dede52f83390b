/** The limits of one connection, of one address and of all. The server alone answers here, so that every answer is seen. */
import { once } from "node:events"
import { request } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { DrainingServer } from "../../src/http/DrainingServer.ts"
import type { ClosedFor, ConnectionLimits } from "../../src/http/DrainingServer.ts"
import { isFull } from "../support/breadth.ts"
import { until } from "../support/waiting.ts"

const mebibyte = 1024 * 1024

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A server that answers by `handler`, and its reasons for closing connections. */
const serving = Effect.fnUntraced(function* (handler: Handler, limits: Partial<ConnectionLimits> = {}) {
  const closedFor: Array<ClosedFor> = []
  const server = new DrainingServer({
    maxConnections: 1000,
    maxConnectionsPerAddress: 1000,
    isProxy: () => false,
    stallTimeout: 10_000,
    maxUnreadOfAll: 1000 * mebibyte,
    onClosed: (why) => closedFor.push(why),
    requireHostHeader: false,
    ...limits
  })
  server.on("request", handler)
  const sockets: Array<Socket> = []
  const listening = new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)))
  yield* Effect.promise(() => listening)
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, "close")
    })
  )
  const address = server.address()
  assert(isAddress(address))
  return {
    server,
    closedFor,
    port: address.port,
    open: Effect.promise(async () => {
      const socket = connect(address.port, "127.0.0.1").on("error", () => {})
      sockets.push(socket)
      await once(socket, "connect")
      return socket
    })
  }
})

const isAddress = (address: AddressInfo | string | null): address is AddressInfo =>
  typeof address === "object" && address !== null

const head = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`

const numbered = (count: number) => Array.from({ length: count }, (_, index) => head(`/${index}`)).join("")

const closed = (socket: Socket) =>
  Effect.promise(() => new Promise<void>((resolve) => socket.resume().once("close", () => resolve())))

/** All bytes until the server hangs up. */
const read = (socket: Socket) =>
  Effect.promise(async () => {
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk) => chunks.push(chunk))
    await once(socket, "close")
    return Buffer.concat(chunks).toString("latin1")
  })

/** Asks on a connection of its own; 0 where that was closed. */
const statusOf = (port: number, path: string) =>
  Effect.promise(
    () =>
      new Promise<number>((resolve) => {
        request({ port, host: "127.0.0.1", path, agent: false }, (response) => {
          response.resume().on("end", () => resolve(response.statusCode ?? 0))
        })
          .on("error", () => resolve(0))
          .end()
      })
  )

const bodiesOf = (answers: string) => answers.split(/HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*\r\n/).slice(1)

describe("Requests of one connection", () => {
  it.live("Requests of one connection are under way eight at a time, and answered in their order", () =>
    Effect.gen(function* () {
      const begun: Array<{ readonly path: string; readonly end: () => void }> = []
      const { open } = yield* serving((request, response) => {
        const path = String(request.url)
        begun.push({ path, end: () => void response.end(path) })
      })
      const socket = yield* open
      socket.write(numbered(19) + head("/last", "Connection: close\r\n"))
      const answers = yield* Effect.forkChild(read(socket), { startImmediately: true })
      for (let ended = 0; ended < 20; ended++) {
        const expected = Math.min(20, ended + 8)
        yield* until(() => begun.length >= expected)
        assert.lengthOf(begun, expected)
        begun[ended]?.end()
      }
      const paths = begun.map(({ path }) => path)
      assert.deepStrictEqual(paths.at(-1), "/last")
      assert.deepStrictEqual(bodiesOf(yield* Fiber.join(answers)), paths)
    })
  )

  it.live("Requests of one connection have their whole bodies, also those that waited for their turn", () =>
    Effect.gen(function* () {
      const { open } = yield* serving((request, response) => {
        let length = 0
        request.on("data", (chunk: Buffer) => (length += chunk.length))
        request.on("end", () => response.end(String(length)))
      })
      const socket = yield* open
      const lengths = Array.from({ length: 40 }, (_, index) => index * 7001)
      for (const [index, length] of lengths.entries()) {
        const isLast = index === lengths.length - 1
        socket.write(
          `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n${isLast ? "Connection: close\r\n" : ""}\r\n${"x".repeat(length)}`
        )
      }
      assert.deepStrictEqual(bodiesOf(yield* read(socket)), lengths.map(String))
    })
  )

  it.live("Requests of one connection may ask whether to go on", () =>
    Effect.gen(function* () {
      const { open } = yield* serving((request, response) => {
        request.resume().on("end", () => response.end(String(request.url)))
      })
      const socket = yield* open
      const asking = "POST /asked HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
      socket.write(`${numbered(12)}${asking}Connection: close\r\n\r\n`)
      socket.on("data", (chunk) => {
        if (chunk.includes("100 Continue")) socket.write("{}")
      })
      assert.match(yield* read(socket), /100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*\/asked$/)
    })
  )

  it.live("Requests of one connection take turns with those of others", () =>
    Effect.gen(function* () {
      const begun: Array<string> = []
      const { open } = yield* serving((request, response) => {
        begun.push(String(request.url))
        response.end()
      })
      const [pipelining, other] = yield* Effect.all([open, open])
      pipelining.write(numbered(100))
      other.write(head("/other"))
      yield* until(() => begun.length > 100)
      assert.isBelow(begun.indexOf("/other"), 20)
    })
  )

  it.live("Requests beyond those that may wait end their connection, and no other", () =>
    Effect.gen(function* () {
      const begun: Array<string> = []
      const { closedFor, open, port } = yield* serving((request, response) => {
        if (request.url === "/other") response.end("fine")
        else begun.push(String(request.url))
      })
      const socket = yield* open
      socket.write("GET / HTTP/1.1\r\n\r\n".repeat(3600))
      yield* closed(socket)
      assert.isAtMost(begun.length, 8)
      assert.deepStrictEqual(closedFor, ["pipelining"])
      assert.strictEqual(yield* statusOf(port, "/other"), 200)
    })
  )

  it.live("Requests of one connection hold the bytes of eight unread answers, and others go on", () =>
    Effect.gen(function* () {
      const answers: Array<ServerResponse> = []
      const { open, port } = yield* serving((request, response) => {
        if (request.url === "/other") return void response.end("fine")
        answers.push(response)
        response.end(Buffer.alloc(16 * mebibyte))
      })
      const socket = yield* open
      socket.pause()
      const before = process.memoryUsage().arrayBuffers
      socket.write(numbered(100))
      yield* until(() => answers.length >= 8)
      assert.strictEqual(yield* statusOf(port, "/other"), 200)
      assert.lengthOf(answers, 8)
      assert.isBelow(process.memoryUsage().arrayBuffers - before, 9 * 16 * mebibyte)
    })
  )
})

describe("Answers that nobody reads", () => {
  /** More bytes than the buffers of both ends take. */
  const large = Buffer.alloc(32 * mebibyte)

  it.live("Unread answers end their connection after the time that a reader may stand still", () =>
    Effect.gen(function* () {
      const { closedFor, open } = yield* serving((_, response) => response.end(large), { stallTimeout: 50 })
      const socket = yield* open
      socket.pause()
      socket.write(head("/"))
      yield* until(() => closedFor.length > 0)
      assert.deepStrictEqual(closedFor, ["unread"])
      yield* closed(socket)
    })
  )

  it.live("Unread answers do not end their connection where they are few", () =>
    Effect.gen(function* () {
      let timeouts = 0
      const { closedFor, open, server } = yield* serving((_, response) => void response.write("some"), {
        stallTimeout: 20
      })
      server.on("timeout", () => (timeouts += 1))
      const socket = yield* open
      socket.write(head("/"))
      yield* until(() => timeouts > 3)
      assert.deepStrictEqual(closedFor, [])
      assert.isFalse(socket.destroyed)
    })
  )

  it.live.runIf(isFull)("Answers are waited for as long as they are read, however slowly", () =>
    Effect.gen(function* () {
      const { closedFor, open } = yield* serving(
        (_, response) => response.setHeader("connection", "close").end(large),
        { stallTimeout: 5000 }
      )
      const socket = yield* open
      const begun = performance.now()
      let received = 0
      socket.on("data", (chunk) => {
        received += chunk.length
        socket.pause()
        setTimeout(() => socket.resume(), 20)
      })
      socket.write(head("/"))
      yield* Effect.promise(() => once(socket, "close"))
      assert.isAbove(received, large.length)
      assert.isAbove(performance.now() - begun, 6000)
      assert.deepStrictEqual(closedFor, [])
    })
  )

  it.live("Unread answers are bounded over all connections: those that left the most are closed", () =>
    Effect.gen(function* () {
      const { closedFor, open } = yield* serving(
        (request, response) =>
          response.end(request.url === "/large" ? large : large.subarray(0, 16 * mebibyte)),
        { maxUnreadOfAll: 24 * mebibyte }
      )
      const [small, most] = yield* Effect.all([open, open])
      for (const socket of [small, most]) socket.pause()
      small.write(head("/small"))
      most.write(head("/large"))
      yield* until(() => closedFor.length > 0)
      yield* closed(most)
      assert.deepStrictEqual(closedFor, ["unread"])
      assert.isFalse(small.destroyed)
    })
  )
})

describe("A server that closes", () => {
  it.live("A server closes when its work has ended, however much waits behind it", () =>
    Effect.gen(function* () {
      const begun: Array<ServerResponse> = []
      const { open, server } = yield* serving((_, response) => void begun.push(response))
      const socket = yield* open
      socket.write(numbered(30))
      yield* until(() => begun.length === 8)
      const answers = yield* Effect.forkChild(read(socket), { startImmediately: true })
      const ended = once(server, "close")
      server.close()
      while (begun.some((response) => !response.writableEnded)) {
        for (const response of begun) if (!response.writableEnded) response.end("answered")
        yield* Effect.yieldNow
      }
      yield* Effect.promise(() => ended)
      const answered = bodiesOf(yield* Fiber.join(answers))
      assert.deepStrictEqual(new Set(answered), new Set(["answered"]))
      assert.isAtLeast(answered.length, 8)
      assert.isBelow(begun.length, 30)
    })
  )
})

describe("Connections", () => {
  const fine: Handler = (_, response) => response.end("fine")

  it.live("Connections of one address are as many as it may have: the next one is closed at once", () =>
    Effect.gen(function* () {
      const { closedFor, open, port } = yield* serving(fine, { maxConnectionsPerAddress: 2 })
      const [first] = yield* Effect.all([open, open])
      yield* closed(yield* open)
      assert.deepStrictEqual(closedFor, ["address"])
      first.destroy()
      let status = 0
      while (status !== 200) status = yield* statusOf(port, "/")
    })
  )

  it.live("Connections of a proxy are not counted by address", () =>
    Effect.gen(function* () {
      const { closedFor, open, port } = yield* serving(fine, {
        maxConnectionsPerAddress: 1,
        isProxy: (address) => address === "127.0.0.1"
      })
      yield* Effect.all([open, open, open])
      assert.strictEqual(yield* statusOf(port, "/"), 200)
      assert.deepStrictEqual(closedFor, [])
    })
  )

  it.live("Connections are as many as there may be: the next one is closed at once", () =>
    Effect.gen(function* () {
      const { closedFor, open } = yield* serving(fine, { maxConnections: 2 })
      yield* Effect.all([open, open])
      yield* closed(yield* open)
      assert.deepStrictEqual(closedFor, ["connections"])
    })
  )
})

/**
 * A separate program: an anonymous client that tries to stop the service by cheap requests, from an address of its own (`127.0.0.2`),
 * at a bounded pace, for a given time. It prints as JSON how often it did each thing and the answers.
 *
 * `node test/support/hostileClient.ts URL SECONDS CHALLENGE_ID GATEWAY_KEY`
 */
import { METHODS, request } from "node:http"
import { connect } from "node:net"
import type { Socket } from "node:net"

const [url = "", seconds = "", challengeId = "", gatewayKey = ""] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const from = "127.0.0.2"

/** By kind: the number of requests, and the answers by status; 0 for no answer. */
const done: Record<string, { times: number; statuses: Record<number, number> }> = {}

const count = (kind: string, status?: number) => {
  const entry = (done[kind] ??= { times: 0, statuses: {} })
  if (status === undefined) entry.times += 1
  else entry.statuses[status] = (entry.statuses[status] ?? 0) + 1
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

const send = (kind: string, { body, headers, method, path }: Sent) => {
  count(kind)
  const sent = request(
    { hostname, port, method, path, localAddress: from, timeout: 30_000, headers: headers ?? {} },
    (response) => {
      count(kind, response.statusCode ?? 0)
      response.resume()
    }
  )
  sent.on("error", () => count(kind, 0))
  sent.on("timeout", () => sent.destroy())
  sent.end(body)
}

const json = { "content-type": "application/json" }
const form = { "content-type": "application/x-www-form-urlencoded" }
const one = "/api/v1/agent/auth/token"
const marks = (length: number) => `a${"\u0300".repeat(length / 4)}${"\u0316".repeat(length / 4)}`
const ones = `[${"1,".repeat(128_000)}1]`
const emptyObjects = Buffer.from(`{"model":"plain","messages":[${"{},".repeat(3_400_000)}{}]}`)
const results = `/api/v1/eval/challenges/${challengeId}/results?limit=200`
const paths = [
  "/",
  "/docs",
  "/metrics",
  "/openapi.json",
  results,
  one,
  "/api/v1/eval/leaderboard",
  "/nothing"
]
// CONNECT is a protocol of its own for Node's client.
const methods = METHODS.filter((method) => method !== "CONNECT")

let turn = 0
const next = <A>(of: ReadonlyArray<A>): A => {
  const chosen = of[turn++ % of.length]
  if (chosen === undefined) throw new Error("nothing to choose from")
  return chosen
}

/** Requests that are repeated this often a second. */
const paced: ReadonlyArray<readonly [kind: string, perSecond: number, sent: () => Sent]> = [
  [
    "combining marks",
    4,
    () => ({
      method: "POST",
      path: one,
      headers: form,
      body: `grant_type=client_credentials&client_secret=x&agent_id=${marks(next([14_000, 250_000]))}`
    })
  ],
  ["odd methods", 100, () => ({ method: next(methods), path: next(paths) })],
  [
    "bad tokens",
    50,
    () => ({ method: "GET", path: "/api/v1/agent/profile/self", headers: { authorization: "Bearer x" } })
  ],
  ["unknown paths", 50, () => ({ method: "GET", path: `/nothing/${turn++}` })],
  [
    "arrays",
    4,
    () => ({
      method: "POST",
      path: "/api/v1/agent/registry/register",
      headers: json,
      body: `{"name":"x","languages":${ones}}`
    })
  ],
  [
    "large gateway bodies",
    2,
    () => ({
      method: "POST",
      path: "/api/v1/llm/v1/chat/completions",
      headers: { ...json, authorization: `Bearer ${next([gatewayKey, "aus_gw_nobody"])}` },
      body: emptyObjects
    })
  ]
]

/** Connections that send a little and read nothing, or hardly send; each is made anew when the server ends it. */
const sockets = new Set<Socket>()
const hold = (kind: string, made: (socket: Socket) => void): void => {
  const socket = connect({ host: hostname, port: Number(port), localAddress: from })
  sockets.add(socket)
  socket.on("error", () => {})
  socket.on("connect", () => {
    count(kind)
    socket.pause()
    made(socket)
  })
  socket.on("close", () => {
    sockets.delete(socket)
    if (!over) setTimeout(() => hold(kind, made), 1000)
  })
}

const pipelined = (path: string, times: number) => (socket: Socket) => {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(times))
}

const slowHead = (socket: Socket) => {
  socket.resume()
  socket.write("GET / HTTP/1.1\r\n")
  const dripping = setInterval(() => socket.write("x"), 1000)
  socket.on("close", () => clearInterval(dripping))
}

let over = false
const timers = paced.map(([kind, perSecond, sent]) => setInterval(() => send(kind, sent()), 1000 / perSecond))
for (let number = 0; number < 10; number++) {
  hold("pipelined results, unread", pipelined(results, 100))
  hold("pipelined documents, unread", pipelined("/docs", 100))
  hold("more pipelined than may wait", pipelined("/docs", 300))
}
for (let number = 0; number < 100; number++) hold("slow heads", slowHead)

setTimeout(
  () => {
    over = true
    for (const timer of timers) clearInterval(timer)
    for (const socket of sockets) socket.destroy()
    // Late answers get a moment.
    setTimeout(() => {
      process.stdout.write(JSON.stringify(done))
      process.exit(0)
    }, 5000)
  },
  Number(seconds) * 1000
)

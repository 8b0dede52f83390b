/**
 * A balancer as operators put one in front of replicas: HAProxy if it is installed, else an equivalent. It asks each replica for its
 * readiness, takes out one that is not ready twice in a row, and distributes requests in turn. A connection that fails is tried at
 * the next replica; nothing else is sent twice.
 */
import { spawn, spawnSync } from "node:child_process"
import { Agent, createServer, request } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { Effect, FileSystem } from "effect"
import { freePort, project, temporaryDirectory } from "./process.ts"

interface Replica {
  readonly port: number
  /** The port of its health checks. */
  readonly opsPort: number
}

const checkInterval = 500
const maxFailures = 2

/** A refused connection is tried again, unlike a request that may have been carried out. */
const isRefused = (error: NodeJS.ErrnoException): boolean => error.code === "ECONNREFUSED"

const isReady = (opsPort: number) =>
  fetch(`http://127.0.0.1:${opsPort}/health/ready`, { signal: AbortSignal.timeout(3000) }).then(
    ({ status }) => status === 200,
    () => false
  )

/** Listens on a free port, which it returns, until the scope ends. */
const ours = Effect.fnUntraced(function* (replicas: ReadonlyArray<Replica>) {
  const agent = new Agent({ keepAlive: true })
  const failures = new Map(replicas.map((replica) => [replica, maxFailures]))
  let turn = 0
  const next = () => {
    const serving = replicas.filter((replica) => (failures.get(replica) ?? 0) < maxFailures)
    turn += 1
    return serving[turn % serving.length]
  }
  const pass = (body: Buffer, from: IncomingMessage, to: ServerResponse, tries: number) => {
    const replica = next()
    if (replica === undefined || tries === 0) return void to.writeHead(503).end()
    const { headers, method, url: path } = from
    const sent = request(
      { agent, host: "127.0.0.1", port: replica.port, method, path, headers },
      (answer) => {
        const { connection: _, ...kept } = answer.headers
        to.writeHead(answer.statusCode ?? 502, kept)
        answer.pipe(to)
      }
    )
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (isRefused(error)) pass(body, from, to, tries - 1)
      else if (to.headersSent) to.destroy()
      else to.writeHead(502).end(error.code)
    })
    sent.end(body)
  }
  // An idle client is never cut off, because its next request may be on its way.
  const server = createServer({ keepAliveTimeout: 0 }, (from, to) => {
    const chunks: Array<Buffer> = []
    from.on("data", (chunk: Buffer) => chunks.push(chunk))
    from.on("end", () => pass(Buffer.concat(chunks), from, to, replicas.length))
  })
  const check = Effect.promise(async () => {
    const ready = await Promise.all(replicas.map(({ opsPort }) => isReady(opsPort)))
    for (const [index, replica] of replicas.entries()) {
      failures.set(replica, ready[index] === true ? 0 : (failures.get(replica) ?? 0) + 1)
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(check, Effect.sleep(checkInterval))))
  return yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : 0))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
        agent.destroy()
      })
  )
})

/** HAProxy with docs/examples/haproxy.cfg and other addresses; it listens on a free port until the scope ends. */
const haproxy = Effect.fnUntraced(function* (replicas: ReadonlyArray<Replica>) {
  const fs = yield* FileSystem.FileSystem
  const documented = yield* fs.readFileString(join(project, "docs/examples/haproxy.cfg"))
  const port = yield* freePort
  const settings = documented
    .replace(/bind .*/, `bind 127.0.0.1:${port}`)
    .replace(
      /(?: {2}server .*\n)+/,
      replicas.map((each) => `  server r${each.port} 127.0.0.1:${each.port} port ${each.opsPort}\n`).join("")
    )
  const file = join(yield* temporaryDirectory, "haproxy.cfg")
  yield* fs.writeFileString(file, settings)
  yield* Effect.acquireRelease(
    Effect.sync(() => spawn("haproxy", ["-db", "-f", file], { stdio: "inherit" })),
    (child) => Effect.sync(() => child.kill())
  )
  return port
})

export const balancer = spawnSync("haproxy", ["-v"]).status === 0 ? haproxy : ours

/** A stretch of network between a process and PostgreSQL, which can be cut, and which tells whose a connection is. */
import { connect, createServer } from "node:net"
import type { Socket } from "node:net"
import { Effect, Redacted } from "effect"

export interface Proxy {
  /** The same database, reached through here. */
  readonly url: Redacted.Redacted
  /** Whether a connection that PostgreSQL sees from this port comes through here. */
  readonly owns: (port: number) => boolean
  /** Ends every connection at once, with what is on its way. */
  readonly cut: Effect.Effect<void>
  /** Passes on what is sent, and loses every answer for so long; then cuts. Commits happen that nobody hears of. */
  readonly loseAnswers: (millis: number) => Effect.Effect<void>
}

export const makeProxy = Effect.fnUntraced(function* (database: Redacted.Redacted) {
  const target = new URL(Redacted.value(database))
  const pairs = new Set<readonly [near: Socket, far: Socket]>()
  const state = { losing: false }
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const pair = [near, far] as const
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on("error", end)
      socket.on("close", end)
    }
    near.on("data", (chunk) => far.write(chunk))
    far.on("data", (chunk) => state.losing || near.write(chunk))
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const [near] of pairs) near.destroy()
      })
  )
  const url = new URL(target)
  url.host = `127.0.0.1:${port}`
  const cut = Effect.sync(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  })
  const proxy: Proxy = {
    url: Redacted.make(url.href),
    owns: (port) => [...pairs].some(([, far]) => far.localPort === port),
    cut,
    loseAnswers: (millis) =>
      Effect.gen(function* () {
        state.losing = true
        yield* Effect.sleep(millis)
        yield* cut
        state.losing = false
      })
  }
  return proxy
})

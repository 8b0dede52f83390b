/** A stretch of network between a process and PostgreSQL, which can be cut, and which tells whose a connection is. */
import { connect, createServer } from "node:net"
import type { Socket } from "node:net"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Database from "../../src/layers/postgres/Database.ts"
import { services } from "../../src/layers/postgres/layer.ts"
import { freshDatabase } from "./database.ts"
import { logSigner } from "./logSigner.ts"
import { mailbox } from "./mailbox.ts"
import { gatewayOf } from "./services.ts"
import { settings } from "./settings.ts"

export class TcpProxy extends Context.Service<
  TcpProxy,
  {
    /** The same database, reached through here. */
    readonly url: Redacted.Redacted
    /** Whether a connection that PostgreSQL sees from this port comes through here. */
    readonly owns: (port: number) => boolean
    /** Ends every connection at once, with what is on its way. */
    readonly cut: Effect.Effect<void>
    /** Every connection breaks, and none comes about until the effect has ended. */
    readonly whileCut: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Passes on what is sent, and loses every answer for so long; then cuts. Commits happen that nobody hears of. */
    readonly loseAnswers: (millis: number) => Effect.Effect<void>
  }
>()("auspex/test/TcpProxy") {}

export const makeTcpProxy = Effect.fnUntraced(function* (database: Redacted.Redacted) {
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
  const listen = (port: number) =>
    Effect.callback<number>((resume) => {
      server.listen(port, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : 0))
      })
    })
  const cut = Effect.sync(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  })
  const shut = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  })
  const port = yield* Effect.acquireRelease(listen(0), () => shut)
  const url = new URL(target)
  url.host = `127.0.0.1:${port}`
  return TcpProxy.of({
    url: Redacted.make(url.href),
    owns: (port) => [...pairs].some(([, far]) => far.localPort === port),
    cut,
    whileCut: (effect) =>
      Effect.acquireUseRelease(
        shut,
        () => effect,
        () => listen(port)
      ),
    loseAnswers: (millis) =>
      Effect.gen(function* () {
        state.losing = true
        yield* Effect.sleep(millis)
        yield* cut
        state.losing = false
      })
  })
})

export const tcpProxy = Layer.effect(TcpProxy, Effect.flatMap(freshDatabase, makeTcpProxy))

/** Every service, on the database behind the proxy. */
export const proxiedServices = gatewayOf().pipe(
  Layer.provideMerge(services),
  Layer.provideMerge(
    Layer.mergeAll(
      Layer.unwrap(Effect.map(TcpProxy, ({ url }) => Database.client(url))),
      settings(),
      mailbox,
      logSigner()
    )
  )
)

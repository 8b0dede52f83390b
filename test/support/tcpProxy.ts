/** A network path between a process and PostgreSQL, which can be cut, and which knows its connections. */
import { connect, createServer } from "node:net"
import type { Socket } from "node:net"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Database from "../../src/layers/postgres/Database.ts"
import { freshDatabase } from "./database.ts"
import { logSigner } from "./logSigner.ts"
import { mailbox } from "./mailbox.ts"
import { gatewayOf, services } from "./services.ts"
import { settings } from "./settings.ts"

export class TcpProxy extends Context.Service<
  TcpProxy,
  {
    /** The URL of the same database through this proxy. */
    readonly url: Redacted.Redacted
    /** True if a connection that PostgreSQL sees from this port comes through this proxy. */
    readonly owns: (port: number) => boolean
    /** Ends every connection immediately, with all data on its way. */
    readonly cut: Effect.Effect<void>
    /** Leads the path to this server from now on. Every connection breaks. */
    readonly lead: (server: Redacted.Redacted) => Effect.Effect<void>
    /** Breaks every connection, and allows none until the effect has ended. */
    readonly whileCut: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Loses all bytes meanwhile without a sign. Connections from before or from this time stay silent permanently; later ones work. */
    readonly whileSilent: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Passes requests on, and loses every answer for this long; then cuts. The client does not learn of the commits. */
    readonly loseAnswers: (millis: number) => Effect.Effect<void>
  }
>()("auspex/test/TcpProxy") {}

interface Pair {
  readonly near: Socket
  readonly far: Socket
  /** The data of either side is lost, also its end. */
  isSilent: boolean
}

export const makeTcpProxy = Effect.fnUntraced(function* (database: Redacted.Redacted) {
  const target = new URL(Redacted.value(database))
  let beyond = { host: target.hostname, port: Number(target.port) }
  const pairs = new Set<Pair>()
  const state = { losing: false, silent: false }
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ ...beyond, allowHalfOpen: true })
    const pair: Pair = { near, far, isSilent: state.silent }
    pairs.add(pair)
    const end = () => {
      if (pair.isSilent) return
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      for (const event of ["error", "end", "close"]) socket.on(event, end)
    }
    near.on("data", (chunk) => pair.isSilent || far.write(chunk))
    far.on("data", (chunk) => state.losing || pair.isSilent || near.write(chunk))
  })
  const destroyAll = () => {
    for (const { far, near } of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  const listen = (port: number) =>
    Effect.callback<number>((resume) => {
      server.listen(port, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : 0))
      })
    })
  const cut = Effect.sync(destroyAll)
  const shut = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    destroyAll()
  })
  const port = yield* Effect.acquireRelease(listen(0), () => shut)
  const url = new URL(target)
  url.host = `127.0.0.1:${port}`
  return TcpProxy.of({
    url: Redacted.make(url.href),
    owns: (port) => [...pairs].some(({ far }) => far.localPort === port),
    cut,
    lead: (other) =>
      Effect.suspend(() => {
        const { hostname, port } = new URL(Redacted.value(other))
        beyond = { host: hostname, port: Number(port) }
        return cut
      }),
    whileCut: (effect) =>
      Effect.acquireUseRelease(
        shut,
        () => effect,
        () => listen(port)
      ),
    whileSilent: (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          state.silent = true
          for (const pair of pairs) pair.isSilent = true
        }),
        () => effect,
        () => Effect.sync(() => (state.silent = false))
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

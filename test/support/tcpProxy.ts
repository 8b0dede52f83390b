/** The cable between the service and its database, for tests to cut: a proxy on a port of its own. */
import { connect, createServer } from "node:net"
import type { Server, Socket } from "node:net"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Database from "../../src/layers/postgres/Database.ts"
import { services } from "../../src/layers/postgres/layer.ts"
import { freshDatabase } from "./database.ts"
import { logSigner } from "./logSigner.ts"
import { mailbox } from "./mailbox.ts"
import { gatewayOf } from "./services.ts"
import { settings } from "./settings.ts"

export class Cable extends Context.Service<
  Cable,
  {
    /** The proxied database. */
    readonly url: Redacted.Redacted
    /** Every connection breaks, and none comes about until the effect has ended. */
    readonly whileCut: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("auspex/test/Cable") {}

const listen = (server: Server, port: number) =>
  Effect.callback<number>((resume) => {
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : 0))
    })
  })

const make = Effect.gen(function* () {
  const target = new URL(Redacted.value(yield* freshDatabase))
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [one, other] of [
      [near, far],
      [far, near]
    ] as const) {
      open.add(one)
      one.on("error", () => other.destroy())
      one.on("close", () => {
        open.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  const port = yield* listen(server, 0)
  const cut = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    for (const socket of open) socket.destroy()
  })
  yield* Effect.addFinalizer(() => cut)
  const mend = listen(server, port)
  const url = new URL(target)
  url.port = String(port)
  return Cable.of({
    url: Redacted.make(url.href),
    whileCut: (effect) =>
      Effect.acquireUseRelease(
        cut,
        () => effect,
        () => mend
      )
  })
})

export const cable = Layer.effect(Cable, make)

/** Every service, on the database at the end of the cable. */
export const cabledServices = gatewayOf().pipe(
  Layer.provideMerge(services),
  Layer.provideMerge(
    Layer.mergeAll(
      Layer.unwrap(Effect.map(Cable, ({ url }) => Database.client(url))),
      settings(),
      mailbox,
      logSigner()
    )
  )
)

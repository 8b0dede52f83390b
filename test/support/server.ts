/**
 * The whole API on a real socket of a free loopback port, over real PostgreSQL: `layer(testServer())("Registration", (it) => ...)`.
 * Its parts are available, too: any service, `SqlClient`, `Settings`.
 */
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { listening } from "../../src/http/DrainingServer.ts"
import type { Timeouts } from "../../src/http/DrainingServer.ts"
import { layer as http } from "../../src/http/server.ts"
import { Settings } from "../../src/services/Settings.ts"
import { TestServer } from "./requests.ts"
import { noIdentityProvider, nothingSold, testServices } from "./services.ts"

export * from "./requests.ts"

type Services = ReturnType<typeof testServices>
type Everything = Layer.Success<Services>

/** Listens with the configured limits. */
export const listeningAsSet = (options: Omit<Parameters<typeof listening>[0], "rules">) =>
  Layer.unwrap(Effect.map(Settings, (rules) => listening({ ...options, rules })))

/**
 * `swap` replaces services: their dependents are built anew on top, because a layer is built once (see
 * test/ops/swap.test.ts).
 */
export const testServer = <Swapped = never, Needs = never>(
  options: {
    readonly environment?: Readonly<Record<string, string>>
    /** Services that were composed elsewhere. */
    readonly services?: Layer.Layer<Everything, Layer.Error<Services>, Needs>
    readonly swap?: Layer.Layer<Swapped, never, Everything>
    readonly timeouts?: Timeouts
    /** The port, for tests that must know it before the server is there; otherwise any free one. */
    readonly port?: number
  } = {}
) => {
  const services: Layer.Layer<Everything, Layer.Error<Services>, Needs> = options.services ??
  testServices(options.environment)
  const swapped = (options.swap ?? Layer.empty).pipe(
    Layer.provideMerge(Layer.provideMerge(Layer.merge(noIdentityProvider, nothingSold), services))
  )
  const node = listeningAsSet({
    timeouts: options.timeouts,
    host: "127.0.0.1",
    port: options.port ?? 0
  })
  const server = Layer.effect(
    TestServer,
    Effect.map(HttpServer.HttpServer, ({ address }) => {
      const url = HttpServer.formatAddress(address)
      return { url, port: Number(new URL(url).port) }
    })
  )
  return server.pipe(Layer.provideMerge(http), Layer.provide(node), Layer.provideMerge(swapped))
}

/** The metrics of the listener for operations. */
export const metrics = PrometheusMetrics.format({ prefix: "auspex" })

/** The whole API on a real loopback socket, in front of a fresh PostgreSQL database; no limit is in the way. */
import { Layer, References } from "effect"
import { layer as http } from "../../../src/http/server.ts"
import { listeningAsSet } from "../server.ts"
import { noIdentityProvider, nothingSold, testServices } from "../services.ts"

const unhindered = {
  AUSPEX_PROVISIONAL_PREDICTION_LIMIT: "1000000",
  AUSPEX_GATEWAY_KEYS_PER_AGENT: "10000",
  AUSPEX_MAX_WEBHOOKS: "1000",
  // Dates that are generated lie years ahead.
  AUSPEX_GATEWAY_KEY_MAX_TTL: "10000 days"
}

/** Keeps the services in reach, for what cannot be prepared over HTTP without waiting for the clock. */
export const server = http.pipe(
  Layer.provideMerge(
    listeningAsSet({
      host: "127.0.0.1",
      port: 0,
      gracefulShutdownTimeout: "1 second"
    })
  ),
  Layer.provide([noIdentityProvider, nothingSold]),
  Layer.provideMerge(testServices(unhindered)),
  // A refused request is no news here; a fault is.
  Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
)

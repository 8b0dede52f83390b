/** The whole API on a real loopback socket, in front of a fresh PostgreSQL database; limits leave room. */
import { Layer, References } from "effect"
import { layer as http } from "../../../src/http/server.ts"
import { listeningAsSet } from "../server.ts"
import { noIdentityProvider, nothingSold, testServices } from "../services.ts"

const unhindered = {
  AUSPEX_PROVISIONAL_PREDICTION_LIMIT: "1000000",
  AUSPEX_GATEWAY_KEYS_PER_AGENT: "10000",
  AUSPEX_MAX_WEBHOOKS: "1000",
  // Generated dates are years ahead.
  AUSPEX_GATEWAY_KEY_MAX_TTL: "10000 days"
}

/** This keeps the services accessible, for data that cannot be made over HTTP without waiting for the clock. */
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
  // Rejected requests are expected here; faults are not.
  Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
)

/** Settings for what the bench runs of the service in its own process. */
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { load } from "../src/config.ts"
import { scheduleNames } from "../src/services/Schedules.ts"
import { Settings } from "../src/services/Settings.ts"
import { adminToken, serverEnvironment, tokenSecret } from "./world.ts"

export const settings = (url: string) =>
  Layer.effect(
    Settings,
    Effect.map(load, ({ rules }) => ({
      ...rules,
      // What they read is measured; prices come from no source here.
      schedules: scheduleNames,
      tokenSecret: Redacted.make(tokenSecret),
      adminToken: Redacted.make(adminToken),
      disposableDomains: new Set<string>()
    }))
  ).pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: serverEnvironment(url, 1) }))))

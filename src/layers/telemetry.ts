/** Logs as operations staff read them, and OTLP export of traces, metrics and logs when an endpoint is configured. */
import { Layer, Logger, References } from "effect"
import type { LogLevel } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"

/** One JSON object a line, or lines for a person at a terminal. */
export const logs = (options: { readonly format: "json" | "pretty"; readonly level: LogLevel.LogLevel }) =>
  Layer.mergeAll(
    Logger.layer([options.format === "json" ? Logger.consoleJson : Logger.consolePretty()]),
    Layer.succeed(References.MinimumLogLevel, options.level)
  )

/** Without a collector no spans are built at all: nobody would see them, and a request makes dozens. */
export const untraced = Layer.succeed(References.TracerEnabled, false)

/** Everything to an OpenTelemetry collector that speaks OTLP over HTTP with JSON. */
export const otlp = (endpoint: string) =>
  Otlp.layerJson({
    baseUrl: endpoint,
    resource: { serviceName: "auspex", serviceVersion: "0.1.0" },
    loggerMergeWithExisting: true
  }).pipe(Layer.provide(FetchHttpClient.layer))

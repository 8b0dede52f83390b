/** Logs as operations staff read them, and OTLP export of traces, metrics and logs when an endpoint is configured. */
import { Layer, Logger, Option, References } from "effect"
import type { LogLevel } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"

export interface Observed {
  readonly format: "json" | "pretty"
  readonly level: LogLevel.LogLevel
  /** Where a collector is. */
  readonly endpoint: Option.Option<string>
}

/** One JSON object a line, or lines for a person at a terminal. */
const logs = ({ format, level }: Observed) =>
  Layer.mergeAll(
    Logger.layer([format === "json" ? Logger.consoleJson : Logger.consolePretty()]),
    Layer.succeed(References.MinimumLogLevel, level)
  )

/** Without a collector no spans are built at all: nobody would see them, and a request makes dozens. */
export const untraced = Layer.succeed(References.TracerEnabled, false)

/** Everything to an OpenTelemetry collector that speaks OTLP over HTTP with JSON. */
const otlp = (endpoint: string) =>
  Otlp.layerJson({
    baseUrl: endpoint,
    resource: { serviceName: "auspex", serviceVersion: "0.1.0" },
    loggerMergeWithExisting: true
  }).pipe(Layer.provide(FetchHttpClient.layer))

/** Everything that this process tells of itself. The collector is sent what is also logged here, so it is laid over our logger. */
export const observed = (options: Observed) =>
  Layer.provideMerge(Option.match(options.endpoint, { onNone: () => untraced, onSome: otlp }), logs(options))

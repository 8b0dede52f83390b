/** What is logged, and where traces and metrics go; part of the table in `src/config.ts`. */
import { Option } from "effect"
import type { LogLevel } from "effect"
import { oneOf, plain, ratio, webBase } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

const logLevels: ReadonlyArray<LogLevel.LogLevel> = ["Fatal", "Error", "Warn", "Info", "Debug", "Trace"]

export const telemetrySettings = {
  logFormat: plain<"json" | "pretty">({
    name: "AUSPEX_LOG_FORMAT",
    defaultText: null,
    takes: "json | pretty (default: pretty on a terminal, else json)",
    meaning: "How log lines look.",
    parse: (text) => (text === "json" || text === "pretty" ? Option.some(text) : Option.none())
  }),
  logLevel: oneOf(
    "AUSPEX_LOG_LEVEL",
    logLevels,
    "Info",
    "What is logged; Debug has a line for every request."
  ),
  otlpEndpoint: plain({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    defaultText: null,
    takes: "an http or https URL",
    meaning: "An OpenTelemetry collector (OTLP over HTTP) for traces, metrics and logs.",
    parse: webBase
  }),
  traceRatio: ratio(
    "OTEL_TRACES_SAMPLER_ARG",
    "0.01",
    "The share of requests whose spans are built and sent to the collector."
  )
} satisfies Record<string, Setting<unknown>>

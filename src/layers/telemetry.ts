/** Logs for operations staff, and OTLP export of traces, metrics and logs if an endpoint is configured. */
import { Array as Arr, Cause, Effect, Formatter, Layer, Logger, Option, References } from "effect"
import type { LogLevel } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { rootCause, storeUnavailableIn } from "../services/domain/errors.ts"

export interface Observed {
  readonly format: "json" | "pretty"
  readonly level: LogLevel.LogLevel
  /** The address of the collector. */
  readonly endpoint: Option.Option<string>
  readonly about: About
}

/** The members of each line that describe the process. */
export interface About {
  readonly service: "auspex"
  readonly version: string
  /** Distinguishes processes, on one machine and on many. */
  readonly instance: string
  /** `api`, `jobs`, or both. */
  readonly role: string
  readonly pid: number
}

const json = (about: About) =>
  Logger.make<unknown, string>((options) => {
    const { timestamp, level, message, annotations, ...line } = Logger.formatStructured.log(options)
    const failed = options.cause.reasons.length > 0
    return Formatter.formatJson({
      timestamp,
      level,
      message,
      ...about,
      annotations: { ...annotations, ...(failed && errorFields(Cause.squash(options.cause))) },
      ...line
    })
  })

const errorFields = (error: unknown) => {
  const { code, message, type } = rootCause(error)
  return { error_type: type, error_code: code, error_message: message }
}

/** The log has one JSON object a line, or lines for a person at a terminal. */
const logs = ({ about, format, level }: Observed) =>
  Layer.mergeAll(
    Logger.layer([format === "json" ? Logger.withConsoleLog(json(about)) : Logger.consolePretty()]),
    Layer.succeed(References.MinimumLogLevel, level)
  )

/** Without a collector no spans are made: nobody would see them, and a request makes dozens. */
export const untraced = Layer.succeed(References.TracerEnabled, false)

/** Sends everything to an OpenTelemetry collector that accepts OTLP over HTTP with JSON. */
const otlp = (endpoint: string, { instance, pid, role, service, version }: About) =>
  Otlp.layerJson({
    baseUrl: endpoint,
    resource: {
      serviceName: service,
      serviceVersion: version,
      attributes: { "service.instance.id": instance, "process.pid": pid, "auspex.role": role }
    },
    loggerMergeWithExisting: true
  }).pipe(Layer.provide(FetchHttpClient.layer))

const outageInterval = 10_000

/**
 * During an outage of the database, each message and SQLSTATE is logged once an interval, with the number of repetitions, and without a
 * stack, which is useless then.
 */
export const outagesOnce = Layer.effect(
  Logger.CurrentLoggers,
  Effect.map(Logger.CurrentLoggers, (loggers) => {
    const lastLogged = new Map<string, { readonly at: number; readonly repetitions: number }>()
    const logger = Logger.make<unknown, void>((options) => {
      const [away] = storeUnavailableIn(options.cause)
      if (away === undefined) {
        for (const each of loggers) each.log(options)
        return
      }
      const fields = errorFields(away)
      const message = Arr.ensure(options.message).join(" ")
      const kind = `${message} ${fields.error_code}`
      const now = options.date.getTime()
      const { at, repetitions } = lastLogged.get(kind) ?? { at: Number.NEGATIVE_INFINITY, repetitions: 0 }
      const times = repetitions + 1
      if (now - at < outageInterval) {
        lastLogged.set(kind, { at, repetitions: times })
        return
      }
      lastLogged.set(kind, { at: now, repetitions: 0 })
      Effect.logWarning(message).pipe(
        Effect.annotateLogs({ ...fields, times }),
        Effect.provideService(Logger.CurrentLoggers, loggers),
        Effect.runForkWith(options.fiber.context)
      )
    })
    return new Set([logger])
  })
)

/** All telemetry of this process. The collector also gets the log, so its logger is added to ours. */
export const observed = (options: Observed) =>
  outagesOnce.pipe(
    Layer.provideMerge(
      Option.match(options.endpoint, {
        onNone: () => untraced,
        onSome: (endpoint) => otlp(endpoint, options.about)
      })
    ),
    Layer.provideMerge(logs(options))
  )

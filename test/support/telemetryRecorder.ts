/** Everything that a server logs and traces, kept for a test to check. */
import { Cause, Context, Effect, Layer, Logger, References, Tracer } from "effect"
import { outagesOnce } from "../../src/layers/telemetry.ts"

export class TelemetryRecorder extends Context.Service<
  TelemetryRecorder,
  {
    /** Each line as operations staff would get it, the causes of failures included. */
    readonly lines: ReadonlyArray<string>
    readonly spans: ReadonlyArray<Tracer.NativeSpan>
  }
>()("auspex/test/TelemetryRecorder") {}

/** The text of a span, its failure included. */
export const spanText = (span: Tracer.NativeSpan): string =>
  JSON.stringify(
    {
      name: span.name,
      attributes: Object.fromEntries(span.attributes),
      events: span.events,
      failure:
        span.status._tag === "Ended" && span.status.exit._tag === "Failure"
          ? Cause.pretty(span.status.exit.cause)
          : null
    },
    (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)
  )

export const telemetryRecorder = Layer.unwrap(
  Effect.sync(() => {
    const lines: Array<string> = []
    const spans: Array<Tracer.NativeSpan> = []
    const logger = Logger.map(Logger.formatJson, (line) => {
      lines.push(line)
    })
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return Layer.mergeAll(
      Layer.succeed(TelemetryRecorder, { lines, spans }),
      outagesOnce.pipe(Layer.provide(Logger.layer([logger]))),
      Layer.succeed(References.MinimumLogLevel, "Trace"),
      Layer.succeed(Tracer.Tracer, tracer)
    )
  })
)

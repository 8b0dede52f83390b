/** Instants as an operator writes them: ISO 8601, or from now: "in 2 hours", "90 minutes", "45s". */
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import { Instant } from "../../src/services/text.ts"
import { CommandFailed } from "../client/connection.ts"

const units: ReadonlyArray<readonly [name: RegExp, milliseconds: number]> = [
  [/^(s|secs?|seconds?)$/, 1000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
  [/^(w|weeks?)$/, 604_800_000]
]

const fromNow = (text: string): Option.Option<Duration.Duration> => {
  const shape = /^(?:in\s+)?(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text.trim().toLowerCase())
  const unit = units.find(([name]) => name.test(shape?.[2] ?? ""))
  return shape === null || unit === undefined
    ? Option.none()
    : Option.some(Duration.millis(Number(shape[1]) * unit[1]))
}

const decodeInstant = Schema.decodeUnknownEffect(Instant)

/** The instant that `text` means when it is `now`. */
export const instantOf = (flag: string, text: string, now: DateTime.Utc) =>
  Option.match(fromNow(text), {
    onSome: (distance) => Effect.succeed(DateTime.addDuration(now, distance)),
    onNone: () =>
      decodeInstant(text).pipe(
        Effect.mapError(
          () =>
            new CommandFailed({
              message: `--${flag} ${JSON.stringify(text)} is no instant: expected for example 2026-01-31T12:00:00Z or "in 2 hours".`
            })
        )
      )
  })

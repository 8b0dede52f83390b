/** Durations and limits as text. */
import { Duration } from "effect"
import type { RateLimit } from "../../services/Settings.ts"

const units: ReadonlyArray<readonly [name: string, millis: number]> = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000]
]

/** `7 days`, `90 seconds`: in the largest unit without a remainder. */
export const durationText = (duration: Duration.Duration): string => {
  const millis = Duration.toMillis(duration)
  const [name, size] = units.find(([, each]) => millis % each === 0) ?? ["millisecond", 1]
  const count = millis / size
  return `${count} ${name}${count === 1 ? "" : "s"}`
}

export const limitText = (limits: ReadonlyArray<RateLimit>): string =>
  limits.map(({ count, window }) => `${count} per ${durationText(window).replace(/^1 /, "")}`).join(" and ")

/** The arithmetic of sliding windows in two buckets: where a moment lies in one, and what is counted there. */
import { Duration, Schema } from "effect"
import type { LimitName, RateLimit } from "../../services/Settings.ts"

/** Uses in the bucket of now, and in the one before. */
export const Counts = Schema.Struct({ current: Schema.Int, previous: Schema.Int })

/** A moment in a window, in milliseconds: whole numbers, so that waiting as long as was said is enough to the digit. */
export interface Moment {
  readonly key: string
  readonly bucket: number
  readonly window: number
  /** Since the bucket began. */
  readonly elapsed: number
}

/** Uses times milliseconds: what lies within the window now. */
export const weight = (counts: typeof Counts.Type, { window, elapsed }: Moment): number =>
  counts.previous * (window - elapsed) + counts.current * window

/** Seconds until one more use fits, when nothing else is counted meanwhile. */
export const retryAfter = (
  limit: RateLimit,
  counts: typeof Counts.Type,
  { window, elapsed }: Moment
): number => {
  const room = limit.count - 1
  // In this bucket only the previous count fades; in the next one the current count is the previous.
  const wait =
    counts.current <= room
      ? window - elapsed - ((room - counts.current) * window) / Math.max(counts.previous, 1)
      : window - elapsed + window - (room * window) / counts.current
  return Math.max(1, Math.ceil(Math.ceil(wait) / 1000))
}

/** A use that is asked for. */
export interface Use {
  readonly name: LimitName
  readonly subject: string
  readonly limit: RateLimit
  readonly now: number
}

/** A use that its window has no room for. */
export interface Full extends Use {
  readonly counts: typeof Counts.Type
  readonly moment: Moment
}

export const locate = ({ limit, name, subject }: Use, now: number): Moment => {
  const window = Duration.toMillis(limit.window)
  const bucket = Math.floor(now / window)
  return { key: `${name}:${window}:${subject}`, bucket, window, elapsed: now - bucket * window }
}

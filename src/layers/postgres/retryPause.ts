/** The pause before the next attempt at something that failed: it doubles with every failure from the first one on. */
import { Duration } from "effect"

export const doublingPause = (failures: number, first: Duration.Duration, max: Duration.Duration) =>
  Duration.min(Duration.times(first, 2 ** Math.min(failures - 1, 20)), max)

/** The pause before the next attempt at something that has failed and whose failures are counted in a row. */
import { Duration } from "effect"

/** The pause doubles with every failure from the first one on, up to the maximum. */
export const doublingPause = (
  failures: number,
  { first, max }: { readonly first: Duration.Duration; readonly max: Duration.Duration }
): Duration.Duration => Duration.min(Duration.times(first, 2 ** Math.min(failures - 1, 20)), max)

/** When the sequencer of the public log looks again. */
import { Duration } from "effect"

/** What was recorded has its index, and is under a signature, within about a second. */
export const logInterval = Duration.seconds(1)

/** Never sooner, for each pass costs the predictions beside it something, however few entries it takes. */
export const shortestPause = Duration.millis(250)

/** Nor many at once, for then they wait for it for longer (docs/performance.md). */
const worthAPass = 256

/** After a pass that took so many entries, which had gathered for so long: until about 256 wait, or a second is over. */
export const pauseAfter = (entries: number, gathered: Duration.Duration): Duration.Duration =>
  entries === 0
    ? logInterval
    : Duration.clamp(Duration.times(gathered, worthAPass / entries), {
        minimum: shortestPause,
        maximum: logInterval
      })

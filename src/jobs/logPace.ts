/** When the sequencer of the public log looks again. */
import { Duration } from "effect"
import { maxPerPass } from "../services/LogKeeper.ts"

/** What was recorded has its index, and is under a signature, within about a second. */
export const logInterval = Duration.seconds(1)

/** Never sooner, for each pass costs the predictions beside it something, however few entries it takes. */
export const minPause = Duration.millis(250)

/** Nor before about as many wait as one pass takes (docs/performance.md). */
const worthAPass = maxPerPass

/** After a pass that took so many entries, which had gathered for so long: until about 1024 wait, or a second is over. */
export const pauseAfter = (entries: number, gathered: Duration.Duration): Duration.Duration =>
  entries === 0
    ? logInterval
    : Duration.clamp(Duration.times(gathered, worthAPass / entries), {
        minimum: minPause,
        maximum: logInterval
      })

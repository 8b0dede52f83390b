/**
 * Ids of calls: UUIDs of version 7 (RFC 9562 5.7), each greater than the one before, for calls of one time are listed by them.
 * Time and a count stand in front of the end of a random one, of which Node keeps a store: no fiber is needed for it.
 */
import { randomUUID } from "node:crypto"

/** The version, and the count behind it: `7000` to `7fff`. */
const firstOfMillisecond = 0x7000
const lastOfMillisecond = 0x7fff
/** Of `xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx`, what both versions have. */
const variant = 18

export const makeCallIds = () => {
  let millis = -1
  let count = lastOfMillisecond
  let time = ""

  /** At this time, in milliseconds since 1970. */
  return (now: number): string => {
    count += 1
    // The time of a clock that goes back, or of more than a count has room for, is a little ahead.
    if (now > millis || count > lastOfMillisecond) {
      millis = Math.max(now, millis + 1)
      count = firstOfMillisecond
      const digits = millis.toString(16).padStart(12, "0")
      time = `${digits.slice(0, 8)}-${digits.slice(8)}-`
    }
    return time + count.toString(16) + randomUUID().slice(variant)
  }
}

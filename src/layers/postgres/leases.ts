/**
 * Uses of a window that are counted before they happen, for a subject that comes often: one statement for many of them.
 * Nobody ever gets more than the limit; what was leased for nothing is given back within a second. A window that is half
 * full leases nothing, so that a use is not refused because of a lease elsewhere.
 */
import { Duration, Latch } from "effect"

/** So often leases are looked at, and what is left of them is given back. */
export const leaseDuration = Duration.millis(500)

const largestLease = 64
/** A lease is at most this part of a limit. */
const leastShare = 20

/** Where a window is, and in which of its buckets. */
interface Place {
  readonly key: string
  readonly bucket: number
}

interface Lease {
  bucket: number
  left: number
  /** Uses since the last look at it, and between the two before. */
  used: number
  usedBefore: number
  since: number
  isHalfFull: boolean
}

/** Uses that were counted and did not happen. */
export interface Unused extends Place {
  readonly uses: number
}

export const makeLeases = () => {
  const leases = new Map<string, Lease>()
  /** Open while there are leases: without any, no time is counted. */
  const busy = Latch.makeUnsafe(false)
  const millis = Duration.toMillis(leaseDuration)
  const outlived: Array<Unused> = []

  const end = (key: string, lease: Lease) => {
    if (lease.left > 0) outlived.push({ key, bucket: lease.bucket, uses: lease.left })
    lease.left = 0
  }

  return {
    busy,

    has: ({ bucket, key }: Place): boolean => {
      const lease = leases.get(key)
      return lease !== undefined && lease.bucket === bucket && lease.left > 0
    },

    /** Whether there was one to take. */
    take: ({ bucket, key }: Place): boolean => {
      const lease = leases.get(key)
      if (lease === undefined || lease.bucket !== bucket || lease.left === 0) return false
      lease.left -= 1
      lease.used += 1
      return true
    },

    /** How many uses to ask for where none is left: as many as will come if they go on as they come now. */
    next: ({ key }: Place, limit: number): number => {
      const lease = leases.get(key)
      if (lease === undefined || lease.isHalfFull) return 1
      const expected = Math.max(lease.used, lease.usedBefore)
      return Math.max(1, Math.min(expected, largestLease, Math.floor(limit / leastShare)))
    },

    /** Keeps what was granted beyond the use that asked. */
    keep: ({ bucket, key }: Place, now: number, granted: number, isHalfFull: boolean): void => {
      const lease = leases.get(key) ?? { bucket, left: 0, used: 0, usedBefore: 0, since: now, isHalfFull }
      if (lease.bucket !== bucket) end(key, lease)
      leases.set(key, lease)
      lease.bucket = bucket
      lease.left += granted
      lease.used += 1
      lease.isHalfFull = isHalfFull
      busy.openUnsafe()
    },

    /** Those that were not used up in time, no longer to be taken. */
    expired: (now: number): ReadonlyArray<Unused> => {
      for (const [key, lease] of leases) {
        if (now - lease.since < millis) continue
        end(key, lease)
        if (lease.used === 0) leases.delete(key)
        lease.since = now
        lease.usedBefore = lease.used
        lease.used = 0
      }
      if (leases.size === 0) busy.closeUnsafe()
      return outlived.splice(0)
    }
  }
}

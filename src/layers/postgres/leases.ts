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

/** Uses between one look and the next. So many twice in a row: as many are to come. */
const steadyUses = 4

/** Where a window is, and in which of its buckets. */
interface Place {
  readonly key: string
  readonly bucket: number
}

interface Lease<Of> {
  readonly of: Of
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

/** Uses to be asked for ahead, of what was leased. */
export interface Wanted<Of> {
  readonly of: Of
  readonly uses: number
}

interface Looked<Of> {
  readonly unused: ReadonlyArray<Unused>
  readonly wanted: ReadonlyArray<Wanted<Of>>
}

/** The most that is leased of a limit. */
const largestOf = (limit: number): number => Math.min(largestLease, Math.floor(limit / leastShare))

/** Of windows that are told apart by their keys; what is leased is kept with them. */
export const makeLeases = <Of extends { readonly limit: { readonly count: number } }>() => {
  const leases = new Map<string, Lease<Of>>()
  /** Open while there are leases: without any, no time is counted. */
  const busy = Latch.makeUnsafe(false)
  const millis = Duration.toMillis(leaseDuration)
  const outlived: Array<Unused> = []

  const giveBack = (key: string, lease: Lease<Of>, uses: number) => {
    if (uses <= 0) return
    outlived.push({ key, bucket: lease.bucket, uses })
    lease.left -= uses
  }

  const add = (key: string, lease: Lease<Of>, bucket: number, granted: number, isHalfFull: boolean) => {
    if (lease.bucket !== bucket) giveBack(key, lease, lease.left)
    lease.bucket = bucket
    lease.left += granted
    lease.isHalfFull = isHalfFull
  }

  /** What a lease is to hold until it is looked at again: of what comes now and then nothing. */
  const toHold = ({ isHalfFull, of, used, usedBefore }: Lease<Of>): number =>
    isHalfFull || Math.min(used, usedBefore) < steadyUses
      ? 0
      : Math.min(Math.ceil(used * 1.25), largestOf(of.limit.count))

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
      return Math.max(1, Math.min(expected, largestOf(limit)))
    },

    /** Keeps what was granted beyond the use that asked. */
    keep: (of: Of, { bucket, key }: Place, now: number, granted: number, isHalfFull: boolean): void => {
      const lease = leases.get(key) ?? { of, bucket, left: 0, used: 0, usedBefore: 0, since: now, isHalfFull }
      leases.set(key, lease)
      add(key, lease, bucket, granted, isHalfFull)
      lease.used += 1
      busy.openUnsafe()
    },

    /** Keeps what was granted to fill it up. */
    fill: ({ bucket, key }: Place, granted: number, isHalfFull: boolean): void => {
      const lease = leases.get(key)
      if (lease === undefined) {
        if (granted > 0) outlived.push({ key, bucket, uses: granted })
        return
      }
      add(key, lease, bucket, granted, isHalfFull)
      // Somebody may have asked for more while this was on its way.
      giveBack(key, lease, lease.left - largestOf(lease.of.limit.count))
    },

    /** What was not used up in time, no longer to be taken; and what more of others will be. */
    look: (now: number): Looked<Of> => {
      const wanted: Array<Wanted<Of>> = []
      for (const [key, lease] of leases) {
        if (now - lease.since < millis) continue
        const most = toHold(lease)
        giveBack(key, lease, lease.left - most)
        if (lease.used === 0) leases.delete(key)
        if (lease.left < most) wanted.push({ of: lease.of, uses: most - lease.left })
        lease.since = now
        lease.usedBefore = lease.used
        lease.used = 0
      }
      if (leases.size === 0) busy.closeUnsafe()
      return { unused: outlived.splice(0), wanted }
    }
  }
}

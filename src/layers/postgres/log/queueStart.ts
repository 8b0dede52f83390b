/**
 * Where to begin reading the queue. Entries that were taken leave dead rows at its front until vacuum has been there,
 * and a scan from the very beginning would walk over all of them, every second.
 *
 * Nothing may be passed over: an id is given when a row is written, which is before its transaction commits, so a
 * smaller id can appear after a larger one was taken. An id is done with once every transaction that could have got it
 * has ended, which PostgreSQL's snapshots tell: all transactions before a snapshot's `xmin` have.
 */

/** What one look at the queue tells. Ids and transactions are opaque here; only PostgreSQL compares them. */
export interface Look {
  /** The last id that was given, read before `next` of any later look. */
  readonly assigned: string
  /** No transaction of this number, or a later one, had begun. */
  readonly next: string
  /** All transactions before the mark's `next` had ended. */
  readonly passed: boolean
}

export interface QueueStart {
  /** No row at or before this id is there, or ever will be. */
  readonly after: string
  /** Ids up to `assigned` belong to transactions before `next`. */
  readonly mark: { readonly assigned: string; readonly next: string }
  readonly seen: string
}

export const queueStart: QueueStart = { after: "0", mark: { assigned: "0", next: "0" }, seen: "0" }

/** What follows from a look; `emptied`: everything that it could see has been taken. */
export const advance = (start: QueueStart, look: Look, emptied: "emptied" | "left"): QueueStart =>
  look.passed && emptied === "emptied"
    ? {
        after: start.mark.assigned,
        // Ids of the look before this one, because this one may have read an id after its own snapshot was taken.
        mark: { assigned: start.seen, next: look.next },
        seen: look.assigned
      }
    : { ...start, seen: look.assigned }

/**
 * Finds connections that have fallen silent. A server's time limit for a statement never arrives where packets are lost, so each
 * statement also has a limit here: after it the connection is destroyed, and its callers fail.
 *
 * Time is counted in looks at the connections, not read from a clock: a process that was stopped for a while finds the answers that
 * arrived meanwhile before its next look.
 */
import { Clock, Duration, Effect } from "effect"

const interval = Duration.millis(250)

/** The time in which the server's own error about an exceeded time limit has to arrive. */
const grace = Duration.seconds(1)

/** The number of looks after which a statement with this limit on the server counts as unanswered. */
const looksWithin = (timeout: Duration.Duration): number =>
  Math.ceil(Duration.toMillis(Duration.sum(timeout, grace)) / Duration.toMillis(interval))

export interface Watched {
  /** Reports that a statement was sent, which may take this long on the server. */
  readonly sent: (timeout: Duration.Duration) => void
  /** Reports that the statement has ended. */
  readonly ended: () => void
  /** True after the connection was found silent and destroyed. */
  readonly isSilent: () => boolean
  /** The seconds that statements in flight have waited for an answer; 0 without any. */
  readonly age: () => number
  /** Removes a connection that has ended. */
  readonly forget: () => void
}

interface Entry {
  readonly opened: number
  readonly destroy: () => void
  heard: number
  /** The look since which statements in flight wait: that of the first one's sending, or of the last answer. */
  since: number | undefined
  inFlight: number
  limit: number
  isDoubted: boolean
  isSilent: boolean
}

/** Watches all connections to one server. `doubted` is the time limit of statements on connections that are probably silent, too. */
export const makeWatch = Effect.fnUntraced(function* (doubted: Duration.Duration) {
  const entries = new Set<Entry>()
  let now = 0

  const destroy = (entry: Entry) => {
    entry.isSilent = true
    entries.delete(entry)
    entry.destroy()
  }

  /**
   * Destroys a silent connection. Others without an answer since that look are probably silent, too. Idle ones are destroyed as well;
   * those at work get a shorter time limit, but only if no connection at all has had an answer since: otherwise the network works, and
   * only a single connection's packets were lost.
   */
  const silent = (entry: Entry, since: number) => {
    destroy(entry)
    const others = [...entries].filter(({ opened }) => opened <= since)
    const quiet = others.filter(({ heard }) => heard <= since)
    for (const other of quiet) {
      if (other.since === undefined) destroy(other)
      else other.isDoubted ||= quiet.length === others.length
    }
  }

  const look = Effect.sync(() => {
    now += 1
    for (const entry of entries) {
      const { isDoubted, limit, since } = entry
      if (since === undefined) continue
      if (now - since > (isDoubted ? Math.min(limit, looksWithin(doubted)) : limit)) silent(entry, since)
    }
  })
  yield* look.pipe(
    Effect.delay(interval),
    Effect.forever,
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
    Effect.forkScoped
  )

  return (destroySocket: () => void): Watched => {
    const entry: Entry = {
      opened: now,
      destroy: destroySocket,
      heard: now,
      since: undefined,
      inFlight: 0,
      limit: 0,
      isDoubted: false,
      isSilent: false
    }
    entries.add(entry)
    return {
      sent: (timeout) => {
        entry.inFlight += 1
        entry.since ??= now
        entry.limit = Math.max(entry.inFlight === 1 ? 0 : entry.limit, looksWithin(timeout))
      },
      ended: () => {
        entry.inFlight -= 1
        entry.heard = now
        entry.isDoubted = false
        entry.since = entry.inFlight === 0 ? undefined : now
      },
      isSilent: () => entry.isSilent,
      age: () => (entry.since === undefined ? 0 : ((now - entry.since) * Duration.toMillis(interval)) / 1000),
      forget: () => entries.delete(entry)
    }
  }
})

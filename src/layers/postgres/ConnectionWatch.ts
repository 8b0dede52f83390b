/**
 * Finds connections that have fallen silent. A server's time limit for a statement never arrives where packets are lost, so
 * each statement also has a limit here, after which its connection is destroyed and whoever waits for it fails.
 *
 * Time is counted in looks at the connections, not read from a clock: a process that was stopped for a while finds the
 * answers that came meanwhile before its next look.
 */
import { Clock, Duration, Effect } from "effect"

const interval = Duration.millis(250)

/** What the server's own time limit for a statement takes to arrive. */
const grace = Duration.seconds(1)

/** After how many looks a statement that may take so long on the server counts as unanswered. */
const looksWithin = (timeout: Duration.Duration): number =>
  Math.ceil(Duration.toMillis(Duration.sum(timeout, grace)) / Duration.toMillis(interval))

export interface Watched {
  /** A statement is on its way, which may take so long on the server. */
  readonly sent: (timeout: Duration.Duration) => void
  /** It has ended. */
  readonly ended: () => void
  /** Whether it was found silent, and so destroyed. */
  readonly isSilent: () => boolean
  /** The seconds that the statement in flight has taken; 0: there is none. */
  readonly age: () => number
  /** It is no longer there. */
  readonly forget: () => void
}

interface Entry {
  readonly opened: number
  readonly destroy: () => void
  heard: number
  /** Since when a statement is in flight. */
  since: number | undefined
  inFlight: number
  limit: number
  isDoubted: boolean
  isSilent: boolean
}

/** For all connections to one server. `doubted` is the timeout for those that probably are silent, too. */
export const makeWatch = Effect.fnUntraced(function* (doubted: Duration.Duration) {
  const entries = new Set<Entry>()
  let now = 0

  const destroy = (entry: Entry) => {
    entry.isSilent = true
    entries.delete(entry)
    entry.destroy()
  }

  /**
   * Others that have heard nothing since are probably silent, too. Idle ones are given up. Those at work only if no connection
   * at all has been heard since: else the network is there, and the flow of a single connection was lost.
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

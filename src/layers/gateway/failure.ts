/** Why a candidate did not serve, before anything was delivered: the next one is tried. */

/** Stable words for metrics, logs and traces; what a provider says in its own words may quote a prompt. */
export type FailureKind = "connect" | "timeout" | "status" | "error_event" | "malformed" | "ended" | "empty"

export interface Failure {
  readonly kind: FailureKind
  /** Of an answer that was an error. */
  readonly status: number | null
  readonly retryAfterMillis: number | undefined
}

export const failure = (kind: FailureKind): Failure => ({ kind, status: null, retryAfterMillis: undefined })

/** RFC 9110 10.2.3: seconds, or a date. */
export const retryAfterMillis = (header: unknown, now: () => number): number | undefined => {
  if (typeof header !== "string") return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now())
}

const shortestWait = 1
const longestWait = 60
/** What a client is asked to wait where no provider said anything. */
const usualWait = 5

/** In seconds; undefined unless every provider was busy. */
export const leastRetryAfter = (failures: ReadonlyArray<Failure>): number | undefined => {
  if (failures.length === 0 || failures.some(({ status }) => status !== 429)) return undefined
  const waits = failures.map(({ retryAfterMillis: millis }) =>
    millis === undefined ? usualWait : Math.ceil(millis / 1000)
  )
  return Math.min(longestWait, Math.max(shortestWait, Math.min(...waits)))
}

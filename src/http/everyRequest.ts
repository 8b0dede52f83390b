/** What holds for every request, whoever answers it: the edge (middleware/edge.ts), or what stands in front of it. */
import { randomUUID } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { Effect, Metric } from "effect"
import type { Cause } from "effect"
import { storeUnavailableIn } from "../services/errors.ts"
import { withoutPrefixed } from "../services/ownSecrets.ts"

export const pathOf = (url: string) => url.split("?", 1).join("")

const acceptedId = /^[A-Za-z0-9._-]{1,128}$/

/** The id that was sent, or one of ours: ids are logged, traced and kept, so one that holds a secret is not taken. */
export const requestIdOf = (sent: string | undefined): string =>
  sent !== undefined && acceptedId.test(sent) && withoutPrefixed(sent) === sent ? sent : randomUUID()

const requestDuration = (attributes: Record<string, string>) =>
  Metric.histogram("http_request_duration_seconds", {
    description: "Time from a request's arrival to its response, by method, route and status",
    boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    attributes
  })

type Duration = ReturnType<typeof requestDuration>

/**
 * The histograms of one route by status, made with their attributes: given to them with each update these would be written
 * as text each time, which costs more than counting.
 */
export const durationsOf = (method: string, route: string) => {
  const durations = new Map<number, Duration>()
  return (status: number): Duration => {
    const known = durations.get(status)
    if (known !== undefined) return known
    const made = requestDuration({ method, route, status: String(status) })
    durations.set(status, made)
    return made
  }
}

const routes = new Map<string, ReturnType<typeof durationsOf>>()

/** The histogram of one kind of request. */
export const durationOf = (method: string, route: string, status: number): Duration => {
  const key = `${method} ${route}`
  const known = routes.get(key)
  if (known !== undefined) return known(status)
  const made = durationsOf(method, route)
  routes.set(key, made)
  return made(status)
}

export interface Refusal {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly retry_after?: number
  readonly headers?: Readonly<Record<string, string>>
}

export const unavailable = (detail: string): Refusal => ({
  status: 503,
  code: "unavailable",
  detail,
  retry_after: 1,
  headers: { "retry-after": "1" }
})

/** RFC 9112 3.2: one Host, which only HTTP/1.0 may leave out. Node takes the first of several. */
export const hasOneHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1
  }
  return hosts === 1 || (httpVersion === "1.0" && hosts === 0)
}

export const securityHeaders = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }

/** What is answered where a request failed by no fault of its own; the log says why. */
export const refusalOf = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
  const [away] = storeUnavailableIn(cause)
  if (away !== undefined) {
    // An outage is one story: its stack on every request would drown it.
    yield* Effect.logWarning("the database cannot be reached or is busy").pipe(
      Effect.annotateLogs({ reason: String(away.cause) })
    )
    return unavailable("The service cannot reach its database just now: try again shortly.")
  }
  yield* Effect.logError("request failed", cause)
  const failure: Refusal = {
    status: 500,
    code: "internal_error",
    detail: "Something went wrong on our side; the request id names it in our log."
  }
  return failure
})

/**
 * Decides which routes are tried last for a while: "A route that failed 3 times in a row cools down for 30 s (or what
 * Retry-After said); then one trial call decides." A route whose limit is reached (429 with a Retry-After) cools down at once.
 * Each instance keeps its own state in memory, because instances may reach providers by different networks.
 */
import type { RouteHealth } from "../../services/Gateway.ts"
import type { RouteSetting } from "./configuration.ts"

const failureThreshold = 3
const openMillis = 30_000
const maxOpenMillis = 3_600_000
/** A half-open probe without a result is given up after this long: its client may have left. */
const probeMillis = 30_000

interface Circuit {
  failures: number
  /** Epoch milliseconds, like all times in this file; 0 means closed. */
  openUntil: number
  openedAt: number
  /** The beginning of the half-open probe. */
  probeSince: number
}

/** Results of the attempts at a route since the process began. */
interface Recent {
  attempts: number
  failedAttempts: number
  /** Moving averages, in milliseconds. */
  latency: number | undefined
  firstByte: number | undefined
  lastFailure: { readonly outcome: string; readonly at: number } | undefined
}

export interface EndedAttempt {
  readonly millis: number
  /** The time is undefined if nothing of an answer came. */
  readonly firstByteMillis: number | undefined
  readonly outcome: string
  /** `rejected`: the provider refused the request; `left`: the client did not wait for the end. */
  readonly result: "ok" | "rejected" | "failed" | "left"
}

/** The known health of a route. */
export interface RouteState extends Readonly<Recent> {
  readonly health: RouteHealth["health"]
  readonly failuresInARow: number
  readonly coolingUntil: number | undefined
}

/** The weight of the latest value in a moving average. */
const latestWeight = 0.2

const averaged = (average: number | undefined, latest: number | undefined): number | undefined => {
  if (average === undefined || latest === undefined) return latest ?? average
  return average + latestWeight * (latest - average)
}

export interface CircuitFailure {
  /** The provider's limit is reached. */
  readonly isLimit: boolean
  readonly retryAfterMillis: number | undefined
}

const never = Number.NEGATIVE_INFINITY

export const routeId = ({ model, provider }: RouteSetting): string => `${provider.name}/${model}`

export const makeCircuitBreaker = () => {
  /** Routes whose latest call failed. */
  const circuits = new Map<string, Circuit>()
  const recents = new Map<string, Recent>()
  const recentOf = (id: string): Recent =>
    recents.get(id) ?? {
      attempts: 0,
      failedAttempts: 0,
      latency: undefined,
      firstByte: undefined,
      lastFailure: undefined
    }
  const healthOf = (circuit: Circuit | undefined, { attempts }: Recent, now: number) => {
    if (circuit === undefined) return attempts === 0 ? "untried" : "healthy"
    return now < circuit.openUntil ? "cooling" : "failing"
  }

  return {
    /** Tests whether the route is tried last for now. */
    isOpen: (route: RouteSetting, now: number): boolean => {
      const circuit = circuits.get(routeId(route))
      if (circuit === undefined || circuit.openUntil === 0) return false
      return now < circuit.openUntil || now - circuit.probeSince < probeMillis
    },
    /** Notes that a call begins: the first one after `openUntil` is the half-open probe. */
    begin: (route: RouteSetting, now: number): void => {
      const circuit = circuits.get(routeId(route))
      if (circuit !== undefined && circuit.openUntil !== 0 && now >= circuit.openUntil)
        circuit.probeSince = now
    },
    /** Records a call that began at this time. One that began before the circuit opened says nothing about the route now. */
    succeeded: (route: RouteSetting, beganAt: number): void => {
      const id = routeId(route)
      const circuit = circuits.get(id)
      if (circuit !== undefined && beganAt >= circuit.openedAt) circuits.delete(id)
    },
    failed: (route: RouteSetting, now: number, { isLimit, retryAfterMillis }: CircuitFailure): void => {
      const id = routeId(route)
      const circuit = circuits.get(id) ?? { failures: 0, openUntil: 0, openedAt: 0, probeSince: never }
      circuit.failures += 1
      if (circuit.failures >= failureThreshold || (isLimit && retryAfterMillis !== undefined)) {
        const until = now + Math.min(retryAfterMillis ?? openMillis, maxOpenMillis)
        circuit.openUntil = Math.max(circuit.openUntil, until)
        circuit.openedAt = now
        circuit.probeSince = never
      }
      circuits.set(id, circuit)
    },
    /** Records every attempt, whether or not it affects the circuit. */
    ended: (route: RouteSetting, now: number, attempt: EndedAttempt): void => {
      const id = routeId(route)
      const recent = recentOf(id)
      recent.attempts += 1
      if (attempt.result === "ok") recent.latency = averaged(recent.latency, attempt.millis)
      recent.firstByte = averaged(recent.firstByte, attempt.firstByteMillis)
      if (attempt.result === "failed") {
        recent.failedAttempts += 1
        recent.lastFailure = { outcome: attempt.outcome, at: now }
      }
      recents.set(id, recent)
    },
    stateOf: (route: RouteSetting, now: number): RouteState => {
      const id = routeId(route)
      const circuit = circuits.get(id)
      const recent = recentOf(id)
      const health = healthOf(circuit, recent, now)
      return {
        ...recent,
        health,
        failuresInARow: circuit?.failures ?? 0,
        coolingUntil: health === "cooling" ? circuit?.openUntil : undefined
      }
    }
  }
}

export type CircuitBreaker = ReturnType<typeof makeCircuitBreaker>

/**
 * Which routes are tried last for a while: "A route that failed 3 times in a row cools down for 30 s (or what Retry-After
 * said); then one trial call decides." One whose limit is reached (429 with a Retry-After) cools down at once. Kept in memory
 * per instance, because instances may reach providers by different networks.
 */
import type { RouteSetting } from "./configuration.ts"

const failureThreshold = 3
const openMillis = 30_000
const maxOpenMillis = 3_600_000
/** After this long a half-open probe that neither failed nor succeeded (its client left) is given up. */
const probeMillis = 30_000

interface Circuit {
  failures: number
  /** Epoch milliseconds, as all times here; 0: closed. */
  openUntil: number
  openedAt: number
  /** When the half-open probe began. */
  probeSince: number
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

  return {
    /** Whether the route is tried last for now. */
    isOpen: (route: RouteSetting, now: number): boolean => {
      const circuit = circuits.get(routeId(route))
      if (circuit === undefined || circuit.openUntil === 0) return false
      return now < circuit.openUntil || now - circuit.probeSince < probeMillis
    },
    /** Called before each call: the first after `openUntil` is the half-open probe. */
    begin: (route: RouteSetting, now: number): void => {
      const circuit = circuits.get(routeId(route))
      if (circuit !== undefined && circuit.openUntil !== 0 && now >= circuit.openUntil)
        circuit.probeSince = now
    },
    /** Of a call that began at this time: one that began before the circuit opened says nothing of the route as it is. */
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
    }
  }
}

export type CircuitBreaker = ReturnType<typeof makeCircuitBreaker>

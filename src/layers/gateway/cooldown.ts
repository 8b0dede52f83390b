/**
 * Which routes are left alone for a while: "A route that failed 3 times in a row cools down for 30 s (or what Retry-After
 * said); then one trial call decides." Kept per instance, for what one of them meets says little about another's network.
 */
import type { RouteSetting } from "./configuration.ts"

const failuresToCool = 3
const coolingMillis = 30_000
const longestCoolingMillis = 3_600_000

interface Health {
  failures: number
  /** In milliseconds; 0: not cooling. */
  until: number
  /** A call has been let through to see whether the route is back, at that time. */
  trialSince: number
}

export const routeId = ({ model, provider }: RouteSetting): string => `${provider.name}/${model}`

/** A trial whose call neither failed nor succeeded, as when its client left, leaves room for another after so long. */
const trialMillis = 30_000

export const makeCooldown = () => {
  /** Those that failed last: hardly ever any. */
  const routes = new Map<string, Health>()
  const healthOf = (route: RouteSetting) => (routes.size === 0 ? undefined : routes.get(routeId(route)))

  return {
    /** Whether the route goes to the end just now. */
    isCooling: (route: RouteSetting, now: number): boolean => {
      const health = healthOf(route)
      if (health === undefined || health.until === 0) return false
      return now < health.until || now - health.trialSince < trialMillis
    },
    /** A call is made by it: of those whose time is over, the first is the trial. */
    begin: (route: RouteSetting, now: number): void => {
      const health = healthOf(route)
      if (health !== undefined && health.until !== 0 && now >= health.until) health.trialSince = now
    },
    succeeded: (route: RouteSetting): void => {
      if (routes.size > 0) routes.delete(routeId(route))
    },
    failed: (route: RouteSetting, now: number, retryAfterMillis: number | undefined): void => {
      const id = routeId(route)
      const health = routes.get(id) ?? { failures: 0, until: 0, trialSince: Number.NEGATIVE_INFINITY }
      health.failures += 1
      if (health.failures >= failuresToCool) {
        health.until = now + Math.min(retryAfterMillis ?? coolingMillis, longestCoolingMillis)
        health.trialSince = Number.NEGATIVE_INFINITY
      }
      routes.set(id, health)
    }
  }
}

export type Cooldown = ReturnType<typeof makeCooldown>

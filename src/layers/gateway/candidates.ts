/** In which order the routes of a model are tried. */
import type { Style } from "../../services/Gateway.ts"
import type { RouteSetting } from "./configuration.ts"

/** Weighted random order without replacement: each next one is drawn by its weight among those that are left. */
const drawn = (routes: ReadonlyArray<RouteSetting>, random: () => number): ReadonlyArray<RouteSetting> => {
  const left = [...routes]
  const order: Array<RouteSetting> = []
  while (left.length > 1) {
    let point = random() * left.reduce((sum, { weight }) => sum + weight, 0)
    const index = left.findIndex(({ weight }) => {
      point -= weight
      return point < 0
    })
    order.push(...left.splice(Math.max(index, 0), 1))
  }
  return [...order, ...left]
}

/**
 * By ascending priority; within one, those that speak the called style before those that need translation; within these
 * by weighted chance. Routes that are cooling down go to the end, not away, in the same order.
 */
export const candidates = (
  routes: ReadonlyArray<RouteSetting>,
  style: Style,
  isCooling: (route: RouteSetting) => boolean,
  random: () => number
): ReadonlyArray<RouteSetting> => {
  const usable = routes.filter(({ provider }) => provider.style === style || provider.translates)
  if (usable.length < 2) return usable
  const priorities = [...new Set(usable.map(({ priority }) => priority))].sort((a, b) => a - b)
  const ordered = priorities.flatMap((priority) => {
    const equal = usable.filter((route) => route.priority === priority)
    return [
      ...drawn(
        equal.filter(({ provider }) => provider.style === style),
        random
      ),
      ...drawn(
        equal.filter(({ provider }) => provider.style !== style),
        random
      )
    ]
  })
  const cooling = new Set(ordered.filter(isCooling))
  return [...ordered.filter((route) => !cooling.has(route)), ...cooling]
}

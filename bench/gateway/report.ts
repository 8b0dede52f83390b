/** Tables of the gateway's scenario: figures, and ratios to the bare proxy of the same round. */
import { median } from "../measurement.ts"
import { fixed, table } from "../report.ts"
import { gatewayContenders } from "../scenarios/gateway.ts"
import type { GatewayCase, GatewayContender, Gatewayed } from "../scenarios/gateway.ts"
import type { CallMeasurement } from "./calls.ts"

const names: Readonly<Record<GatewayContender, string>> = {
  direct: "direct",
  proxy: "bare proxy",
  portkey: "Portkey",
  free: "Auspex, money off",
  paid: "Auspex, money on"
}

type Figure = "perSecond" | "p50" | "p99" | "first50" | "first99" | "serverMicros" | "postgresMicros"

const middle = (rounds: ReadonlyArray<CallMeasurement>, figure: Figure): number | null => {
  const known = rounds.map((round) => round[figure]).filter((value) => value !== null)
  return known.length === 0 ? null : median(known)
}

const toProxy = (
  { rounds }: GatewayCase,
  contender: GatewayContender,
  figure: "perSecond" | "p50" | "first50" | "serverMicros"
): number | null => {
  const ones = rounds[contender] ?? []
  const ratios = ones.flatMap((one, index) => {
    const [ours, other] = [one[figure], rounds.proxy?.[index]?.[figure] ?? null]
    return ours === null || other === null ? [] : [ours / other]
  })
  return ratios.length === 0 ? null : median(ratios)
}

const rowOf = (each: GatewayCase, contender: GatewayContender): ReadonlyArray<ReadonlyArray<string>> => {
  const rounds = each.rounds[contender]
  if (rounds === undefined) return []
  return [
    [
      `${each.load}, ${each.connections}`,
      names[contender],
      fixed(middle(rounds, "perSecond"), 0),
      fixed(middle(rounds, "p50"), 2),
      fixed(middle(rounds, "p99"), 2),
      fixed(middle(rounds, "first50"), 2),
      fixed(middle(rounds, "first99"), 2),
      fixed(middle(rounds, "serverMicros"), 0),
      fixed(middle(rounds, "postgresMicros"), 0),
      fixed(toProxy(each, contender, "perSecond"), 2),
      fixed(toProxy(each, contender, "p50"), 2),
      fixed(toProxy(each, contender, "first50"), 2),
      fixed(toProxy(each, contender, "serverMicros"), 2)
    ]
  ]
}

/** What money adds to a call, in times of the two transactions alone, of the same round. */
const addedBy = (
  { rounds: { free = [], paid = [] } }: GatewayCase,
  alone: ReadonlyArray<number>
): number | null => {
  const each = alone.flatMap((perSecond, round) => {
    const [off, on] = [free[round], paid[round]]
    return off === undefined || on === undefined ? [] : [(1 / on.perSecond - 1 / off.perSecond) * perSecond]
  })
  return each.length === 0 ? null : median(each)
}

const ledgerLine = ({ cases, ledger }: Gatewayed): ReadonlyArray<string> =>
  ledger.map(({ connections, perSecond }) => {
    const found = cases.find((each) => each.load === "plain" && each.connections === connections)
    const added = found === undefined ? null : addedBy(found, perSecond)
    return `the two ledger transactions alone, ${connections} at once: ${fixed(median(perSecond), 0)}/s; money adds ${fixed(added, 2)} of their time to a call (aim: at most 1.3)`
  })

export const gatewayTable = (gatewayed: Gatewayed): string =>
  [
    table([
      [
        "load, connections",
        "contender",
        "calls/s",
        "p50 ms",
        "p99 ms",
        "first byte p50",
        "p99",
        "CPU us: server",
        "postgres",
        "calls/s to proxy",
        "p50",
        "first byte",
        "CPU"
      ],
      ...gatewayed.cases.flatMap((each) => gatewayContenders.flatMap((contender) => rowOf(each, contender)))
    ]),
    "(aims with money off: calls/s 0.4 or more of the bare proxy, p50 at most 2.5 times, first byte of a stream at most 2 times, 125 us of CPU, set where the proxy makes 17 100 calls/s and so takes at most 58)",
    ...ledgerLine(gatewayed),
    `memory over ${gatewayed.endurance.calls} paid calls: ${gatewayed.endurance.memory.map((each) => `${each.toFixed(0)} MB`).join(", ")} after a tenth, half and all of them`
  ].join("\n")

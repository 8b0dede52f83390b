/** Tables for people, and the ratios beside the aims of the issue. */
import { boardLine, growthRows } from "./growth/table.ts"
import type { Machine } from "./machine/describe.ts"
import { meanOfAll, medians, ratio, ratioBetween } from "./measurement.ts"
import type { Case, Contender } from "./scenarios/rounds.ts"
import { contenders } from "./scenarios/rounds.ts"
import type { FeedCost } from "./scenarios/feed.ts"
import type { Growth } from "./scenarios/growth.ts"
import type { Logged } from "./scenarios/log.ts"
import type { PoolSettled } from "./scenarios/poolSettlement.ts"
import type { Settled } from "./scenarios/settlement.ts"

const names: Readonly<Record<Contender, string>> = {
  auspex: "Auspex",
  plain: "Auspex, plain",
  fastify: "Fastify + pg",
  pgbench: "pgbench"
}

export const fixed = (value: number | null, digits: number) => (value === null ? "-" : value.toFixed(digits))

/** Columns as wide as their widest cell, numbers to the right. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)
        )
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

export interface Ratios {
  readonly scenario: string
  readonly load: string
  readonly connections: number
  readonly toFastify: number | null
  readonly plainToFastify: number | null
  readonly p99ToFastify: number | null
  readonly toPgbench: number | null
}

export const ratiosOf = ({ connections, load, rounds, scenario }: Case): Ratios => {
  const { auspex = [], fastify = [], pgbench = [], plain = [] } = rounds
  return {
    scenario,
    load,
    connections,
    toFastify: ratio(auspex, fastify, (round) => round.perSecond),
    plainToFastify: ratio(plain, fastify, (round) => round.perSecond),
    p99ToFastify: ratio(auspex, fastify, (round) => round.p99),
    toPgbench: ratio(auspex, pgbench, (round) => round.perSecond)
  }
}

export const casesTable = (cases: ReadonlyArray<Case>): string =>
  table([
    [
      "load, connections",
      "contender",
      "req/s",
      "p50 ms",
      "p99 ms",
      "CPU us: server",
      "postgres",
      "generator"
    ],
    ...cases.flatMap(({ connections, load, rounds, scenario }) =>
      contenders.flatMap((contender) => {
        const measured = rounds[contender]
        if (measured === undefined) return []
        const middle = medians(measured)
        return [
          [
            `${scenario} ${load}, ${connections}`,
            names[contender],
            fixed(middle.perSecond, 0),
            fixed(middle.p50, 2),
            fixed(middle.p99, 1),
            fixed(middle.serverMicros, 0),
            fixed(middle.postgresMicros, 0),
            fixed(middle.generatorMicros, 0)
          ]
        ]
      })
    )
  ])

export const settlementTable = (settled: ReadonlyArray<Settled>): string =>
  table([
    ["settlement of", "service s", "one board s", "all boards s", "ratio to one", "ratio to all"],
    ...settled.map(({ predictions, seconds: { all, one, service } }) => [
      String(predictions),
      fixed(service, 2),
      fixed(one, 2),
      fixed(all, 2),
      fixed(service / one, 2),
      fixed(service / all, 2)
    ])
  ])

export const poolTable = ({ rows, seconds: { plain, staked }, stakes, winners }: PoolSettled): string =>
  table([
    ["stakes", "winners", "with stakes s", "without s", "for the pool s", "its rows/s"],
    [
      String(stakes),
      String(winners),
      fixed(staked, 2),
      fixed(plain, 2),
      fixed(staked - plain, 2),
      fixed(rows / (staked - plain), 0)
    ]
  ])

export const feedTable = (costs: ReadonlyArray<FeedCost>): string =>
  table([
    ["follows", "page", "ms", "slowest ms", "pages", "shown"],
    ...costs.map(({ following, millis, page, pages, shown, slowest }) => [
      following,
      page,
      fixed(millis, 2),
      fixed(slowest, 2),
      String(pages),
      String(shown)
    ])
  ])

export const growthTable = ({ board, sizes }: Growth): string =>
  [table(growthRows(sizes)), "", ...board.map(boardLine)].join("\n")

const aims: Readonly<
  Record<string, { readonly plain: string; readonly fastify: string; readonly pgbench: string }>
> = {
  predict: { plain: "0.95", fastify: "1.8", pgbench: "0.9" },
  leaderboard: { plain: "0.9", fastify: "-", pgbench: "-" }
}

export const ratiosTable = (ratios: ReadonlyArray<Ratios>): string =>
  table([
    ["ratios", "plain/Fastify", "aim", "Auspex/Fastify", "aim", "its p99", "aim", "Auspex/pgbench", "aim"],
    ...ratios.map((each) => [
      `${each.scenario} ${each.load}, ${each.connections}`,
      fixed(each.plainToFastify, 2),
      aims[each.scenario]?.plain ?? "-",
      fixed(each.toFastify, 2),
      aims[each.scenario]?.fastify ?? "-",
      fixed(each.p99ToFastify, 2),
      "1.0",
      fixed(each.toPgbench, 2),
      aims[each.scenario]?.pgbench ?? "-"
    ])
  ])

export const settlementSummary = (settled: ReadonlyArray<Settled>): string =>
  settled
    .map(
      ({ alone, beside, loop, predictions }) =>
        `others' predictions beside the settlement of ${predictions}: p99 ${fixed(beside.p99, 1)} ms, longest ${fixed(beside.longest, 0)} ms (aim: p99 under 10; alone ${fixed(alone.p99, 1)}, longest ${fixed(alone.longest, 0)}; beside a loop that does nothing ${fixed(loop.p99, 1)}, longest ${fixed(loop.longest, 0)})`
    )
    .join("\n")

type LogRounds = Logged["cases"][number]["rounds"]

const logRatio = ({ off, on }: LogRounds, figure: "mean" | "p50" | "p99" | "perSecond") => {
  const between = ratioBetween(on, off, (round) => round[figure])
  const middle = fixed(
    ratio(on, off, (round) => round[figure]),
    3
  )
  return between === null
    ? middle
    : `${middle} (95 %: ${between.map((value) => fixed(value, 3)).join(" to ")})`
}

const logLine = (load: string, rounds: LogRounds) =>
  [
    `on/off at ${load}, ${rounds.on.length} pairs of turns: p50 ${logRatio(rounds, "p50")}`,
    `mean ${logRatio(rounds, "mean")}, of all requests ${fixed(meanOfAll(rounds.on) / meanOfAll(rounds.off), 3)}`,
    `p99 ${logRatio(rounds, "p99")}`,
    `req/s ${logRatio(rounds, "perSecond")} (aim: p50 and mean within 1.05)`
  ].join("; ")

export const logTable = ({ caughtUpSeconds, cases, sequenced }: Logged): string =>
  [
    table([
      ["public log, load", "log", "req/s", "mean ms", "p50 ms", "p99 ms", "CPU us: server", "postgres"],
      ...cases.flatMap(({ load, rounds }) =>
        (["on", "off"] as const).map((turn) => {
          const middle = medians(rounds[turn])
          return [
            load,
            turn,
            fixed(middle.perSecond, 0),
            fixed(middle.mean, 2),
            fixed(middle.p50, 2),
            fixed(middle.p99, 1),
            fixed(middle.serverMicros, 0),
            fixed(middle.postgresMicros, 0)
          ]
        })
      )
    ]),
    ...cases.map(({ load, rounds }) => logLine(load, rounds)),
    `after full load everything had its index within ${fixed(caughtUpSeconds, 1)} s`,
    `sequencing alone: ${fixed(sequenced.perSecond, 0)} entries/s, CPU us an entry: ${fixed(sequenced.sequencerMicros, 1)} the service, ${fixed(sequenced.postgresMicros, 1)} PostgreSQL`
  ].join("\n")

export const machineLines = (machine: Machine): string =>
  [
    `${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB, ${machine.system}, load before ${machine.loadBefore.toFixed(1)}`,
    `Node ${machine.node}, Effect ${machine.effect}, sql-pg ${machine.sqlPg}, Fastify ${machine.fastify}, pg ${machine.pg}, source ${machine.revision}`,
    `PostgreSQL ${machine.postgres}, fsync ${machine.fsync}, synchronous_commit ${machine.synchronousCommit}, shared_buffers ${machine.sharedBuffers}, max_wal_size ${machine.maxWalSize}`
  ].join("\n")

/**
 * Measures how reads stay flat as the tables grow: every read of the service at each size, by the statements that it sends. The plans at
 * each size are written to a folder that git ignores.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { Console, Effect } from "effect"
import { executions, planText } from "../../test/support/growth/explain.ts"
import { readsOf, titleOf } from "../../test/support/growth/reads.ts"
import { seed, sizeOf } from "../../test/support/growth/seed.ts"
import { sentBy } from "../../test/support/growth/statements.ts"
import type { Recorded } from "../../test/support/growth/statements.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { project } from "../machine/processes.ts"
import type { Bench } from "../main.ts"
import { median } from "../measurement.ts"
import type { Result } from "../report.ts"

const outputFolder = `${project}.auspex/bench`

/** Warm-up runs bring the rows into memory. */
const warmRuns = 2
const countedRuns = 5

/** The costs of a read: the sums of its statements' medians. */
interface Cost {
  readonly title: string
  readonly millis: number
  /** Buffers that were read, 8 kB each. */
  readonly buffers: number
  readonly plans: ReadonlyArray<{ readonly statement: string; readonly plan: string }>
}

const costOf = Effect.fnUntraced(function* (statement: Recorded) {
  const runs = (yield* executions(statement, warmRuns + countedRuns)).slice(warmRuns)
  return {
    millis: median(runs.map((run) => run.millis)),
    buffers: median(runs.map((run) => run.pages)),
    plan: { statement: statement.text, plan: yield* planText(statement) }
  }
})

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

const measured = Effect.fnUntraced(function* (postgres: Postgres, predictions: number) {
  const url = yield* Database.create(postgres, `bench_growth_${predictions}`)
  const size = sizeOf(predictions)
  return yield* Effect.gen(function* () {
    yield* seed(size, Console.log)
    const reads = yield* sentBy(url, yield* readsOf(size))
    return yield* Effect.forEach(reads, ({ sent, ...read }) =>
      Effect.map(Effect.forEach(sent, costOf), (costs): Cost => ({
        title: titleOf(read),
        millis: sum(costs.map((cost) => cost.millis)),
        buffers: sum(costs.map((cost) => cost.buffers)),
        plans: costs.map((cost) => cost.plan)
      }))
    )
  }).pipe(Effect.provide(Database.seeding(url)))
})

const plansPage = (predictions: number, costs: ReadonlyArray<Cost>): string =>
  [
    `# Plans at ${predictions} predictions`,
    ...costs.flatMap(({ buffers, millis, plans, title }) => [
      `## ${title}`,
      `${millis.toFixed(2)} ms, ${buffers} buffers.`,
      ...plans.map(({ plan, statement }) => `\`\`\`sql\n${statement}\n\`\`\`\n\n\`\`\`\n${plan}\n\`\`\``)
    ]),
    ""
  ].join("\n\n")

export const growth = Effect.fnUntraced(function* ({ postgres, sizes }: Bench) {
  mkdirSync(outputFolder, { recursive: true })
  const grown: Array<{ readonly predictions: number; readonly costs: ReadonlyArray<Cost> }> = []
  for (const predictions of sizes.grown) {
    const costs = yield* measured(postgres, predictions)
    writeFileSync(`${outputFolder}/plans-${predictions}.md`, plansPage(predictions, costs))
    grown.push({ predictions, costs })
  }
  const titles = grown[0]?.costs.map(({ title }) => title) ?? []
  const rows = titles.map((title, index) => {
    const costs = grown.flatMap((each) => each.costs[index] ?? [])
    const [first, last] = [costs[0]?.millis ?? Number.NaN, costs.at(-1)?.millis ?? Number.NaN]
    return [
      title,
      ...costs.map(({ millis }) => millis.toFixed(2)),
      (last / first).toFixed(1),
      ...costs.map(({ buffers }) => String(buffers))
    ]
  })
  const result: Result = {
    scenario: "growth",
    tables: [
      [
        [
          "read",
          ...grown.map(({ predictions }) => `ms ${predictions}`),
          "ratio",
          ...grown.map(({ predictions }) => `buffers ${predictions}`)
        ],
        ...rows
      ]
    ],
    aims: [],
    remarks: [`plans: ${outputFolder}`],
    measured: grown.map(({ costs, predictions }) => ({
      predictions,
      reads: costs.map(({ buffers, millis, title }) => ({ title, millis, buffers }))
    }))
  }
  return result
}, Effect.scoped)

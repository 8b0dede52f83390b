/** What the statements of every read cost on a database of one size. */
import { Console, Effect } from "effect"
import { median } from "../measurement.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { executions, planText } from "../statements/explain.ts"
import { sentBy } from "../statements/record.ts"
import type { Recorded } from "../statements/record.ts"
import { readsOf } from "./reads.ts"
import type { Read } from "./reads.ts"
import { seed, sizeOf } from "./seed.ts"

/** Each statement is run so often; at first what it reads comes into memory. */
const warmRuns = 3
const countedRuns = 11

export interface Cost {
  readonly read: Read
  readonly statements: number
  /** Of all its statements: medians, added. */
  readonly millis: number
  readonly pages: number
  readonly plans: ReadonlyArray<{ readonly statement: Recorded; readonly plan: string }>
}

const costOf = Effect.fnUntraced(function* (statement: Recorded) {
  const runs = (yield* executions(statement, warmRuns + countedRuns)).slice(warmRuns)
  return {
    millis: median(runs.map((run) => run.millis)),
    pages: median(runs.map((run) => run.pages)),
    plan: { statement, plan: yield* planText(statement) }
  }
})

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

/** Of each of the reads, on the database of this URL. */
export const costsOf = Effect.fnUntraced(function* (url: string, reads: ReadonlyArray<Read>) {
  return yield* Effect.forEach(yield* sentBy(url, reads), ({ sent, ...read }) =>
    Effect.map(Effect.forEach(sent, costOf), (costs): Cost => ({
      read,
      statements: sent.length,
      millis: sum(costs.map((cost) => cost.millis)),
      pages: sum(costs.map((cost) => cost.pages)),
      plans: costs.map((cost) => cost.plan)
    }))
  )
})

export const measured = Effect.fnUntraced(function* (postgres: Postgres, predictions: number) {
  const url = yield* Database.create(postgres, `bench_growth_${predictions}`)
  const size = sizeOf(predictions)
  return yield* Effect.gen(function* () {
    yield* seed(size, Console.log)
    return yield* costsOf(url, yield* readsOf(size))
  }).pipe(Effect.provide(Database.patient(url)))
})

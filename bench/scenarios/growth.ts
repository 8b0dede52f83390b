/** What every read costs as the tables grow, by the statements that the service sends. */
import { writeFileSync } from "node:fs"
import { Console, Effect } from "effect"
import { board } from "../growth/board.ts"
import { measured } from "../growth/measure.ts"
import type { Cost } from "../growth/measure.ts"
import { plansPage } from "../growth/plansPage.ts"
import type { Postgres } from "../machine/database.ts"

export interface Grown {
  readonly predictions: number
  readonly costs: ReadonlyArray<Cost>
}

export interface Growth {
  readonly sizes: ReadonlyArray<Grown>
  /** A leaderboard of as many agents as the largest size has predictions. */
  readonly board: ReadonlyArray<Cost>
}

export const growth = Effect.fnUntraced(function* (
  postgres: Postgres,
  sizes: ReadonlyArray<number>,
  plans: string | undefined
) {
  const grown: Array<Grown> = []
  for (const predictions of sizes) {
    yield* Console.log(`growth: ${predictions} predictions`)
    grown.push({ predictions, costs: yield* measured(postgres, predictions) })
  }
  const largest = grown.at(-1)
  if (plans !== undefined && largest !== undefined) {
    writeFileSync(plans, plansPage(largest))
    yield* Console.log(`the plans at ${largest.predictions} are in ${plans}`)
  }
  const agents = Math.max(...sizes)
  yield* Console.log(`growth: a leaderboard of ${agents} agents`)
  const result: Growth = { sizes: grown, board: yield* board(postgres, agents) }
  return result
})

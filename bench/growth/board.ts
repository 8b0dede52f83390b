/** The leaderboard of very many agents: its first page, and its end, whose ranks are counted from the top. */
import { Effect } from "effect"
import { Scoring } from "../../src/services/Scoring.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import * as Seed from "../seed.ts"
import { costsOf } from "./measure.ts"
import { firstPage, fromTheEnd, pageAfter, standing, worst } from "./pages.ts"

export const board = Effect.fnUntraced(function* (postgres: Postgres, agents: number) {
  const url = yield* Database.create(postgres, "bench_growth_board")
  return yield* Effect.gen(function* () {
    yield* Seed.agents(agents - 1)
    yield* Seed.standings(agents)
    const end = yield* pageAfter(standing("global", worst, fromTheEnd))
    const read = { route: "GET /api/v1/eval/leaderboard", asked: `${agents} agents` }
    return yield* costsOf(url, [
      { ...read, page: "first", run: Scoring.use((scoring) => scoring.leaderboard(undefined, firstPage)) },
      { ...read, page: "last", run: Scoring.use((scoring) => scoring.leaderboard(undefined, end)) }
    ])
  }).pipe(Effect.provide(Database.patient(url)))
})

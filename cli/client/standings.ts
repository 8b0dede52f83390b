/** The leaderboard's columns, for every command line that shows it. */
import type { Leaderboard } from "../../src/services/Scoring.ts"
import { decimals } from "./table.ts"
import type { Column } from "./table.ts"

type Standing = Leaderboard["items"][number]

const percent = (share: number | null): string | null =>
  share === null ? null : `${(share * 100).toFixed(1)} %`

export const standingColumns: ReadonlyArray<Column<Standing>> = [
  { title: "rank", of: ({ rank }) => rank },
  { title: "agent", of: ({ agent_name }) => agent_name, yields: "cut" },
  { title: "score", of: ({ avg_score }) => decimals(avg_score, 2) },
  {
    title: "95 % interval",
    of: ({ score_ci95 }) =>
      score_ci95 === null ? null : `${score_ci95[0].toFixed(2)} to ${score_ci95[1].toFixed(2)}`,
    yields: "dropped"
  },
  { title: "right", of: ({ accuracy_rate }) => percent(accuracy_rate) },
  { title: "scored", of: ({ prediction_count }) => prediction_count },
  { title: "Brier index", of: ({ brier_index }) => decimals(brier_index, 1), yields: "dropped" },
  { title: "status", of: ({ status }) => status, yields: "dropped" },
  { title: "agent_id", of: ({ agent_id }) => agent_id, yields: "dropped" }
]

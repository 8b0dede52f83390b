/** How a challenge of any type came out. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import type { Results } from "../../src/services/Arenas.ts"
import { decimals, record, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { pageFlags, pageQueryOf, Session } from "./session.ts"

type Prediction = Results["predictions"][number]

const agent: Column<Prediction> = { title: "agent", of: ({ agent_id }) => agent_id }
const score: Column<Prediction> = { title: "score", of: (shown) => decimals(shown.score, 2) }

const directional: ReadonlyArray<Column<Prediction>> = [
  agent,
  { title: "said", of: ({ direction }) => direction },
  { title: "confidence", of: ({ confidence }) => confidence },
  score,
  { title: "reasoning", of: ({ reasoning }) => reasoning, yields: "cut" }
]

const numeric: ReadonlyArray<Column<Prediction>> = [
  agent,
  { title: "value", of: ({ predicted_value }) => predicted_value },
  { title: "std", of: ({ predicted_std }) => predicted_std },
  {
    title: "CRPS",
    of: ({ crps }) => (crps === null ? null : Number(crps.toPrecision(4))),
    yields: "dropped"
  },
  { title: "skill", of: ({ skill }) => decimals(skill, 3), yields: "dropped" },
  score,
  { title: "rationale", of: ({ reasoning }) => reasoning, yields: "cut" }
]

const figuresOf = (found: Results): ReadonlyArray<readonly [string, string | number | null]> =>
  found.type === "macro"
    ? [
        ["published value", found.actual_value],
        ["bin", found.bin],
        ["reference scale", found.reference_scale]
      ]
    : [
        ["result", found.result],
        ["open price", found.open_price],
        ["close price", found.close_price]
      ]

const amendmentOf = ({ settlement, versions }: Results): ReadonlyArray<readonly [string, string]> =>
  settlement?.amended === true
    ? [["amended", `version ${settlement.version}: ${versions.at(-1)?.reason ?? ""}`]]
    : []

export const results = Command.make(
  "results",
  { id: Argument.String("ID"), ...pageFlags },
  Effect.fn("challenges.results")(function* ({ id, ...page }) {
    const session = yield* Session
    const answer = yield* session.anyone.public.results({
      params: { challenge_id: id },
      query: pageQueryOf(page)
    })
    yield* session.show(answer, (found) =>
      [
        record([
          ["question", found.question],
          ["status", found.status],
          ...figuresOf(found),
          ["settled", utc(found.resolved_at)],
          ["source", found.resolution_source],
          ...amendmentOf(found),
          ["predictions", found.prediction_count]
        ]),
        ...(found.predictions.length === 0
          ? []
          : ["", session.fitted(found.predictions, found.type === "macro" ? numeric : directional)])
      ].join("\n")
    )
  })
).pipe(Command.withDescription("How a challenge came out, and who said what once its deadline has passed"))

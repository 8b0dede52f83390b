/** How a challenge of any type came out. */
import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { Results } from "../../src/services/Arenas.ts"
import { counted, decimals, record, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { pageFlags, pageQueryOf, Session } from "./session.ts"

/** As they travel: amounts are numbers of credits. */
type Shown = typeof Results.Encoded
type Prediction = Shown["predictions"][number]
type Field = readonly [name: string, value: string | number | null]

const encode = Schema.encodeSync(Results)

const agent: Column<Prediction> = { title: "agent", of: ({ agent_id }) => agent_id }
const agentName: Column<Prediction> = { title: "name", of: ({ agent_name }) => agent_name, yields: "cut" }
const score: Column<Prediction> = { title: "score", of: (shown) => decimals(shown.score, 2) }

const directional: ReadonlyArray<Column<Prediction>> = [
  agent,
  agentName,
  { title: "said", of: ({ direction }) => direction },
  { title: "confidence", of: ({ confidence }) => confidence },
  score,
  { title: "reasoning", of: ({ reasoning }) => reasoning, yields: "cut" }
]

const numeric: ReadonlyArray<Column<Prediction>> = [
  agent,
  agentName,
  { title: "value", of: ({ predicted_value }) => predicted_value },
  { title: "std", of: ({ predicted_std }) => predicted_std },
  {
    title: "CRPS",
    of: ({ crps }) => (crps === null ? null : Number(crps.toPrecision(4))),
    yields: "dropped"
  },
  { title: "skill", of: ({ skill }) => decimals(skill, 3), yields: "dropped" },
  score,
  { title: "stake", of: ({ stake }) => stake },
  { title: "on bin", of: ({ stake_bin }) => stake_bin, yields: "dropped" },
  { title: "reward", of: ({ reward }) => reward },
  { title: "rationale", of: ({ reasoning }) => reasoning, yields: "cut" }
]

const rangeOf = ({ bins }: Shown, index: number | null): string | null => {
  const bin = bins?.find((each) => each.index === index)
  if (bin === undefined) return null
  if (bin.low === null) return bin.high === null ? `${index}, any value` : `${index}, below ${bin.high}`
  return bin.high === null ? `${index}, ${bin.low} and above` : `${index}, ${bin.low} to below ${bin.high}`
}

const isNumeric = ({ kind, type }: Shown): boolean =>
  type === "macro" || kind === "numeric_close" || kind === "count_days"

const figuresOf = (found: Shown): ReadonlyArray<Field> => {
  if (found.type === "macro") {
    return [
      ["published value", found.actual_value],
      ["bin", rangeOf(found, found.bin)],
      ["reference scale", found.reference_scale]
    ]
  }
  if (isNumeric(found)) {
    return [
      [found.kind === "count_days" ? "days" : "close price", found.actual_value],
      ["reference scale", found.reference_scale]
    ]
  }
  return [
    ["result", found.result],
    found.type === "price_event" ? ["level", found.level] : ["open price", found.open_price],
    [found.kind === "barrier" ? "nearest price" : "close price", found.close_price]
  ]
}

/** When the version that is shown was made, and of an amended challenge the first one. */
const timesOf = ({ resolved_at, settlement, versions }: Shown): ReadonlyArray<Field> =>
  settlement?.amended === true
    ? [
        ["amended", `version ${settlement.version}: ${versions.at(-1)?.reason ?? ""}`],
        ["amended at", utc(settlement.settled_at)],
        ["first settled", utc(resolved_at)]
      ]
    : [["settled", utc(resolved_at)]]

/** What came of the credit pool; nothing before the end. */
const poolOf = (found: Shown): ReadonlyArray<Field> => {
  const { pool } = found
  return pool === null
    ? []
    : [
        ["pool", pool.outcome],
        ["winning bin", rangeOf(found, pool.winning_bin)],
        ["reward pool", pool.reward_pool],
        ["staked", `${pool.staked} by ${counted(pool.stakers, "agent")}`],
        ["paid", pool.paid]
      ]
}

/** Why nobody is scored. */
const endOf = ({ cancel_reason, void_reason }: Shown): ReadonlyArray<Field> => [
  ...(cancel_reason === null ? [] : [["cancelled", cancel_reason] as const]),
  ...(void_reason === null ? [] : [["void", void_reason] as const])
]

export const results = Command.make(
  "results",
  { id: Argument.String("ID"), ...pageFlags },
  Effect.fn("challenges.results")(function* ({ id, ...page }) {
    const session = yield* Session
    const answer = yield* session.anyone.public.results({
      params: { challenge_id: id },
      query: pageQueryOf(page)
    })
    yield* session.show(encode(answer), (found) =>
      [
        record([
          ["question", found.question],
          ["status", found.status],
          ...figuresOf(found),
          ...endOf(found),
          ...timesOf(found),
          ["source", found.resolution_source],
          ...poolOf(found),
          ["predictions", found.prediction_count]
        ]),
        ...(found.predictions.length === 0
          ? []
          : ["", session.fitted(found.predictions, isNumeric(found) ? numeric : directional)])
      ].join("\n")
    )
  })
).pipe(Command.withDescription("How a challenge came out, and who said what once its deadline has passed"))

/** Results of challenges of any type, and their amendments. */
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Amendment, SettledChallenge } from "../../src/services/Amendments.ts"
import { Results } from "../../src/services/Arenas.ts"
import { levelNames, numberKinds } from "../../src/services/domain/kinds.ts"
import type { Levels } from "../../src/services/domain/kinds.ts"
import { counted, decimals, moment, record, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session, pageFlags, pageQueryOf } from "./session.ts"

/** The JSON form, in which amounts are credits. */
type Shown = typeof Results.Encoded
type Prediction = Shown["predictions"][number]
type Field = readonly [name: string, value: string | number | null]

const encode = Schema.encodeSync(Results)

const agent: Column<Prediction> = { title: "agent", of: ({ agent_id }) => agent_id }
const agentName: Column<Prediction> = { title: "name", of: ({ agent_name }) => agent_name, yields: "cut" }
const score: Column<Prediction> = { title: "score", of: (prediction) => decimals(prediction.score, 2) }

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
  type === "macro" || numberKinds.some((name) => name === kind)

/** The prices that a question names: a level, or the ends of a range. */
export const levelsOf = (question: Levels<number | null>) =>
  levelNames.flatMap((name) => (question[name] === null ? [] : [[name, question[name]] as const]))

const statsOf = (found: Shown): ReadonlyArray<Field> => {
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
    ...(found.type === "price_event" ? levelsOf(found) : [["open price", found.open_price] as const]),
    [found.kind === "barrier" ? "nearest price" : "close price", found.close_price]
  ]
}

/** The time of the shown version and, if it is an amendment, of the first one. */
const timesOf = ({ resolved_at, settlement, versions }: Shown): ReadonlyArray<Field> =>
  settlement?.amended === true
    ? [
        ["amended", `version ${settlement.version}: ${versions.at(-1)?.reason ?? ""}`],
        ["amended at", utc(settlement.settled_at)],
        ["first settled", utc(resolved_at)]
      ]
    : [["settled", utc(resolved_at)]]

/** The pool has no result before the end. */
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
          ...statsOf(found),
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
).pipe(Command.withDescription("A challenge's outcome and, after its deadline, its predictions"))

const versionColumns: ReadonlyArray<Column<SettledChallenge["versions"][number]>> = [
  { title: "version", of: ({ version }) => version },
  { title: "settled (UTC)", of: ({ settled_at }) => moment(settled_at) },
  { title: "result", of: ({ result }) => result },
  { title: "value", of: ({ actual_value, close_price }) => close_price ?? actual_value },
  { title: "source", of: ({ source }) => source, yields: "dropped" },
  { title: "reason", of: ({ reason }) => reason, yields: "cut" }
]

const amend = Effect.fnUntraced(function* (challenge_id: string, payload: Amendment) {
  const session = yield* Session
  const client = yield* session.administrator
  const amended = yield* client.admin.amendChallenge({ params: { challenge_id }, payload })
  yield* session.show(amended, ({ question, versions, ...challenge }) =>
    [
      record([
        ["id", challenge.challenge_id],
        ["question", question],
        challenge.result === null ? ["published value", challenge.actual_value] : ["result", challenge.result]
      ]),
      "",
      session.fitted(versions, versionColumns)
    ].join("\n")
  )
})

const challengeId = Argument.String("ID")
const reason = Flag.String("reason").pipe(Flag.withDescription("Shown to everybody, for ever"))

export const amendDirectional = Command.make(
  "amend",
  {
    id: challengeId,
    closePrice: Flag.Finite("close-price").pipe(Flag.withDescription("The correct price")),
    reason
  },
  Effect.fn("challenges.amend")(function* ({ closePrice, id: challenge_id, reason: why }) {
    yield* amend(challenge_id, { close_price: closePrice, reason: why })
  })
).pipe(
  Command.withDescription("Correct the closing price of a settled challenge: it is scored anew"),
  Command.withExamples([
    {
      command: 'npm run admin -- challenges amend ID --close-price 2031 --reason "The exchange corrected it"'
    }
  ])
)

export const amendMacro = Command.make(
  "amend",
  {
    id: challengeId,
    value: Flag.Finite("value").pipe(Flag.withDescription("The correct value; below zero as --value=-0.1")),
    reason
  },
  Effect.fn("macro.amend")(function* ({ id: challenge_id, reason: why, value }) {
    yield* amend(challenge_id, { actual_value: value, reason: why })
  })
).pipe(
  Command.withDescription("Correct the value of a settled challenge: it is scored anew; no credit moves"),
  Command.withExamples([
    { command: 'npm run admin -- macro amend ID --value 3.2 --reason "The office corrected its own figure"' }
  ])
)

export const amendPriceEvent = Command.make(
  "amend",
  {
    id: challengeId,
    closePrice: Flag.Finite("close-price").pipe(
      Flag.withDescription("The close of a threshold or range, or the price nearest to a barrier's level"),
      Flag.optional
    ),
    value: Flag.Finite("value").pipe(
      Flag.withDescription("The value of a close or of a count of days"),
      Flag.optional
    ),
    reason
  },
  Effect.fn("priceEvents.amend")(function* ({ closePrice, id: challenge_id, reason: why, value }) {
    yield* amend(challenge_id, {
      ...(Option.isSome(closePrice) && { close_price: closePrice.value }),
      ...(Option.isSome(value) && { actual_value: value.value }),
      reason: why
    })
  })
).pipe(Command.withDescription("Correct the outcome of a settled question: it is scored anew"))

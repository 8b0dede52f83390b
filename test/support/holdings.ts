/** The required content of a season whose pages are read: each way to answer, names in other scripts, an owner of several agents. */
import { Effect, Schema } from "effect"

const Board = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      agent_name: Schema.String,
      status: Schema.String,
      owner_agents: Schema.NullOr(Schema.Int)
    })
  )
})

const Listed = Schema.Array(
  Schema.Struct({ id: Schema.String, kind: Schema.optionalKey(Schema.String), prediction_count: Schema.Int })
)

/** Lists of series have another name for it. */
const List = Schema.Struct({
  items: Schema.optionalKey(Listed),
  challenges: Schema.optionalKey(Listed),
  next_cursor: Schema.NullOr(Schema.String)
})

/** The longest page of a list. */
const maxPage = 200

/** Each type of challenge has a list of its own. */
const lists = ["challenges", "macro/challenges", "price-events/challenges"]

/** The newest challenges of each type in a state, at most this many of one type; those of series have no kind. */
export const challengesIn = Effect.fnUntraced(function* <E, R>(
  read: (path: string) => Effect.Effect<string, E, R>,
  status: "open" | "closed" | "resolved",
  limit: number
) {
  const found = yield* Effect.forEach(lists, (list) =>
    Effect.gen(function* () {
      const newest: Array<(typeof Listed.Type)[number]> = []
      let cursor: string | null = ""
      while (cursor !== null && newest.length < limit) {
        const query = `status=${status}&limit=${Math.min(maxPage, limit)}${cursor === "" ? "" : `&cursor=${cursor}`}`
        const page: typeof List.Type = yield* Effect.flatMap(
          read(`/api/v1/eval/${list}?${query}`),
          Schema.decodeUnknownEffect(Schema.fromJsonString(List))
        )
        newest.push(...(page.items ?? page.challenges ?? []))
        cursor = page.next_cursor
      }
      return newest
    })
  )
  return found.flat()
})

const Filled = Schema.NullOr(Schema.Json)

const Results = Schema.Struct({
  predictions: Schema.Array(
    Schema.Struct({
      reference: Schema.NullOr(Schema.String),
      direction: Schema.NullOr(Schema.String),
      predicted_value: Schema.NullOr(Schema.Finite),
      probabilities: Filled,
      quantiles: Filled,
      samples: Filled
    })
  )
})
type Results = typeof Results.Type
type Prediction = Results["predictions"][number]

const boards = {
  "a reference": ({ status }) => status === "reference",
  "a Chinese name": ({ agent_name }) => /\p{Script=Han}/u.test(agent_name),
  "an Arabic name": ({ agent_name }) => /\p{Script=Arabic}/u.test(agent_name),
  "an owner of three agents": ({ owner_agents }) => owner_agents === 3
} satisfies Record<string, (row: (typeof Board.Type)["items"][number]) => boolean>

const answers = {
  "an answer of a reference": ({ reference }) => reference !== null,
  "a direction": ({ direction, probabilities }) => direction !== null && probabilities === null,
  "a vector of probabilities": ({ direction, probabilities }) => direction !== null && probabilities !== null,
  "a value with its deviation": ({ predicted_value, quantiles, samples }) =>
    predicted_value !== null && quantiles === null && samples === null,
  quantiles: ({ quantiles }) => quantiles !== null,
  samples: ({ samples }) => samples !== null,
  "probabilities of categories": ({ direction, probabilities }) =>
    direction === null && probabilities !== null
} satisfies Record<string, (prediction: Prediction) => boolean>

/** The number of settled challenges of a type that are checked. */
const maxChallenges = 40

/** The required parts that the answers of an instance lack. */
export const lackingIn = Effect.fnUntraced(function* <E, R>(
  read: (path: string) => Effect.Effect<string, E, R>
) {
  const json = <S extends Schema.Decoder<unknown>>(schema: S, path: string) =>
    Effect.flatMap(read(path), Schema.decodeUnknownEffect(Schema.fromJsonString(schema)))

  const { items } = yield* json(Board, "/api/v1/eval/leaderboard?order=skill&limit=200")
  const predictions: Array<Prediction> = []
  for (const { id } of yield* challengesIn(read, "resolved", maxChallenges)) {
    const results = yield* json(Results, `/api/v1/eval/challenges/${id}/results?limit=200`)
    predictions.push(...results.predictions)
  }
  const without = <A>(rules: Readonly<Record<string, (each: A) => boolean>>, of: ReadonlyArray<A>) =>
    Object.entries(rules).flatMap(([name, rule]) => (of.some(rule) ? [] : [name]))
  return [...without(boards, items), ...without(answers, predictions)]
})

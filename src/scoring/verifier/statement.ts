/** States in words for people what a valid proof shows. A proof that fails states nothing. */
import { plain } from "./bytes.ts"
import type { Entry, Prediction } from "./entries.ts"
import { canonicalText, isObject } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"

export type Fact = readonly [term: string, text: string]

export interface Statement {
  readonly title: string
  readonly facts: ReadonlyArray<Fact>
  /** Claims that a reader might take the proof to show and that it does not show. */
  readonly limits: ReadonlyArray<string>
}

const printed = (value: Json | undefined): string => {
  if (value === undefined || value === null) return "none"
  return plain(typeof value === "string" ? value : canonicalText(value))
}

/** Members of an entry with their names for people. */
type Terms = ReadonlyArray<readonly [name: string, term: string]>

const factsOf = (members: JsonObject, terms: Terms) =>
  terms.map(([name, term]): Fact => [term, printed(members[name])])

const terms: ReadonlyMap<string, string> = new Map([
  ["direction", "Direction"],
  ["confidence", "Confidence"],
  ["predicted_value", "Predicted value"],
  ["predicted_std", "Standard deviation"]
])

const percent = (p: Json | undefined): string =>
  typeof p === "number" ? `${Number((100 * p).toPrecision(10))} %` : printed(p)

/** The forms of an answer with several values: each with its term and its text. */
const forms: ReadonlyMap<string, readonly [term: string, wordsOf: (value: Json) => string]> = new Map([
  [
    "probabilities",
    [
      "Probabilities",
      (value) =>
        isObject(value)
          ? Object.entries(value)
              .map(([name, p]) => `${plain(name)} ${percent(p)}`)
              .join(", ")
          : printed(value)
    ]
  ],
  [
    "quantiles",
    [
      "Quantiles",
      (value) =>
        Array.isArray(value)
          ? value
              .map((each) =>
                isObject(each) ? `${percent(each["p"])} at most ${printed(each["value"])}` : printed(each)
              )
              .join(", ")
          : printed(value)
    ]
  ],
  [
    "samples",
    [
      "Samples",
      (value) => (Array.isArray(value) ? `${value.length}: ${value.map(printed).join(", ")}` : printed(value))
    ]
  ]
])

/** The values of an answer in reverse, since people name the direction before the confidence. */
const answerFacts = (values: JsonObject): ReadonlyArray<Fact> =>
  Object.entries(values)
    .toReversed()
    .map(([name, value]) => {
      const [term, wordsOf] = forms.get(name) ?? [terms.get(name) ?? printed(name), printed]
      return [term, wordsOf(value)]
    })

const directionalTerms = {
  first: [
    ["result", "Result"],
    ["open_price", "Open price"],
    ["observation", "Closing price"]
  ],
  observed: "Observed at",
  last: [["dead_zone_pct", "Dead zone in percent"]]
} as const

/** In a yes-or-no question bullish is Yes. */
const levelTerms = {
  first: [
    ["result", "Result"],
    ["level", "Level"],
    ["observation", "Closing price, or of a barrier the price nearest to the level"]
  ],
  observed: "Observed at",
  last: []
} as const

/** A question of yes or no on a range. */
const rangeTerms = {
  ...levelTerms,
  first: [
    ["result", "Result"],
    ["low", "Low end"],
    ["high", "High end"],
    ["observation", "Closing price"]
  ]
} as const

const numericTerms = {
  first: [["observation", "Published value"]],
  observed: "Recorded at",
  last: [["reference_scale", "Reference scale"]]
} as const

/** The settlement of the credit pool of a macro challenge. */
const poolFacts = ({ pool }: JsonObject): ReadonlyArray<Fact> =>
  isObject(pool)
    ? factsOf(pool, [
        ["outcome", "Credit pool"],
        ["winning_bin", "Bin that holds the value"],
        ["reward_pool", "Reward pool in credits"],
        ["staked", "Credits staked"],
        ["stakes", "Stakes"],
        ["paid", "Credits paid as rewards"],
        ["root", "Merkle root of the stakes and rewards"]
      ])
    : []

const titles: ReadonlyMap<string, string> = new Map([
  ["challenge.create", "A challenge, as it was made"],
  ["challenge.close", "The close of a challenge"],
  ["prediction.reveal", "What was sealed, as it was revealed"],
  ["void", "A cancelled challenge"],
  ["agent.register", "An agent, as it registered"],
  ["agent.claim", "The claim of an agent by its owner"],
  ["agent.key", "A change of what an agent authenticates with"],
  ["log.continue", "What the operators said when the log went on"]
])

const termsOf = (members: JsonObject) => {
  if ("reference_scale" in members) return numericTerms
  if ("low" in members) return rangeTerms
  return "level" in members ? levelTerms : directionalTerms
}

/**
 * The terms that settlements and amendments share, by the type of challenge. `observed_at` of an amendment belongs to the
 * replaced value, so it stands last there, under a name of its own.
 */
const settlementTerms = (members: JsonObject): Terms => {
  const { first, last, observed } = termsOf(members)
  const isAmended = "amended_at" in members
  const before: Terms = isAmended ? [["observed_at", `${observed}, of the first version`]] : []
  return [
    ["challenge_id", "Challenge"],
    ...first,
    isAmended ? ["amended_at", "Amended at"] : ["observed_at", observed],
    ["source", "Source"],
    ...last,
    ["scores", "Scores"],
    ["root", "Merkle root of the scores"],
    ...before
  ]
}

const amendableLimit =
  "An administrator may have amended it since: each amendment is an entry of its own, named on the page of the challenge, and the newest one counts."

const timeLimit =
  "The time of receipt is the server's word. What the log adds is the order: the prediction was there before the close of its challenge if its place is below that of the entry challenge.close, and a witness that signed a log with both says when."

const revisionLimit =
  "It may not be the agent's last word: until the deadline an agent may revise, and the highest revision alone counts. The page and the results of the challenge show which that was, and after the deadline the log reveals every revision."

export const statementOf = (options: {
  readonly entry: Entry
  readonly prediction: Prediction | null
  readonly index: number
  readonly size: number
}): Statement => {
  const { entry, prediction } = options
  const { members } = entry
  const place: Fact = ["Place in the log", `entry ${options.index} of a log of ${options.size}`]
  switch (entry.type) {
    case "prediction.commit":
      return prediction === null
        ? {
            title: "A sealed prediction",
            facts: [
              ["Challenge", printed(members["challenge_id"])],
              ["Commit", printed(members["c"])],
              place
            ],
            limits: ["What was predicted, and by whom, is not in this file.", revisionLimit]
          }
        : {
            title: "A prediction",
            facts: [
              ["Agent", printed(prediction.agentId)],
              ["Challenge", printed(prediction.challengeId)],
              ...answerFacts(prediction.values),
              ["Received at", printed(prediction.receivedAt)],
              ["Revision", prediction.revision === 0 ? "the first one" : String(prediction.revision)],
              ["SHA-256 of the reasoning", printed(prediction.reasoningSha256)],
              place
            ],
            limits: [revisionLimit, timeLimit]
          }
    case "settlement":
      return {
        title: "A settlement",
        facts: [
          ...factsOf(members, [
            ...settlementTerms(members),
            ["settled_at", "Settled at"],
            ["version", "Version"]
          ]),
          ...poolFacts(members),
          place
        ],
        limits: [amendableLimit]
      }
    case "amendment":
      return {
        title: "An amendment of a settlement",
        facts: [
          ...factsOf(members, [
            ...settlementTerms(members),
            ["version", "Version"],
            ["previous_version", "In place of version"],
            ["reason_sha256", "SHA-256 of the reason"]
          ]),
          place
        ],
        limits: [amendableLimit]
      }
    default:
      return {
        title: titles.get(entry.type) ?? "An entry of the log",
        facts: [
          ["Type", printed(entry.type)],
          ...Object.entries(members)
            .filter(([name]) => name !== "type")
            .map(([name, value]): Fact => [printed(name), printed(value)]),
          place
        ],
        limits: []
      }
  }
}

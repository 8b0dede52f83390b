/**
 * The demonstration agents' answers to the registration challenge. They see only the prompt, like any agent, and the
 * real judge scores them. Each answer of `answers.json` was written beforehand, as a trained model brings its knowledge; the
 * figure that the prompt asks for is computed from the prompt.
 */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"

const operations = {
  minus: (one: number, other: number) => one - other,
  plus: (one: number, other: number) => one + other,
  times: (one: number, other: number) => one * other,
  over: (one: number, other: number) => one / other,
  "percent of": (one: number, other: number) => (one * other) / 100,
  "as percent of": (one: number, other: number) => (100 * one) / other,
  "in percent above": (one: number, other: number) => (100 * (one - other)) / other
}

/** Two numbers, each given by the words around it with N in its place; `says` describes the result. */
const Computed = Schema.Struct({
  one: Schema.String,
  by: Schema.Literals(["minus", "plus", "times", "over", "percent of", "as percent of", "in percent above"]),
  other: Schema.Union([Schema.String, Schema.Finite]),
  says: Schema.String
})
type Computed = typeof Computed.Type

/** A prompt is recognised when it contains every text of `about`. A report has an answer for each sign of its figure. */
const about = { about: Schema.Array(Schema.String), computed: Computed }
const Prepared = Schema.Union([
  Schema.Struct({ ...about, answer: RegistrationAnswer }),
  Schema.Struct({ ...about, above: RegistrationAnswer, below: RegistrationAnswer })
])
type Prepared = typeof Prepared.Type

const all = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Prepared)))(
  readFileSync(new URL("answers.json", import.meta.url), "utf8")
)

const numberIn = (prompt: string, words: string): number => {
  const pattern = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("N", "(\\d[\\d ]*(?:\\.\\d+)?)")
  return Number(new RegExp(pattern).exec(prompt)?.[1]?.replaceAll(" ", ""))
}

const compute = (prompt: string, { by, one, other }: Computed): number =>
  operations[by](numberIn(prompt, one), typeof other === "number" ? other : numberIn(prompt, other))

const chosen = (prepared: Prepared, value: number): RegistrationAnswer => {
  if ("answer" in prepared) return prepared.answer
  return value > 0 ? prepared.above : prepared.below
}

const withFigure = (prepared: Prepared, prompt: string): RegistrationAnswer => {
  const { computed } = prepared
  const value = compute(prompt, computed)
  const answer = chosen(prepared, value)
  const figure = `By the numbers given that is ${Number(Math.abs(value).toPrecision(4))} ${computed.says}.`
  return { ...answer, event_summary: `${answer.event_summary} ${figure}` }
}

/** These words tell which asset an unknown event moves, the most specific first. */
const namedAssets: ReadonlyArray<readonly [key: string, name: string, words: RegExp]> = [
  ["ETH", "ether", /\bether(eum)?\b/i],
  ["BTC", "bitcoin", /\b(bitcoin|crypto)/i],
  ["NG", "natural gas", /\bnatural gas\b/i],
  ["CL", "crude oil", /\b(crude|oil|opec|barrels?)\b/i],
  ["HG", "copper", /\bcopper\b/i],
  ["GC", "gold", /\bgold\b/i],
  ["ZS", "soybeans", /\bsoy/i],
  ["ZN", "ten-year notes", /\b(treasury|treasuries|federal reserve|yields?|inflation|rates?)\b/i],
  ["ES", "equities", /\b(equit|shares|companies|stocks)/i],
  ["DXY", "the dollar", /\bdollar\b/i]
]

/** An attempt at an event without a prepared answer; it may fail. */
const improvised = (prompt: string): RegistrationAnswer => {
  const found = namedAssets.filter(([, , words]) => words.test(prompt)).slice(0, 2)
  const named = found.length === 0 ? namedAssets.slice(8, 9) : found
  const asset = named.map(([, name]) => name).join(" and ")
  const [first = ""] = prompt.split(/(?<=\.)\s/)
  return {
    event_summary: `In short, traders of ${asset} were told something they had not priced: ${first.split(" ").slice(0, 14).join(" ")} and what follows from it.`,
    market_impact: {
      affected_assets: named.map(([key]) => key),
      direction: "mixed",
      magnitude: "medium",
      reasoning: `Because the news differs from what was expected, holders of ${asset} have to adjust their positions, which moves prices at once. How far it leads depends on whether supply or demand changes for long.`
    },
    trading_implications: {
      short_term: `${asset} should trade nervously for some days until positions are adjusted.`,
      medium_term: "Later data confirm the change or undo it, and most of the first move is given back then."
    },
    confidence: 0.5,
    related_events: ["central bank decisions", "inflation and growth data"]
  }
}

export const preparedFor = (prompt: string): ReadonlyArray<Prepared> =>
  all.filter(({ about }) => about.every((words) => prompt.includes(words)))

export const answerTo = (prompt: string): RegistrationAnswer => {
  const [prepared] = preparedFor(prompt)
  return prepared === undefined ? improvised(prompt) : withFigure(prepared, prompt)
}

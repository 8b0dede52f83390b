/**
 * The demonstration agents' answers to the registration challenge. They see only the prompt, like any agent, and the
 * real judge scores them; the analysis was prepared, as a trained model brings its knowledge, and the figure that the prompt
 * asks for is computed from it.
 */
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"
import { energy, materials } from "./answers/commodities.ts"
import { crypto, markets } from "./answers/markets.ts"
import { monetary, publicFinance } from "./answers/policy.ts"
import type { Prepared } from "./answers/prepared.ts"
import { reports } from "./answers/reports.ts"

const all: ReadonlyArray<Prepared> = [
  ...monetary,
  ...publicFinance,
  ...energy,
  ...materials,
  ...markets,
  ...crypto,
  ...reports
]

/** Words that tell which asset an unknown event moves, most specific first. */
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

export const answerTo = (prompt: string): RegistrationAnswer =>
  preparedFor(prompt)[0]?.answerTo(prompt) ?? improvised(prompt)

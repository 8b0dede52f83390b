/**
 * What the demonstration's agents answer to the registration challenge. They see the prompt alone, as any agent does, and
 * the real judge scores them; what was prepared beforehand is the analysis, as a trained model brings its knowledge.
 */
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"
import { crypto } from "./answers/crypto.ts"
import { energy } from "./answers/energy.ts"
import { markets } from "./answers/markets.ts"
import { materials } from "./answers/materials.ts"
import { monetary } from "./answers/monetary.ts"
import type { Prepared } from "./answers/prepared.ts"
import { publicFinance } from "./answers/publicFinance.ts"

const all: ReadonlyArray<Prepared> = [
  ...monetary,
  ...publicFinance,
  ...energy,
  ...materials,
  ...markets,
  ...crypto
]

/** Words by which an unknown event names what it moves, most telling first. */
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

/** An honest attempt at an event that nobody prepared for: it may fail, and the judge says what was lacking. */
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

/** What was prepared for the event of this prompt. */
export const preparedFor = (prompt: string): ReadonlyArray<Prepared> =>
  all.filter(({ about }) => about.every((words) => prompt.includes(words)))

/** An agent's answer to a registration prompt. */
export const answerTo = (prompt: string): RegistrationAnswer =>
  preparedFor(prompt)[0]?.answer ?? improvised(prompt)

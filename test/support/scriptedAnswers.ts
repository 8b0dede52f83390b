/**
 * The answer of a program without a language model to a prompt: it finds assets, numbers and long words by patterns, computes what
 * the question seems to ask for, guesses the direction by its words, and fills phrases that fit any market. The seed chooses them.
 */
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"
import { seeded } from "./registrationEvents.ts"

type Direction = RegistrationAnswer["market_impact"]["direction"]

const named: ReadonlyArray<readonly [key: string, name: string, pattern: RegExp]> = [
  ["ETH", "ether", /\bether/i],
  ["BTC", "bitcoin", /\bbitcoin/i],
  ["NG", "natural gas", /natural gas/i],
  ["HG", "copper", /copper/i],
  ["ZS", "soybeans", /soybean/i],
  ["CL", "crude oil", /crude|barrels/i],
  ["GC", "gold", /\bgold\b/i],
  ["ZN", "Treasury notes", /federal reserve|treasur|ten-year|consumer prices|jobs/i],
  ["ES", "equities", /equity|companies|shares|S&P|tariff/i],
  ["DXY", "the dollar", /dollars through|sold dollars/i]
]

const difference = (one: number, other: number): number => Math.abs(one - other)
const product = (one: number, other: number): number => one * other
const quotient = (one: number, other: number): number => Math.max(one, other) / Math.min(one, other)
const ratio = (one: number, other: number): number => (100 * Math.min(one, other)) / Math.max(one, other)
const change = (one: number, other: number): number => (100 * Math.abs(one - other)) / one

/** The likeliest operation by the words of the question. */
const operationFor = (question: string): ((one: number, other: number) => number) => {
  if (/in all|together/.test(question)) return (one, other) => one + other
  if (/how many times/.test(question)) return quotient
  if (/by how many percent (?!points)/.test(question)) return change
  if (/how many percent /.test(question)) return ratio
  if (question.startsWith("by how many")) return difference
  if (/how many more days|on average|a day/.test(question)) return quotient
  return product
}

const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[a-z]{4,}/g) ?? []

/** The figure from the two numbers nearest to words of the question. */
const figureOf = (facts: string, question: string): string => {
  const words = new Set(wordsOf(question))
  const [one, other] = [...facts.matchAll(/\d[\d ]*(?:\.\d+)?/g)]
    .map(({ 0: written, index }) => ({
      value: Number(written.replaceAll(" ", "")),
      index,
      near: wordsOf(facts.slice(Math.max(0, index - 70), index + 50)).filter((word) => words.has(word)).length
    }))
    .sort((a, b) => b.near - a.near || a.index - b.index)
  return String(Number(operationFor(question)(one?.value ?? 1, other?.value ?? 1).toPrecision(4)))
}

const rises =
  /\b(cut output|freez|drought|not rained|strike|walked out|drones|bought|allowed|took in|lower(ed)? the duties|cut its policy|slowed)\b/
const moves: Readonly<Record<Direction, readonly [verb: string, adverb: string, pressure: string]>> = {
  bullish: ["rise", "higher", "upward pressure"],
  bearish: ["fall", "lower", "downward pressure"],
  mixed: ["move", "both ways", "two-way pressure"]
}

/** One answer to the prompt. */
export const scripted = (prompt: string, seed: number): RegistrationAnswer => {
  const random = seeded(seed)
  const [facts = "", task = ""] = prompt.split("\n\n")
  const question = /State in digits (.*)\.$/.exec(task)?.[1] ?? ""
  const found = named.filter(([, , pattern]) => pattern.test(facts)).slice(0, 2)
  const [asset = "equities", second = "the dollar"] = found.map(([, name]) => name)
  const long = [...new Set(facts.match(/\b[a-z]{6,}\b/g) ?? [])]
  const word = (): string => long[random(Math.max(1, long.length))] ?? "news"
  const pick = (phrases: ReadonlyArray<string>): string => phrases[random(phrases.length)] ?? ""
  const likely: Direction = rises.test(facts) ? "bullish" : "bearish"
  const direction = random(5) === 0 ? "mixed" : likely
  const [verb, adverb, pressure] = moves[direction]
  const figure = figureOf(facts, question)
  const aim = question.replace(/^(by|for) how many |^how many |^the /, "")
  const summary = pick([
    `The market was surprised by news on ${word()} and ${word()}: it is ${figure} ${aim}.`,
    `News about the ${word()} and ${word()} came out far from expectations; we compute ${figure} for "${question}".`,
    `This event concerns ${asset}, its ${word()} and its ${word()}. The key number is ${figure}.`
  ])
  const cause = pick([
    `Because the ${word()} differs from what was priced, investors have to revise their view of ${asset}.`,
    `The ${word()} changes the balance of supply and demand, which puts ${pressure} on ${asset}.`,
    `Since traders did not expect the ${word()}, hedging and liquidation flows drive ${asset} ${adverb}.`,
    `The surprise in ${word()} alters inflation expectations and interest rates, and so real yields adjust.`
  ])
  const effect = pick([
    `As a result ${asset} should ${verb}, and ${second} follows through the ${word()}.`,
    `This leads to ${adverb} prices for ${asset} as inventories and margins react.`,
    `Therefore ${asset} will ${verb} until the ${word()} returns to normal.`
  ])
  return {
    event_summary: summary,
    market_impact: {
      affected_assets: found.map(([key]) => key),
      direction,
      magnitude: pick(["medium", "high"]) === "high" ? "high" : "medium",
      reasoning: `${cause} ${effect}`
    },
    trading_implications: {
      short_term: pick([
        `In the short term ${asset} is likely to ${verb} with more volatility.`,
        `Over the next days momentum should push ${asset} ${adverb}.`,
        `Traders will react to the ${word()} first, so ${asset} may ${verb} quickly.`
      ]),
      medium_term: pick([
        `In the medium term the effect depends on the ${word()} and on central bank policy.`,
        `Later the trend in ${asset} fades if the ${word()} normalises.`,
        `Over several months fundamentals such as ${word()} and growth decide.`
      ])
    },
    confidence: 0.6 + random(20) / 100,
    related_events: ["central bank decisions", "inflation and growth data", "weather and production reports"]
  }
}

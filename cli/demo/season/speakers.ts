/** Agents of one owner that answer in the other forms: probabilities, quantiles and samples, with names in other scripts. */
import type { NewAnswer } from "../../../src/services/domain/Answer.ts"
import type { OpenQuestion } from "../../../src/services/OpenQuestions.ts"

export interface Speaker {
  readonly name: string
  readonly bio: string
  /** The form of a numeric answer; for outcomes each agent gives probabilities. */
  readonly form: "quantiles" | "samples" | "normal"
}

export const speakers: ReadonlyArray<Speaker> = [
  { name: "北斗", bio: "Says how likely each outcome is.", form: "normal" },
  { name: "وكيل التوقعات", bio: "Says a number by its quantiles.", form: "quantiles" },
  { name: "drawer", bio: "Says a number by samples.", form: "samples" }
]

/** All these agents belong to this person. */
export const speakersMailbox = "owner-of-three@example.org"

/** The credits of each agent, besides its claim grant. */
export const speakerCredits = 1234

/** The possible decisions of a central bank's meeting, in their order. */
export const decisions = [
  { name: "Cut by 25", probability: 0.25 },
  { name: "Hold", probability: 0.5 },
  { name: "Raise by 25", probability: 0.25 }
]

/** Quantiles of a standard normal distribution. */
const quantiles = [
  [0.05, -1.6449],
  [0.25, -0.6745],
  [0.5, 0],
  [0.75, 0.6745],
  [0.95, 1.6449]
] as const
const sampleCount = 40

const rounded = (value: number): number => Number(value.toFixed(4))

/** Probabilities of four decimals that sum to 1. */
const vector = (names: ReadonlyArray<string>, weights: ReadonlyArray<number>): Record<string, number> => {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const others = weights.slice(1).map((weight) => rounded(weight / sum))
  const first = rounded(1 - others.reduce((total, each) => total + each, 0))
  return Object.fromEntries(names.map((name, index) => [name, [first, ...others][index] ?? 0]))
}

/** The reference's probabilities of categories, with a little more doubt. */
export const ofCategories = (categories: NonNullable<OpenQuestion["answer"]["categories"]>) => ({
  probabilities: vector(
    categories.map(({ name }) => name),
    categories.map(({ probability }) => probability + 0.05)
  )
})

const sides = { directional: ["bullish", "neutral", "bearish"], price_event: ["bullish", "bearish"] } as const

/** A numeric answer around a middle, with a standard deviation. */
export const answerIn = (form: Speaker["form"], middle: number, std: number): NewAnswer => {
  switch (form) {
    case "normal":
      return { predicted_value: rounded(middle), predicted_std: rounded(std) }
    case "quantiles":
      return { quantiles: quantiles.map(([p, z]) => ({ p, value: rounded(middle + z * std) })) }
    case "samples":
      return {
        samples: Array.from({ length: sampleCount }, (_, index) =>
          rounded(middle + std * 1.7 * ((2 * index + 1) / sampleCount - 1))
        )
      }
  }
}

export const speakerAnswer = (
  { form }: Speaker,
  { answer: { categories, forms }, type }: Pick<OpenQuestion, "answer" | "type">,
  middle: number,
  std: number
): NewAnswer => {
  if (categories !== null) return ofCategories(categories)
  if (type !== "macro" && forms.includes("probabilities")) {
    return { probabilities: vector(sides[type], [0.34, 0.36, 0.3]) }
  }
  return answerIn(form, middle, std)
}

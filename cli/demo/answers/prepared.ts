/**
 * An answer to one kind of event, prepared beforehand by somebody who knows the matter. What the prompt asks to be computed is
 * computed from the prompt.
 */
import type { RegistrationAnswer } from "../../../src/services/RegistrationJudge.ts"

export interface Prepared {
  /** What a prompt says that is about this, all of it. */
  readonly about: ReadonlyArray<string>
  readonly answerTo: (prompt: string) => RegistrationAnswer
}

interface Notes {
  readonly summary: string
  readonly assets: ReadonlyArray<string>
  readonly direction: RegistrationAnswer["market_impact"]["direction"]
  readonly magnitude: RegistrationAnswer["market_impact"]["magnitude"]
  readonly reasoning: string
  readonly short: string
  readonly medium: string
  readonly confidence: number
  readonly related: ReadonlyArray<string>
}

const operations = {
  minus: (one: number, other: number) => one - other,
  plus: (one: number, other: number) => one + other,
  times: (one: number, other: number) => one * other,
  over: (one: number, other: number) => one / other,
  "percent of": (one: number, other: number) => (one * other) / 100,
  "as percent of": (one: number, other: number) => (100 * one) / other,
  "in percent above": (one: number, other: number) => (100 * (one - other)) / other
}

/** Two numbers, each with the words about it in which N stands for it, what to do with them, and what the result says. */
export interface Computed {
  readonly of: readonly [one: string, by: keyof typeof operations, other: string | number]
  readonly says: string
}

const numberIn = (prompt: string, words: string): number => {
  const pattern = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("N", "(\\d[\\d ]*(?:\\.\\d+)?)")
  return Number(new RegExp(pattern).exec(prompt)?.[1]?.replaceAll(" ", ""))
}

const compute = (prompt: string, { of: [one, by, other] }: Computed): number =>
  operations[by](numberIn(prompt, one), typeof other === "number" ? other : numberIn(prompt, other))

const sentence = (value: number, { says }: Computed): string =>
  ` By the numbers given that is ${Number(Math.abs(value).toPrecision(4))} ${says}.`

const answerOf = (notes: Notes, figure: string): RegistrationAnswer => ({
  event_summary: `${notes.summary}${figure}`,
  market_impact: {
    affected_assets: notes.assets,
    direction: notes.direction,
    magnitude: notes.magnitude,
    reasoning: notes.reasoning
  },
  trading_implications: { short_term: notes.short, medium_term: notes.medium },
  confidence: notes.confidence,
  related_events: notes.related
})

export const prepared = (about: ReadonlyArray<string>, computed: Computed, notes: Notes): Prepared => ({
  about,
  answerTo: (prompt) => answerOf(notes, sentence(compute(prompt, computed), computed))
})

/** Of a report that may come out on either side of what was expected. */
export const preparedReport = (
  about: ReadonlyArray<string>,
  computed: Computed,
  notes: { readonly above: Notes; readonly below: Notes }
): Prepared => ({
  about,
  answerTo: (prompt) => {
    const value = compute(prompt, computed)
    return answerOf(value > 0 ? notes.above : notes.below, sentence(value, computed))
  }
})

/** An answer beside its event, its texts read once for all criteria. */
import { namesAsset } from "./assets.ts"
import { statesFigure } from "./figure.ts"
import { termsOfKind } from "./lexicon.ts"
import type { RegistrationAnswer, RegistrationEvent } from "./model.ts"
import { lacksOf } from "./prose.ts"
import type { Lacks } from "./prose.ts"
import { countMentions, mentions, read, term } from "./text.ts"
import type { Passage, Term } from "./text.ts"

const wordsOfMatter = 2
const wordsOfEvent = 2

export interface Submission {
  readonly event: RegistrationEvent
  readonly answer: RegistrationAnswer
  /** The words of this event and of its kind. */
  readonly vocabulary: ReadonlyArray<Term>
  readonly prompt: Passage
  readonly summary: Passage
  readonly reasoning: Passage
  readonly shortTerm: Passage
  readonly mediumTerm: Passage
  /** The degree, 0 to 1, to which the whole answer is about this very event, not about another one of its kind. */
  readonly specificity: number
  /** The fit is 1, or down to `minFit` if the answer uses the words of another event that might have been asked about. */
  readonly fit: number
  /** True if the texts have the figure that the prompt asks for. */
  readonly isComputed: boolean
  readonly lacks: Lacks
}

/** The result of a criterion: the share of its points, 0 to 1, and the missing parts. */
export interface Assessment {
  readonly share: number
  readonly lacking: ReadonlyArray<string>
}

const distinctTerms = (terms: ReadonlyArray<Term>): ReadonlyArray<Term> => [
  ...new Map(terms.map((each) => [each.needle, each])).values()
]

/** This many more words of another event than of the own one are no accident. */
const wordsOfAnother = 3
/** An answer with fewer words over all its texts has too few of any event to tell them apart. */
const minCompared = 35
/** Honest answers have a third more words of their own event than of any other; a copied one has hardly any. */
const fits = { never: 0.5, wholly: 0.9 }
/** Words alone prove nothing, so this share always counts. */
const minFit = 0.3

const wordsOf = (event: RegistrationEvent, texts: ReadonlyArray<Passage>): number =>
  event.terms.map(term).filter((wanted) => texts.some((text) => mentions(text, wanted))).length

/** Compares the texts' words of this event with those of all others. */
const fitOf = (own: number, texts: ReadonlyArray<Passage>, others: ReadonlyArray<RegistrationEvent>) => {
  if (texts.reduce((sum, { size }) => sum + size, 0) < minCompared) return 1
  const max = Math.max(0, ...others.map((other) => wordsOf(other, texts)))
  return max - own < wordsOfAnother ? 1 : Math.max(minFit, ramp(own / max, fits.never, fits.wholly))
}

/** Reads an answer. `others` are events that were not asked about. */
export const open = (
  event: RegistrationEvent,
  answer: RegistrationAnswer,
  others: ReadonlyArray<RegistrationEvent>
): Submission => {
  const summary = read(answer.event_summary)
  const reasoning = read(answer.market_impact.reasoning)
  const shortTerm = read(answer.trading_implications.short_term)
  const mediumTerm = read(answer.trading_implications.medium_term)
  const texts = [summary, reasoning, shortTerm, mediumTerm]
  const own = wordsOf(event, texts)
  const written = [
    answer.event_summary,
    answer.market_impact.reasoning,
    answer.trading_implications.short_term,
    answer.trading_implications.medium_term
  ]
  const isComputed = event.figure !== undefined && statesFigure(event.figure, event.prompt, written)
  return {
    event,
    answer,
    vocabulary: distinctTerms([
      ...event.terms.map(term),
      ...event.kinds.flatMap((kind) => termsOfKind[kind])
    ]),
    prompt: read(event.prompt),
    summary,
    reasoning,
    shortTerm,
    mediumTerm,
    specificity: ramp(own, 0, wordsOfEvent),
    isComputed,
    lacks: lacksOf(event, written, reasoning, [
      ...answer.market_impact.affected_assets,
      ...answer.related_events
    ]),
    // An answer with the figure that is also about the event shows that its agent has read it.
    fit: isComputed && own >= wordsOfEvent ? 1 : fitOf(own, texts, others)
  }
}

/** The complaints whose condition holds. */
export const complaints = (
  ...all: ReadonlyArray<readonly [applies: boolean, complaint: string]>
): ReadonlyArray<string> => all.filter(([applies]) => applies).map(([, complaint]) => complaint)

/** The value is 0 at `from`, 1 at `to`, and linear between them; `from` may be the larger. */
export const ramp = (value: number, from: number, to: number): number =>
  Math.min(1, Math.max(0, (value - from) / (to - from)))

/** True if a text names an asset that this event moves. */
export const namesMovedAsset = (passage: Passage, event: RegistrationEvent): boolean =>
  [...event.assets.core, ...event.assets.plausible].some((key) => namesAsset(passage, key))

/** The degree, 0 to 1, to which a text has the words of this kind of subject; the name of an asset that the event moves is one word. */
export const aboutness = (passage: Passage, { event, vocabulary }: Submission): number =>
  ramp(countMentions(passage, vocabulary) + (namesMovedAsset(passage, event) ? 1 : 0), 0, wordsOfMatter)

/** The relevance of a text, 0 to 1: the answer is about this very event, and the text about its kind of subject. */
export const relevanceOf = (passage: Passage, submission: Submission): number =>
  submission.specificity * (0.5 + 0.5 * aboutness(passage, submission))

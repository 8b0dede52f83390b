/** The criteria that judge what the answer wrote: the summary, cause and effect, and the two horizons. */
import { causal, functionWords } from "./lexicon.ts"
import { aboutness, complaints, namesMovedAsset, ramp, relevanceOf } from "./submission.ts"
import type { Assessment, Submission } from "./submission.ts"
import { borrowed, copied, countMentions, isChinese, likeness, shareOf } from "./text.ts"
import type { Passage } from "./text.ts"

/** A sentence of more words than this is several. */
const maxSentence = 70
const minText = 3
/** What a reasoning is still worth that says nothing of the event. */
const besideTheEvent = 0.15
/** A horizon may speak of futures and spreads without a word of the event, but so does a platitude. */
const horizonBesideTheEvent = 0.3

const writeOwnWords = "is largely the prompt again or repeats itself: write it in your own words."
const writeSentences = "is a list of keywords rather than sentences."
const speakOfEvent = "says too little of this event: name the facts and the assets it is about."

/** How well the number of sentences keeps to what is asked. */
const sentenceShare = ({ sentences, size }: Passage, fewest: number, most: number): number => {
  const count = sentences.length
  if (count === 0) return 0
  const fluency = size / count > maxSentence ? 0.5 : 1
  if (count < fewest) return 0.5 * fluency
  if (count <= most) return fluency
  return fluency * Math.max(0.2, 1 - 0.25 * (count - most))
}

/** Lists of keywords and invented words lack the little words of prose. Chinese prose can do without. */
const proseShare = (passage: Passage): number =>
  isChinese(passage) ? 1 : 0.4 + 0.6 * ramp(shareOf(passage, functionWords), 0, 0.08)

/** 0 for a copy of the prompt, also in another order, and for a text that repeats itself. */
const originality = (passage: Passage, prompt: Passage): number =>
  Math.min(
    ramp(copied(passage, prompt), 0.7, 0.4),
    ramp(borrowed(passage, prompt), 0.97, 0.85),
    ramp(passage.novelty, 0.45, 0.75)
  )

/** A summary may stay close to the wording it sums up. */
const summaryOriginality = (passage: Passage, prompt: Passage): number =>
  Math.min(
    ramp(copied(passage, prompt), 0.9, 0.6),
    ramp(borrowed(passage, prompt), 1, 0.95),
    ramp(passage.novelty, 0.45, 0.75)
  )

/** 0 for a text that another field has already. */
const unlike = (passage: Passage, ...others: ReadonlyArray<Passage>): number =>
  Math.min(...others.map((other) => ramp(likeness(passage, other), 0.9, 0.5)))

/** Every text there, and a summary in one's own words. */
export const assessCompleteness = (submission: Submission): Assessment => {
  const { mediumTerm, prompt, reasoning, shortTerm, summary } = submission
  const fields = [
    ["event_summary", summary],
    ["market_impact.reasoning", reasoning],
    ["trading_implications.short_term", shortTerm],
    ["trading_implications.medium_term", mediumTerm]
  ] as const
  const missing = fields.filter(([, passage]) => passage.size < minText)
  const written = 1 - missing.length / fields.length
  const own = summaryOriginality(summary, prompt)
  const relevance = relevanceOf(summary, submission)
  const substance = ramp(summary.size, 4, 12)
  const prose = proseShare(summary)
  const there = summary.size >= minText
  return {
    share: 0.3 * written + 0.7 * substance * own * relevance * prose,
    lacking: [
      ...missing.map(([name]) => `${name} is empty or too short to say anything.`),
      ...complaints(
        [there && substance < 1, "event_summary is too short to tell what happened."],
        [there && own < 1, `event_summary ${writeOwnWords}`],
        [there && relevance < 1, `event_summary ${speakOfEvent}`],
        [there && prose < 1, `event_summary ${writeSentences}`]
      )
    ]
  }
}

/** Cause and effect in 2-3 sentences that speak of this event and its assets. */
export const assessReasoning = (submission: Submission): Assessment => {
  const { event, prompt, reasoning, summary } = submission
  if (reasoning.size < minText) return { share: 0, lacking: ["The reasoning is empty or too short."] }
  const sentences = sentenceShare(reasoning, 2, 3)
  const substance = ramp(reasoning.size, 6, 24)
  const links = ramp(countMentions(reasoning, causal), 0, 2)
  const named = namesMovedAsset(reasoning, event)
  const relevance = relevanceOf(reasoning, submission)
  const own = Math.min(originality(reasoning, prompt), unlike(reasoning, summary))
  const prose = proseShare(reasoning)
  const form = 0.2 * sentences + 0.25 * substance + 0.3 * links
  const content = 0.15 * (named ? 1 : 0) + 0.1 * relevance
  return {
    share: (form + content) * (besideTheEvent + (1 - besideTheEvent) * relevance) * own * prose,
    lacking: complaints(
      [sentences < 1, "Write the reasoning in 2-3 sentences of ordinary length."],
      [substance < 1, "Say more about how the event reaches prices."],
      [links < 1, "Join causes and effects in so many words: what leads to what, and why."],
      [!named, "Name the asset whose price moves."],
      [relevance < 1, `The reasoning ${speakOfEvent}`],
      [own < 1, `The reasoning ${writeOwnWords}`],
      [prose < 1, `The reasoning ${writeSentences}`]
    )
  }
}

const assessHorizon = (name: string, passage: Passage, submission: Submission): Assessment => {
  const { prompt, reasoning, summary } = submission
  if (passage.size < minText) return { share: 0, lacking: [`${name} is empty or too short.`] }
  const form = 0.4 * sentenceShare(passage, 1, 2) + 0.6 * ramp(passage.size, 3, 9)
  const relevance = aboutness(passage, submission) > 0 ? 1 : horizonBesideTheEvent
  const own = Math.min(originality(passage, prompt), unlike(passage, reasoning, summary))
  const prose = proseShare(passage)
  return {
    share: form * relevance * own * prose,
    lacking: complaints(
      [form < 1, `Write ${name} in 1-2 full sentences.`],
      [relevance < 1, `${name} ${speakOfEvent}`],
      [own < 1, `${name} is largely the prompt or another field again.`],
      [prose < 1, `${name} ${writeSentences}`]
    )
  }
}

/** Short term and medium term in 1-2 sentences each, different from each other. */
export const assessHorizons = (submission: Submission): Assessment => {
  const { mediumTerm, shortTerm } = submission
  const near = assessHorizon("short_term", shortTerm, submission)
  const far = assessHorizon("medium_term", mediumTerm, submission)
  const apart = ramp(likeness(shortTerm, mediumTerm), 0.7, 0.35)
  return {
    share: 0.35 * (near.share + far.share) + 0.3 * apart * Math.min(near.share, far.share),
    lacking: [
      ...near.lacking,
      ...far.lacking,
      ...complaints([apart < 1, "short_term and medium_term say the same: tell what changes with time."])
    ]
  }
}

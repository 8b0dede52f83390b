/**
 * The registration challenge's rubric: a pure, deterministic function of (event, answer) to 100 points over eight criteria, pass at
 * 60. It distinguishes an agent that reads the event and thinks about it from one that does not; it is no forecast contest, so
 * several readings of an event earn points.
 *
 * Six conditions decide by themselves, however well the rest is written: a direction that the event allows, a reasoning that does not
 * contradict it and is no copy of the prompt, an asset that the event moves, the figure that the prompt asks for, and no word to the
 * judge. An answer that fails one of them does not pass, whether rules or a model give the points. If rules give them, the texts must
 * also be prose about this market that adds something to the prompt (`prose.ts`).
 *
 * The choices alone (assets, direction, magnitude, confidence, related events) make 42 points and the texts alone 58: neither luck
 * nor eloquence passes by itself. An answer about another event of the bank gets few of either, so that answers cannot be passed on.
 */
import { assetKeys } from "./registration/model.ts"
import type {
  CriterionVerdict,
  RegistrationAnswer,
  RegistrationEvent,
  Verdict
} from "./registration/model.ts"
import { contradictsDirection } from "./registration/coherence.ts"
import { open, complaints, ramp, aboutness, namesMovedAsset, relevanceOf } from "./registration/submission.ts"
import type { Assessment, Submission } from "./registration/submission.ts"
import { resolveAsset } from "./registration/assets.ts"
import { termsOfKind, causal, functionWords } from "./registration/lexicon.ts"
import {
  mentions,
  read,
  borrowed,
  copied,
  countMentions,
  isChinese,
  likeness,
  shareOf
} from "./registration/text.ts"
import type { Passage } from "./registration/text.ts"

/** The share for secondary assets alone: the event was understood in part. */
const secondaryOnly = 0.35
/** An unknown entry may be a real asset, such as silver: it weighs half of a wrong one. */
const unknownEntryWeight = 0.5
const enoughRelated = 2
/** Analysts' lists differ by about this much. */
const tolerated = 0.5

/** Reads the entries; each meaning counts once. */
const withoutRepeats = (entries: ReadonlyArray<string>): ReadonlyArray<Passage> => {
  const byMeaning = new Map(entries.map(read).map((entry) => [entry.joined, entry]))
  byMeaning.delete("")
  return [...byMeaning.values()]
}

/** Compares the affected assets with the event's: every core one, and not too many others. */
const assessAssets = ({ answer, event }: Submission): Assessment => {
  const entries = withoutRepeats(answer.market_impact.affected_assets)
  const resolved = entries.map(resolveAsset)
  const unknown = resolved.filter((key) => key === undefined).length
  const named = new Set(resolved.filter((key) => key !== undefined))
  const core = event.assets.core.filter((key) => named.has(key)).length
  const right = core + event.assets.plausible.filter((key) => named.has(key)).length
  const wrong = named.size - right + unknown * unknownEntryWeight
  const seen = Math.max(core / event.assets.core.length, right > 0 ? secondaryOnly : 0)
  return {
    share: seen * ramp(wrong, right / 2 + 1.5, tolerated),
    lacking: complaints(
      [entries.length === 0, "No asset is named: list the keys of the assets whose price this event moves."],
      [entries.length > 0 && right === 0, "None of the assets named is one that this event moves directly."],
      [right > 0 && core < event.assets.core.length, "An asset that this event moves directly is missing."],
      [
        right > 0 && wrong > tolerated,
        "Assets are named that this event hardly moves: keep those with a clear channel."
      ],
      [unknown > 0, "Some entries are not asset keys; the description of this criterion lists the keys."]
    )
  }
}

/** A reading with this weight or more is defensible. */
const allowed = 0.5

const namesAnyMoved = ({ answer, event }: Submission): boolean => {
  const moved = new Set([...event.assets.core, ...event.assets.plausible])
  return withoutRepeats(answer.market_impact.affected_assets).some((entry) => {
    const key = resolveAsset(entry)
    return key !== undefined && moved.has(key)
  })
}

/** Compares the direction with the event's plausible ones. */
const assessDirection = ({ answer, event }: Submission): Assessment => {
  const share = event.directions[answer.market_impact.direction] ?? 0
  if (share >= 1) return { share, lacking: [] }
  return {
    share,
    lacking: [
      share >= allowed
        ? "This reading can be defended, but the facts given point more clearly another way."
        : "The facts given do not support this direction: say which way the price of the asset hit most directly goes."
    ]
  }
}

/** Compares the magnitude with the event's plausible ones. */
const assessMagnitude = ({ answer, event }: Submission): Assessment => {
  const share = event.magnitudes[answer.market_impact.magnitude] ?? 0
  if (share >= 1) return { share, lacking: [] }
  return {
    share,
    lacking: [
      share >= allowed
        ? "This size can be defended, but the numbers given suggest another."
        : "This size does not fit the numbers given: compare the surprise with what was expected."
    ]
  }
}

/** Accepts a confidence that allows for an error and is still informative. */
const assessConfidence = ({ answer: { confidence } }: Submission): Assessment => {
  if (!(confidence > 0 && confidence < 1)) {
    return {
      share: 0,
      lacking: ["Nothing about markets is certain: give a confidence between 0 and 1, not the ends."]
    }
  }
  const share = Math.min(ramp(confidence, 0, 0.3), ramp(confidence, 1, 0.92))
  return share === 1
    ? { share, lacking: [] }
    : {
        share,
        lacking: ["The confidence is extreme for what the facts given can tell: move it away from the end."]
      }
}

/** Related events of kinds that bear on this one, each once. */
const assessRelated = ({ answer, event }: Submission): Assessment => {
  const entries = withoutRepeats(answer.related_events)
  const terms = event.related.flatMap((kind) => termsOfKind[kind])
  const good = entries.filter((entry) => terms.some((wanted) => mentions(entry, wanted))).length
  const off = entries.length - good
  const repeats = answer.related_events.length - entries.length
  return {
    share: ramp(good, 0, enoughRelated) * Math.min(1, (good + 1) / (off + repeats + 1)),
    lacking: complaints(
      [entries.length === 0, "No related event is named: list kinds of events that bear on this one."],
      [entries.length > 0 && good === 0, "None of the events named bears on this one by a clear channel."],
      [good === 1, `Name at least ${enoughRelated} kinds of events that bear on this one.`],
      [good > 0 && off > good, "Most of the events named have little to do with this one."],
      [repeats > 0, "Some entries are empty or say the same thing twice."]
    )
  }
}

/** A sentence with more words than this counts as several. */
const maxSentence = 70
const minText = 2
/** The share that a reasoning without a word about the event still gets. */
const besideTheEvent = 0.15
/** A horizon may be about futures and spreads without a word of the event, but so may a platitude. */
const horizonBesideTheEvent = 0.3

const writeOwnWords = "is largely the prompt again or repeats itself: write it in your own words."
const writeSentences = "is a list of keywords rather than sentences."
const speakOfEvent = "says too little of this event: name the facts and the assets it is about."

/** Compares the number of sentences with the required range. */
const sentenceShare = ({ sentences, size }: Passage, min: number, max: number): number => {
  const count = sentences.length
  if (count === 0) return 0
  const fluency = size / count > maxSentence ? 0.5 : 1
  if (count < min) return 0.5 * fluency
  if (count <= max) return fluency
  return fluency * Math.max(0.2, 1 - 0.25 * (count - max))
}

/** Lists of keywords and invented words lack the little words of prose. Chinese prose can do without. */
const proseShare = (passage: Passage): number =>
  isChinese(passage) ? 1 : 0.4 + 0.6 * ramp(shareOf(passage, functionWords), 0, 0.08)

/** The share is 0 for a copy of the prompt, also in another order, and for a text that repeats itself. */
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

/** The share is 0 for a text that repeats another field. */
const unlike = (passage: Passage, ...others: ReadonlyArray<Passage>): number =>
  Math.min(...others.map((other) => ramp(likeness(passage, other), 0.9, 0.5)))

/** Requires every text, and a summary in the agent's own words. */
const assessCompleteness = (submission: Submission): Assessment => {
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
  const substance = ramp(summary.size, 3, 9)
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

/** Requires cause and effect in 2-3 sentences about this event and its assets. */
const assessReasoning = (submission: Submission): Assessment => {
  const { event, prompt, reasoning, summary } = submission
  if (reasoning.size < minText) return { share: 0, lacking: ["The reasoning is empty or too short."] }
  const sentences = sentenceShare(reasoning, 2, 3)
  const substance = ramp(reasoning.size, 4, 14)
  const links = ramp(countMentions(reasoning, causal), 0, 1)
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
  const form = 0.4 * sentenceShare(passage, 1, 2) + 0.6 * ramp(passage.size, 1, 6)
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

/** Requires short term and medium term in 1-2 sentences each, different from each other. */
const assessHorizons = (submission: Submission): Assessment => {
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

export type { RegistrationAnswer, RegistrationEvent, Verdict } from "./registration/model.ts"

interface Criterion {
  readonly name: string
  readonly points: number
  readonly description: string
  readonly assess: (submission: Submission) => Assessment
}

const criteria: ReadonlyArray<Criterion> = [
  {
    name: "completeness",
    points: 12,
    description:
      "Every field is filled in, and event_summary tells what happened in your own words, in English or Chinese.",
    assess: assessCompleteness
  },
  {
    name: "affected_assets",
    points: 16,
    description: `The assets whose price the event moves directly, and few others. Keys: ${assetKeys.join(", ")}.`,
    assess: assessAssets
  },
  {
    name: "direction",
    points: 12,
    description:
      "bullish, bearish or mixed for the price (not the yield) of the asset that the event hits most directly. A direction that the facts do not support fails.",
    assess: assessDirection
  },
  {
    name: "magnitude",
    points: 5,
    description: "low, medium or high, by the size of the surprise in the numbers given.",
    assess: assessMagnitude
  },
  {
    name: "cause_and_effect",
    points: 30,
    description:
      "reasoning: 2-3 sentences of cause and effect that name the facts and an asset they move, say by what it is moved (who has to buy or sell, what runs short), agree with the direction, and state the figure that the prompt asks for.",
    assess: assessReasoning
  },
  {
    name: "horizons",
    points: 16,
    description:
      "short_term and medium_term: 1-2 sentences each, different from each other and from the reasoning.",
    assess: assessHorizons
  },
  {
    name: "confidence",
    points: 4,
    description: "A confidence that leaves room for being wrong.",
    assess: assessConfidence
  },
  {
    name: "related_events",
    points: 5,
    description: "At least two other kinds of events that bear on this one, each once.",
    assess: assessRelated
  }
]

/** Points needed to pass. */
export const passScore = 60

/** The criteria and their points, by the names in the verdict. */
export const rubric = criteria.map(({ description, name, points }) => ({ name, points, description }))

const nothingLacking = "Nothing is lacking."
const aboutAnother = "This answer speaks in the words of another event than the one of the prompt."

const unsupported = "No answer passes with a direction that the facts given do not support."
const contradictory =
  "The reasoning says the opposite of the direction that you chose: say which way the price goes in both."
const withoutAsset = "No answer passes that names none of the assets that the event moves."
const copiedReasoning = "No answer passes whose reasoning is the prompt again or repeats itself."
const withoutFigure =
  "The figure that the prompt asks for is missing or wrong: compute it from the numbers given and write it in digits, without other guesses."

const toTheJudge =
  "No answer passes that speaks to its judge or about itself, or holds markup or code: write about the event alone, in English or Chinese."

const withoutOwn =
  "The texts add too little to the prompt: say what the figure is, and what carries the event to the price, such as who has to act or what runs short."

/** Names the obstacles to passing that hold whatever the rest, whether rules or a model give the points. */
const obstacles = (submission: Submission): ReadonlyArray<string> => {
  const { answer, event, isComputed, lacks, prompt, reasoning } = submission
  return complaints(
    [lacks.addressesJudge, toTheJudge],
    [(event.directions[answer.market_impact.direction] ?? 0) < allowed, unsupported],
    [contradictsDirection(event, answer), contradictory],
    [!namesAnyMoved(submission), withoutAsset],
    [originality(reasoning, prompt) === 0, copiedReasoning],
    [event.figure !== undefined && !isComputed, withoutFigure]
  )
}

/** Names the obstacles that hold only if no model reads the texts. */
const doubts = ({ lacks }: Submission): ReadonlyArray<string> =>
  complaints(
    [lacks.isStrange, "Too many words have nothing to do with markets: use plain English or Chinese."],
    [lacks.isDisordered, "The texts are words in a row or go in circles: write sentences."],
    [lacks.isScattered, "The texts speak of many matters that this event does not touch: keep to this one."],
    [lacks.addsNothing, withoutOwn]
  )

/** Takes points from the reasoning first, then from the horizons, until the answer does not pass. */
const capped = (
  verdicts: ReadonlyArray<CriterionVerdict>,
  reasons: ReadonlyArray<string>
): ReadonlyArray<CriterionVerdict> => {
  if (reasons.length === 0) return verdicts
  let excess = verdicts.reduce((sum, { points }) => sum + points, 0) - (passScore - 1)
  const taken = new Map<string, number>()
  for (const name of ["cause_and_effect", "horizons", "completeness", "affected_assets"]) {
    const points = verdicts.find((verdict) => verdict.name === name)?.points ?? 0
    const less = Math.min(points, Math.max(0, excess))
    excess -= less
    taken.set(name, less)
  }
  return verdicts.map((verdict) => {
    const points = verdict.points - (taken.get(verdict.name) ?? 0)
    if (verdict.name !== "cause_and_effect") {
      return points < verdict.points && verdict.feedback === nothingLacking
        ? { ...verdict, points, feedback: "Less than it is worth: see cause_and_effect." }
        : { ...verdict, points }
    }
    const own = verdict.feedback === nothingLacking ? [] : [verdict.feedback]
    return { ...verdict, points, feedback: [...reasons, ...own].join(" ") }
  })
}

const verdictOn = (
  { fit }: Submission,
  { name, points: max }: Criterion,
  { lacking, share }: Assessment
): CriterionVerdict => {
  const points = Math.round(share * fit * max)
  const complaints = fit < 1 ? [aboutAnother, ...lacking] : lacking
  const feedback = complaints.length === 0 || points === max ? nothingLacking : complaints.join(" ")
  return { name, points, max_points: max, feedback }
}

/** The points that another judge gives by the rubric. */
export interface Mark {
  readonly points: number
  /** The comment on missing points. */
  readonly comment: string
}

const assessmentOf = ({ description, points }: Criterion, mark: Mark | undefined): Assessment => ({
  share: (mark?.points ?? 0) / points,
  lacking: [mark?.comment || description]
})

/**
 * Judges an answer to an event of the bank. The same answer always gets the same verdict. `bank` has the other events that might have
 * been asked about. With marks, by the names of the criteria, they replace the rules: only the obstacles and the limit on another
 * event's answer stay.
 */
export const judge = (
  event: RegistrationEvent,
  answer: RegistrationAnswer,
  bank: ReadonlyArray<RegistrationEvent> = [],
  marks?: ReadonlyMap<string, Mark>
): Verdict => {
  const [name] = event.slug.split("?", 1)
  const others = bank.filter(({ slug }) => slug !== name)
  const submission = open(event, answer, others)
  const assess = (criterion: Criterion) =>
    marks === undefined ? criterion.assess(submission) : assessmentOf(criterion, marks.get(criterion.name))
  const verdicts = capped(
    criteria.map((criterion) => verdictOn(submission, criterion, assess(criterion))),
    [...obstacles(submission), ...(marks === undefined ? doubts(submission) : [])]
  )
  const score = verdicts.reduce((sum, { points }) => sum + points, 0)
  return { score, passed: score >= passScore, threshold: passScore, criteria: verdicts }
}

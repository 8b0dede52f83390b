/**
 * The registration challenge's rubric: a pure, deterministic function of (event, answer) to 100 points over eight
 * criteria, pass at 60. It tells an agent that reads the event and thinks about it from one that does not; it is
 * no forecast contest, so several readings of an event earn points.
 *
 * The choices alone (assets, direction, magnitude, confidence, related events) make 42 points and the texts alone
 * 58: neither luck nor eloquence passes by itself. An answer that is about another event of the bank is worth little of
 * both, so that none can be handed on.
 */
import {
  assessAssets,
  assessConfidence,
  assessDirection,
  assessMagnitude,
  assessRelated
} from "./registration/choices.ts"
import { assetKeys } from "./registration/model.ts"
import type {
  CriterionVerdict,
  RegistrationAnswer,
  RegistrationEvent,
  Verdict
} from "./registration/model.ts"
import { assessCompleteness, assessHorizons, assessReasoning } from "./registration/prose.ts"
import { open } from "./registration/submission.ts"
import type { Assessment, Submission } from "./registration/submission.ts"

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
      "bullish, bearish or mixed for the price (not the yield) of the asset that the event hits most directly.",
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
    description: "reasoning: 2-3 sentences of cause and effect that name the facts and an asset they move.",
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

/** What is scored, and for how many points: the names are those of the verdict. */
export const rubric = criteria.map(({ description, name, points }) => ({ name, points, description }))

const aboutAnother = "This answer is about another event than the one of the prompt."

const verdictOn = (submission: Submission, { assess, name, points: most }: Criterion): CriterionVerdict => {
  const { lacking, share } = assess(submission)
  const points = Math.round(share * submission.fit * most)
  const complaints = submission.fit < 1 ? [aboutAnother, ...lacking] : lacking
  const feedback = complaints.length === 0 || points === most ? "Nothing is lacking." : complaints.join(" ")
  return { name, points, max_points: most, feedback }
}

/**
 * Judges an answer to an event of the bank. The same answer always gets the same verdict. `bank` has the events that might
 * have been asked about instead.
 */
export const judge = (
  event: RegistrationEvent,
  answer: RegistrationAnswer,
  bank: ReadonlyArray<RegistrationEvent> = []
): Verdict => {
  const others = bank.filter(({ slug }) => slug !== event.slug)
  const submission = open(event, answer, others)
  const verdicts = criteria.map((criterion) => verdictOn(submission, criterion))
  const score = verdicts.reduce((sum, { points }) => sum + points, 0)
  return { score, passed: score >= passScore, threshold: passScore, criteria: verdicts }
}

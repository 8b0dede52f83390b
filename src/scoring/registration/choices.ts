/** The criteria that judge what the answer chose: assets, direction, magnitude, confidence, related events. */
import { resolveAsset } from "./assets.ts"
import { termsOfKind } from "./lexicon.ts"
import { complaints, ramp } from "./submission.ts"
import type { Assessment, Submission } from "./submission.ts"
import { mentions, read } from "./text.ts"
import type { Passage } from "./text.ts"

/** Only secondary assets named: the event was understood in part. */
const secondaryOnly = 0.35
/** An entry that is no known asset may be a real one, such as silver: it weighs half of a wrong one. */
const unknownEntryWeight = 0.5
const enoughRelated = 2
/** Analysts differ a little in what they list. */
const tolerated = 0.5

/** The entries taken apart, each meaning once. */
const withoutRepeats = (entries: ReadonlyArray<string>): ReadonlyArray<Passage> => {
  const byMeaning = new Map(entries.map(read).map((entry) => [entry.joined, entry]))
  byMeaning.delete("")
  return [...byMeaning.values()]
}

/** The affected assets against the event's: every core one, and not too many others. */
export const assessAssets = ({ answer, event }: Submission): Assessment => {
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

/** The direction against the event's plausible ones. */
export const assessDirection = ({ answer, event }: Submission): Assessment => {
  const share = event.directions[answer.market_impact.direction] ?? 0
  if (share >= 1) return { share, lacking: [] }
  return {
    share,
    lacking: [
      share > 0
        ? "This reading can be defended, but the facts given point more clearly another way."
        : "The facts given do not support this direction: say which way the price of the asset hit most directly goes."
    ]
  }
}

/** The magnitude against the event's plausible ones. */
export const assessMagnitude = ({ answer, event }: Submission): Assessment => {
  const share = event.magnitudes[answer.market_impact.magnitude] ?? 0
  if (share >= 1) return { share, lacking: [] }
  return {
    share,
    lacking: [
      share > 0
        ? "This size can be defended, but the numbers given suggest another."
        : "This size does not fit the numbers given: compare the surprise with what was expected."
    ]
  }
}

/** A confidence that leaves room for being wrong, and that says something. */
export const assessConfidence = ({ answer: { confidence } }: Submission): Assessment => {
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
export const assessRelated = ({ answer, event }: Submission): Assessment => {
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

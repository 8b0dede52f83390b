/** A macro challenge for everybody: the figure it asks for, how it ended, its credit pool, who forecast what, and its entries in the log. */
import type { Results } from "../../../services/Arenas.ts"
import type { MacroChallenge } from "../../../services/MacroArena.ts"
import type { PoolOdds } from "../../../services/Pools.ts"
import { challengeLayout } from "./challengeLayout.ts"
import type { Shown } from "./challengeLayout.ts"
import { at, byCrps } from "./challengeParts.ts"
import type { Drawn } from "./challengeParts.ts"
import type { RecordWords } from "./challengeRecord.ts"
import { forecastChart } from "../charts/answers.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { binRange, poolSection } from "./pool.ts"

const words: RecordWords = {
  settled: "The published value, the scale that forecasts are scored with, and one hash over all scores.",
  amended:
    "The value it is decided by instead, the same scale, one hash over all scores, and a hash of the reason.",
  workOut:
    "The proof of “Settled”, or of the last “Amended”, shows the published value and the reference scale. With both, anybody can work out the CRPS and the score of a forecast."
}

const outcome = (terms: MacroChallenge, { bin: winner }: Results) => {
  if (terms.actual_value === null) return null
  const bin = terms.bins.find(({ index }) => index === winner)
  const unit = terms.unit === null ? "" : ` ${terms.unit}`
  return html`<strong>${terms.actual_value}${unit}</strong
    >${bin === undefined ? "" : `, in the bin ${binRange(bin)}`}`
}

const counted = (count: number): string => (count === 1 ? "1 forecast" : `${count} forecasts`)

export const macroChallenge = (
  frame: Frame,
  shown: Shown<MacroChallenge, Pick<Drawn, "answers" | "now">> & { readonly odds: PoolOdds }
): Page => {
  const { drawn, odds, results, terms } = shown
  return challengeLayout(frame, shown, {
    type: "macro",
    about: `Challenge on ${terms.asset}, ${terms.period}`,
    ended: ["Void", terms.void_reason],
    facts: [
      ["Published value", outcome(terms, results)],
      ["Deadline", at(terms.deadline)],
      ["Release expected", at(terms.release_at)],
      ["Unit", terms.unit],
      ["Reference scale", results.reference_scale === null ? null : String(results.reference_scale)]
    ],
    pool: poolSection(terms, odds, results),
    said: {
      title: "Forecasts",
      count: String(results.prediction_count),
      soFar: counted(results.prediction_count),
      chart: () => forecastChart(drawn.answers, { unit: terms.unit, actual: terms.actual_value }),
      meaning: byCrps
    },
    words,
    alsoAsJson: [[`/api/v1/eval/macro/challenges/${terms.id}/odds`, "its pool"]]
  })
}

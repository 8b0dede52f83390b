/** A macro challenge for everybody: the figure it asks for, how it ended, its credit pool, who forecast what, and its entries in the log. */
import type { Results } from "../../services/Arenas.ts"
import type { MacroChallenge } from "../../services/MacroArena.ts"
import type { PoolOdds } from "../../services/Pools.ts"
import type { Site } from "../../services/Settings.ts"
import { amendedNotice, settledFacts, versions } from "./amendments.ts"
import {
  asJson,
  at,
  closesIn,
  criteria,
  heading,
  predictionList,
  sealedPredictions,
  statusBadge
} from "./challengeParts.ts"
import type { Drawn } from "./challengeParts.ts"
import { logRecord } from "./challengeRecord.ts"
import type { LogRecord, RecordWords } from "./challengeRecord.ts"
import { forecastChart } from "./charts/answers.ts"
import { facts, notice } from "./components.ts"
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

/** As the services show it: nothing of a forecast is there before the deadline. */
export const macroChallenge = (
  frame: Frame,
  shown: {
    readonly site: Site
    readonly terms: MacroChallenge
    readonly results: Results
    readonly odds: PoolOdds
    readonly record: LogRecord
    readonly drawn: Pick<Drawn, "answers" | "now">
  }
): Page => {
  const { drawn, odds, record, results, site, terms } = shown
  return {
    title: terms.question,
    audience: "everybody",
    below: "/challenges",
    width: "wide",
    content: html`
      ${heading(frame, "macro", `Challenge on ${terms.asset}, ${terms.period}`, terms.question)}
      ${
        terms.void_reason === null
          ? null
          : notice("warning", "Void: nobody is scored by it.", html`${terms.void_reason}`)
      }
      ${amendedNotice(results)}
      <div class="split">
        <section class="panel beside" aria-label="The challenge">
          ${facts([
            ["Status", statusBadge(terms.status)],
            ["Closes in", closesIn(terms, drawn.now)],
            ["Published value", outcome(terms, results)],
            ["Deadline", at(terms.deadline)],
            ["Release expected", at(terms.release_at)],
            ["Unit", terms.unit],
            ["Reference scale", results.reference_scale === null ? null : String(results.reference_scale)],
            ["Source", results.resolution_source],
            ...settledFacts(results),
            ["Forecasts", String(results.prediction_count)]
          ])}
        </section>
        <div class="first">
          <section aria-labelledby="criteria">
            <h2 id="criteria">How it is decided</h2>
            ${criteria(site, terms, null)}
          </section>
          ${poolSection(terms, odds, results)}
          <section aria-labelledby="predictions">
            <h2 id="predictions">Forecasts</h2>
            ${
              terms.status === "open"
                ? sealedPredictions(results.prediction_count, counted(results.prediction_count))
                : html`${forecastChart(drawn.answers, { unit: terms.unit, actual: terms.actual_value })}
                  ${predictionList(
                    frame,
                    results,
                    `${counted(results.prediction_count)}. Each agent's last word before the deadline: a value ± its standard deviation. The score, from 0 to 100, is by CRPS: 100 is a sure forecast of what came, and 50 what a forecaster who knows no more than the reference scale earns on average.`
                  )}`
            }
          </section>
          ${versions(results)} ${logRecord(frame, record, words)}
        </div>
      </div>
      ${asJson(frame, terms.id, [[`/api/v1/eval/macro/challenges/${terms.id}/odds`, "its pool"]])}
    `
  }
}

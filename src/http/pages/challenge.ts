/** A directional challenge for everybody: its terms, how it ended, who predicted what, and its entries in the log. */
import type { Results } from "../../services/Arenas.ts"
import type { Challenge } from "../../services/Challenges.ts"
import type { Site } from "../../services/Settings.ts"
import { amendedNotice, settledFacts, versions } from "./amendments.ts"
import { asJson, at, criteria, predictionList, sealedPredictions, statusBadge } from "./challengeParts.ts"
import { logRecord } from "./challengeRecord.ts"
import type { LogRecord, RecordWords } from "./challengeRecord.ts"
import { facts, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

/** What was said, each side with its number. */
const counts = (terms: Challenge) =>
  `${terms.prediction_count}: ${terms.bullish_count} bullish, ${terms.bearish_count} bearish, ${terms.neutral_count} neutral`

const withoutText = html`<p>
  This challenge has no text of its own; it settles by the dead zone of its target.
</p>`

const words: RecordWords = {
  settled: "The price it was settled by, the result, and one hash over all scores.",
  amended:
    "The price it is decided by instead, the result, one hash over all scores, and a hash of the reason.",
  workOut:
    "The proof of “Settled”, or of the last “Amended”, shows the price and the result. With both, anybody can work out the score."
}

/** Counts, status and results are as the services show them: nothing of an open prediction is among them. */
export const challenge = (
  frame: Frame,
  shown: {
    readonly site: Site
    readonly terms: Challenge
    readonly results: Results
    readonly record: LogRecord
  }
): Page => {
  const { record, results, site, terms } = shown
  return {
    title: terms.question,
    audience: "everybody",
    content: html`
      <div>
        <p class="eyebrow">Challenge on ${terms.asset}</p>
        <h1>${terms.question}</h1>
      </div>
      ${
        terms.cancel_reason === null
          ? null
          : notice("warning", "Cancelled: nobody is scored by it.", html`${terms.cancel_reason}`)
      }
      ${amendedNotice(results)}
      <section class="panel" aria-label="The challenge">
        ${facts([
          ["Status", statusBadge(terms.status)],
          ["Result", results.result === null ? null : html`<strong>${results.result}</strong>`],
          ["Deadline", at(terms.deadline)],
          ["Decided by", html`the price at ${at(terms.resolve_at)}`],
          ["Open price", String(terms.open_price)],
          ["Closing price", results.close_price === null ? null : String(results.close_price)],
          ["Dead zone", results.dead_zone_pct === null ? null : `± ${results.dead_zone_pct} %`],
          ["Source", results.resolution_source],
          ...settledFacts(results),
          ["Predictions", counts(terms)]
        ])}
      </section>
      <section aria-labelledby="criteria">
        <h2 id="criteria">How it is decided</h2>
        ${criteria(site, terms, withoutText)}
      </section>
      <section aria-labelledby="predictions">
        <h2 id="predictions">Predictions</h2>
        ${
          terms.status === "open"
            ? sealedPredictions(terms.prediction_count, counts(terms))
            : predictionList(
                frame,
                results,
                `${counts(terms)}. Each agent's last word before the deadline, with a confidence from 0 to 1.`
              )
        }
      </section>
      ${versions(results)} ${logRecord(frame, record, words)} ${asJson(frame, terms.id)}
    `
  }
}

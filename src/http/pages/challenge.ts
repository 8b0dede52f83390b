/** A directional challenge for everybody: its terms, how it ended, who predicted what, and its entries in the log. */
import type { Results } from "../../services/Arenas.ts"
import type { Challenge } from "../../services/Challenges.ts"
import { eventPage } from "../../services/pages.ts"
import type { Site } from "../../services/Settings.ts"
import { amendedNotice, settledFacts, versions } from "./amendments.ts"
import {
  asJson,
  at,
  closesIn,
  criteria,
  dateOf,
  heading,
  predictionList,
  sealedPredictions,
  statusBadge
} from "./challengeParts.ts"
import type { Drawn } from "./challengeParts.ts"
import { logRecord } from "./challengeRecord.ts"
import type { LogRecord, RecordWords } from "./challengeRecord.ts"
import { directionChart } from "./charts/answers.ts"
import { priceChart } from "./charts/prices.ts"
import { facts, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

const eventLink = (frame: Frame, eventId: string) =>
  html`<a href=${frame.at(eventPage(eventId))}>What happened, and what agents say</a>`

const directions = { bearish: "bearish", neutral: "neutral", bullish: "bullish" }

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
    readonly drawn: Drawn
  }
): Page => {
  const { drawn, record, results, site, terms } = shown
  return {
    title: terms.question,
    audience: "everybody",
    below: "/challenges",
    width: "wide",
    content: html`
      ${heading(frame, "directional", `Challenge on ${terms.asset}`, terms.question)}
      ${
        terms.cancel_reason === null
          ? null
          : notice("warning", "Cancelled: nobody is scored by it.", html`${terms.cancel_reason}`)
      }
      ${amendedNotice(results)}
      <div class="split">
        <section class="panel beside" aria-label="The challenge">
          ${facts([
            ["Status", statusBadge(terms.status)],
            ["Closes in", closesIn(terms, drawn.now)],
            ["Result", results.result === null ? null : html`<strong>${results.result}</strong>`],
            ["Deadline", at(terms.deadline)],
            ["Decided by", html`the price at ${at(terms.resolve_at)}`],
            ["Open price", String(terms.open_price)],
            ["Closing price", results.close_price === null ? null : String(results.close_price)],
            ["Dead zone", results.dead_zone_pct === null ? null : `± ${results.dead_zone_pct} %`],
            ["Source", results.resolution_source],
            ...settledFacts(results),
            ["Event", terms.event_id === null ? null : eventLink(frame, terms.event_id)],
            ["Predictions", counts(terms)]
          ])}
        </section>
        <div class="first">
          ${priceChart(
            {
              asset: terms.asset,
              from: drawn.from,
              deadline: dateOf(terms.deadline),
              resolveAt: dateOf(terms.resolve_at),
              ...(results.dead_zone_pct !== null && {
                deadZone: { openPrice: terms.open_price, pct: results.dead_zone_pct }
              }),
              ...(results.close_price !== null && {
                settled: { price: results.close_price, as: "Closing price" }
              })
            },
            drawn.prices
          )}
          <section aria-labelledby="criteria">
            <h2 id="criteria">How it is decided</h2>
            ${criteria(site, terms, withoutText)}
          </section>
          <section aria-labelledby="predictions">
            <h2 id="predictions">Predictions</h2>
            ${
              terms.status === "open"
                ? sealedPredictions(terms.prediction_count, counts(terms))
                : html`${directionChart(drawn.answers, directions, results.result)}
                  ${predictionList(
                    frame,
                    results,
                    `${counts(terms)}. Each agent's last word before the deadline, with a confidence from 0 to 1.`
                  )}`
            }
          </section>
          ${versions(results)} ${logRecord(frame, record, words)}
        </div>
      </div>
      ${asJson(frame, terms.id)}
    `
  }
}

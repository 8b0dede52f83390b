/** A price-event question for everybody: what it asks, how it was decided, who answered what, and its entries in the log. */
import type { Results } from "../../services/Arenas.ts"
import type { PriceEvent } from "../../services/PriceEvents.ts"
import type { Site } from "../../services/Settings.ts"
import { amendedNotice, versions } from "./amendments.ts"
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
import { directionChart, forecastChart } from "./charts/answers.ts"
import { priceChart } from "./charts/prices.ts"
import { facts, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

interface KindWords {
  /** What of the candles is shown as the outcome. */
  readonly observed: string
  readonly record: RecordWords
  /** How to read an answer. */
  readonly answers: string
}

const yesOrNo = (observed: string): KindWords => ({
  observed,
  record: {
    settled: `The ${observed.toLowerCase()}, the level, the result, and one hash over all scores.`,
    amended:
      "The price it is decided by instead, the result, one hash over all scores, and a hash of the reason.",
    workOut:
      "The proof of “Settled”, or of the last “Amended”, shows the price, the level and the result. With these anybody can work out the score."
  },
  answers: "bullish is Yes, bearish is No, with a confidence from 0 to 1."
})

const numeric = (observed: string): KindWords => ({
  observed,
  record: {
    settled: `The ${observed.toLowerCase()}, the scale that answers are scored with, and one hash over all scores.`,
    amended:
      "The value it is decided by instead, the same scale, one hash over all scores, and a hash of the reason.",
    workOut:
      "The proof of “Settled”, or of the last “Amended”, shows the value and the reference scale. With both, anybody can work out the CRPS and the score of an answer."
  },
  answers:
    "a value ± its standard deviation. The score, from 0 to 100, is by CRPS: 100 is a sure forecast of what came, and 50 what a forecaster who knows no more than the reference scale earns on average."
})

const words: Readonly<Record<PriceEvent["kind"], KindWords>> = {
  numeric_close: numeric("Close"),
  count_days: numeric("Days that closed up"),
  barrier: yesOrNo("Price nearest to the level"),
  threshold: yesOrNo("Close")
}

const yesAndNo = { bearish: "No", bullish: "Yes" }

/** What is observed of these is the price at the end. */
const closes: ReadonlySet<PriceEvent["kind"]> = new Set(["numeric_close", "threshold"])

const counted = (count: number): string => (count === 1 ? "1 answer" : `${count} answers`)

const result = (terms: PriceEvent): Html => {
  if (terms.result === null) return null
  return html`<strong>${terms.result === "bullish" ? "Yes" : "No"}</strong> (${terms.result})`
}

/** As the services show it: nothing of an answer is there before the deadline. */
export const priceEvent = (
  frame: Frame,
  shown: {
    readonly site: Site
    readonly terms: PriceEvent
    readonly results: Results
    readonly record: LogRecord
    readonly drawn: Drawn
  }
): Page => {
  const { drawn, record, results, site, terms } = shown
  const { answers, observed, record: recordWords } = words[terms.kind]
  const observation = results.actual_value ?? results.close_price
  return {
    title: terms.question,
    audience: "everybody",
    below: "/challenges",
    width: "wide",
    content: html`
      ${heading(frame, "price_event", `Price event on ${terms.asset}`, terms.question)}
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
            ["Result", result(terms)],
            [observed, observation === null ? null : String(observation)],
            ["Level", terms.level === null ? null : String(terms.level)],
            ["Deadline", at(terms.deadline)],
            ["From", terms.window_from === null ? null : at(terms.window_from)],
            ["Decided by the candles until", at(terms.resolve_at)],
            ["Reference scale", terms.reference_scale === null ? null : String(terms.reference_scale)],
            ["Source", results.resolution_source],
            ["Settled", results.resolved_at === null ? null : at(results.resolved_at)],
            ["Answers", String(results.prediction_count)]
          ])}
        </section>
        <div class="first">
          ${priceChart(
            {
              asset: terms.asset,
              from: drawn.from,
              deadline: dateOf(terms.deadline),
              resolveAt: dateOf(terms.resolve_at),
              ...(terms.level !== null && { level: terms.level }),
              ...(observation !== null &&
                closes.has(terms.kind) && { settled: { price: observation, as: observed } }),
              ...(terms.kind === "barrier" && { byRange: true })
            },
            drawn.prices
          )}
          <section aria-labelledby="criteria">
            <h2 id="criteria">How it is decided</h2>
            ${criteria(site, terms, null)}
          </section>
          <section aria-labelledby="predictions">
            <h2 id="predictions">Answers</h2>
            ${
              terms.status === "open"
                ? sealedPredictions(results.prediction_count, counted(results.prediction_count))
                : html`${
                    terms.level === null
                      ? forecastChart(drawn.answers, { unit: null, actual: results.actual_value })
                      : directionChart(drawn.answers, yesAndNo, terms.result)
                  }
                  ${predictionList(
                    frame,
                    results,
                    html`${counted(results.prediction_count)}. Each agent's last word before the deadline:
                    ${answers}`
                  )}`
            }
          </section>
          ${versions(results)} ${logRecord(frame, record, recordWords)}
        </div>
      </div>
      ${asJson(frame, terms.id)}
    `
  }
}

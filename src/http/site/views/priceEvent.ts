/** A price-event question for everybody: what it asks, how it was decided, who answered what, and its entries in the log. */
import type { PriceEvent } from "../../../services/PriceEvents.ts"
import { challengeLayout } from "./challengeLayout.ts"
import type { Shown } from "./challengeLayout.ts"
import { at, byCrps, dateOf } from "./challengeParts.ts"
import type { RecordWords } from "./challengeRecord.ts"
import { directionChart, forecastChart } from "../charts/answers.ts"
import { priceChart } from "../charts/prices.ts"
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
  answers: byCrps
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

export const priceEvent = (frame: Frame, shown: Shown<PriceEvent>): Page => {
  const { drawn, results, terms } = shown
  const { answers, observed, record } = words[terms.kind]
  const observation = results.actual_value ?? results.close_price
  return challengeLayout(frame, shown, {
    type: "price_event",
    about: `Price event on ${terms.asset}`,
    ended: ["Void", terms.void_reason],
    facts: [
      ["Result", result(terms)],
      [observed, observation === null ? null : String(observation)],
      ["Level", terms.level === null ? null : String(terms.level)],
      ["Deadline", at(terms.deadline)],
      ["From", terms.window_from === null ? null : at(terms.window_from)],
      ["Decided by the candles until", at(terms.resolve_at)],
      ["Reference scale", terms.reference_scale === null ? null : String(terms.reference_scale)]
    ],
    prices: priceChart(
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
    ),
    said: {
      title: "Answers",
      count: String(results.prediction_count),
      soFar: counted(results.prediction_count),
      chart: () =>
        terms.level === null
          ? forecastChart(drawn.answers, { unit: null, actual: results.actual_value })
          : directionChart(drawn.answers, yesAndNo, terms.result),
      meaning: answers
    },
    words: record
  })
}

/** A directional challenge for everybody: its terms, how it ended, who predicted what, and its entries in the log. */
import type { Challenge } from "../../../services/Challenges.ts"
import { eventPage } from "../paths.ts"
import { challengeLayout } from "./challengeLayout.ts"
import type { Shown } from "./challengeLayout.ts"
import { at, dateOf } from "./challengeParts.ts"
import type { RecordWords } from "./challengeRecord.ts"
import { directionChart } from "../charts/answers.ts"
import { priceChart } from "../charts/prices.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

const eventLink = (frame: Frame, eventId: string) =>
  html`<a href=${frame.at(eventPage(eventId))}>What happened, and what agents say</a>`

const directions = { bearish: "bearish", neutral: "neutral", bullish: "bullish" }

/** What was said, each side with its number: before the deadline as it was at the last step. */
const counts = (terms: Challenge): Html => {
  const { bearish_count, bullish_count, counts_as_of, deadline, neutral_count, prediction_count } = terms
  const sides = `${bullish_count} bullish, ${bearish_count} bearish, ${neutral_count} neutral`
  if (counts_as_of === null || counts_as_of === deadline || prediction_count === 0) {
    return `${prediction_count}: ${sides}`
  }
  return bullish_count + bearish_count + neutral_count === 0
    ? `${prediction_count}; how many say what is shown in steps until the deadline`
    : html`${prediction_count}; at the last step, ${at(counts_as_of)}, ${sides}`
}

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

export const challenge = (frame: Frame, shown: Shown<Challenge>): Page => {
  const { drawn, results, terms } = shown
  return challengeLayout(frame, shown, {
    type: "directional",
    about: `Challenge on ${terms.asset}`,
    ended: ["Cancelled", terms.cancel_reason],
    facts: [
      ["Result", results.result === null ? null : html`<strong>${results.result}</strong>`],
      ["Deadline", at(terms.deadline)],
      ["Decided by", html`the price at ${at(terms.resolve_at)}`],
      ["Open price", String(terms.open_price)],
      ["Closing price", results.close_price === null ? null : String(results.close_price)],
      ["Dead zone", results.dead_zone_pct === null ? null : `± ${results.dead_zone_pct} %`],
      ["Event", terms.event_id === null ? null : eventLink(frame, terms.event_id)]
    ],
    prices: priceChart(
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
    ),
    withoutCriteria: withoutText,
    said: {
      title: "Predictions",
      count: counts(terms),
      soFar: counts(terms),
      chart: () => directionChart(drawn.answers, directions, results.result),
      meaning: "a direction, with a confidence from 0 to 1."
    },
    words
  })
}

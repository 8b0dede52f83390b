/** Challenges of every type as lists show them: cards while they are open, lines when they are over. */
import { DateTime } from "effect"
import type { ChallengeSummary } from "../../../services/ChallengeDirectory.ts"
import { challengePage } from "../paths.ts"
import { at, statusBadge } from "./challengeParts.ts"
import { timeLeft } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame } from "./layout.ts"

const kinds: Readonly<Record<string, string>> = {
  session: "Session",
  flash: "Flash",
  macro: "Macro figure",
  numeric_close: "Close",
  barrier: "Barrier",
  count_days: "Days up",
  threshold: "Threshold"
}

const meta = ({ asset, kind }: ChallengeSummary) =>
  html`<p class="meta"><span class="tag">${asset}</span> ${kinds[kind] ?? kind}</p>`

const predictions = (count: number): string => (count === 1 ? "1 prediction" : `${count} predictions`)

const title = (frame: Frame, { id, question }: ChallengeSummary) =>
  html`<a href=${frame.at(challengePage(id))} dir="auto">${question}</a>`

/** What can still be predicted, with the time that is left. */
export const openCards = (frame: Frame, items: ReadonlyArray<ChallengeSummary>, now: DateTime.Utc) =>
  html`<ul class="cards">
    ${items.map(
      (item) =>
        html`<li class="card">
          ${meta(item)}
          <p class="title">${title(frame, item)}</p>
          <p class="foot">
            <span>closes in ${timeLeft(DateTime.makeUnsafe(item.deadline), now)}</span>
            <span>${predictions(item.prediction_count)}</span>
          </p>
        </li>`
    )}
  </ul>`

const answers: Readonly<Record<string, string>> = { bullish: "Yes", bearish: "No" }

const outcome = ({ actual_value, kind, result, unit }: ChallengeSummary): Html => {
  if (actual_value !== null) return html`<strong>${actual_value}${unit === null ? "" : ` ${unit}`}</strong>`
  if (result === null) return null
  const isYesOrNo = kind === "barrier" || kind === "threshold"
  return html`<strong>${isYesOrNo ? (answers[result] ?? result) : result}</strong>`
}

/** What is over, or waits for its end. */
export const endedRows = (frame: Frame, items: ReadonlyArray<ChallengeSummary>) =>
  html`<ul class="rows">
    ${items.map(
      (item) =>
        html`<li>
          <p class="row"><span>${title(frame, item)}</span> ${outcome(item)} ${statusBadge(item.status)}</p>
          <p class="meta">
            <span class="tag">${item.asset}</span> ${kinds[item.kind] ?? item.kind}
            <span>${predictions(item.prediction_count)}</span>
            <span>
              ${item.ended_at === null ? html`closed ${at(item.deadline)}` : html`ended ${at(item.ended_at)}`}
            </span>
          </p>
        </li>`
    )}
  </ul>`

/** Whatever their status. */
export const anyChallenges = (frame: Frame, items: ReadonlyArray<ChallengeSummary>, now: DateTime.Utc) => {
  const [open, over] = [
    items.filter(({ status }) => status === "open"),
    items.filter(({ status }) => status !== "open")
  ]
  return html`${open.length === 0 ? null : openCards(frame, open, now)}
  ${over.length === 0 ? null : endedRows(frame, over)}`
}

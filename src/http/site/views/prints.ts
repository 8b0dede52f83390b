/** What was published of a series, as first printed: on its page, and on those of the questions about it. */
import { DateTime } from "effect"
import type { PublishedRelease } from "../../../services/Schedules.ts"
import { challengePage } from "../paths.ts"
import { instant } from "./components.ts"
import { html } from "./html.ts"
import type { Frame } from "./layout.ts"
import { formatOutcome, periodOf } from "./words.ts"

/** A row each, with its question where there was one. */
export const printsTable = (frame: Frame, figures: ReadonlyArray<typeof PublishedRelease.Type>) =>
  html`<table class="bins">
    <thead>
      <tr>
        <th scope="col">${frame.say.period}</th>
        <th scope="col" class="number">${frame.say.firstPrint}</th>
        <th scope="col" class="number">${frame.say.published}</th>
      </tr>
    </thead>
    <tbody>
      ${figures.map(
        ({ actual_value, challenge_id: id, outcome_name = null, period, release_at, unit }) =>
          html`<tr>
            <th scope="row">
              ${id === null ? periodOf(period, frame.say) : html`<a href=${frame.at(challengePage(id))}>${periodOf(period, frame.say)}</a>`}
            </th>
            <td>
              ${formatOutcome({ actual_value, outcome_name, result: null, type: "macro", unit }, frame.say) ?? frame.say.toCome}
            </td>
            <td>${instant(DateTime.makeUnsafe(release_at), frame.say)}</td>
          </tr>`
      )}
    </tbody>
  </table>`

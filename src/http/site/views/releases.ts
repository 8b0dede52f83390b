/** The releases of a series, as first printed, for its page and the pages of its questions. */
import { DateTime } from "effect"
import type { PublishedRelease } from "../../../services/Schedules.ts"
import { challengePage } from "../paths.ts"
import { instant } from "./components.ts"
import { html } from "./html.ts"
import type { Frame } from "./layout.ts"
import { formatOutcome, periodOf } from "./format.ts"

/** One row a release, with its question if there was one. */
export const releasesTable = (frame: Frame, releases: ReadonlyArray<typeof PublishedRelease.Type>) =>
  html`<table class="bins">
    <thead>
      <tr>
        <th scope="col">${frame.t.period}</th>
        <th scope="col" class="number">${frame.t.firstPrint}</th>
        <th scope="col" class="number">${frame.t.published}</th>
      </tr>
    </thead>
    <tbody>
      ${releases.map(
        ({ actual_value, challenge_id: id, outcome_name = null, period, release_at, unit }) =>
          html`<tr>
            <th scope="row">
              ${id === null ? periodOf(period, frame.t) : html`<a href=${frame.at(challengePage(id))}>${periodOf(period, frame.t)}</a>`}
            </th>
            <td>
              ${formatOutcome({ actual_value, outcome_name, result: null, type: "macro", unit }, frame.t) ?? frame.t.toCome}
            </td>
            <td>${instant(DateTime.makeUnsafe(release_at), frame.t)}</td>
          </tr>`
      )}
    </tbody>
  </table>`

/** That a challenge was amended, and every version of its settlement with the reason for it. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import { instant, notice, quoted } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"

type Version = Results["versions"][number]

/** The result that a version came to, and what it was decided by. */
const decided = ({ actual_value, close_price, result }: Version): string =>
  result === null ? String(actual_value) : `${result}, by ${close_price}`

const version = (shown: Version, isNewest: boolean) =>
  html`<li>
    <p class="row">
      <strong>Version ${shown.version}</strong>
      <span>${decided(shown)}</span>
      <span>${instant(DateTime.makeUnsafe(shown.settled_at))}</span>
      ${isNewest ? html`<span>this one counts</span>` : null}
    </p>
    ${shown.reason === null ? null : quoted(shown.reason)}
  </li>`

/** When: of an amended challenge also when the version that counts was made, which is what the page shows of it. */
export const settledFacts = ({
  resolved_at,
  settlement
}: Results): ReadonlyArray<readonly [term: string, fact: Html]> => {
  if (resolved_at === null) return []
  const first = instant(DateTime.makeUnsafe(resolved_at))
  return settlement?.amended === true
    ? [
        ["Amended", instant(DateTime.makeUnsafe(settlement.settled_at))],
        ["First settled", html`${first}, by <a href="#versions">version 1</a>`]
      ]
    : [["Settled", first]]
}

/** Something to know before anything else of an amended challenge. */
export const amendedNotice = ({ pool, settlement }: Results) =>
  settlement?.amended === true
    ? notice(
        "warning",
        "Amended: an administrator has corrected what it was decided by.",
        html`Every prediction was scored anew.
          ${pool === null ? null : "The credit pool stays as it was settled, by version 1."}
          <a href="#versions">All versions</a> stay here, with their reasons.`
      )
    : null

/** Every version, the newest first. */
export const versions = ({ settlement, versions: all }: Results) =>
  settlement?.amended === true
    ? html`<section aria-labelledby="versions">
        <h2 id="versions">Versions of the settlement</h2>
        <ol class="rows" reversed>
          ${all.toReversed().map((shown) => version(shown, shown.version === settlement.version))}
        </ol>
      </section>`
    : null

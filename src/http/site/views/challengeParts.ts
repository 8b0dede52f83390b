/** What the pages of challenges of every type show alike. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import type { AnyStatus } from "../../../services/Challenges.ts"
import type { Answers, PriceSeries } from "../../../services/Charts.ts"
import { challengePage, challengesPage } from "../paths.ts"
import type { Site } from "../../../services/Settings.ts"
import { agentLink, badge, instant, named, quoted, timeLeft } from "./components.ts"
import type { Tone } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame } from "./layout.ts"
import { earned, said } from "./predictionParts.ts"
import { staked } from "./pool.ts"
import { nextPage, predictionProof, proofLinks } from "./proofLinks.ts"

const statuses: Readonly<Record<AnyStatus, readonly [tone: Tone, word: string]>> = {
  open: ["info", "Open"],
  closed: ["info", "Closed"],
  resolved: ["success", "Settled"],
  cancelled: ["warning", "Cancelled"],
  void: ["warning", "Void"]
}

export const statusBadge = (status: AnyStatus) => {
  const [tone, word] = statuses[status]
  return badge(tone, word)
}

export const at = (timestamp: string) => instant(DateTime.makeUnsafe(timestamp))

export const dateOf = (timestamp: string): Date => DateTime.toDateUtc(DateTime.makeUnsafe(timestamp))

/** What is drawn of a challenge. */
export interface Drawn {
  /** Where the drawing of prices begins. */
  readonly from: Date
  readonly prices: PriceSeries
  readonly answers: Answers
  readonly now: DateTime.Utc
}

/** How to read numeric answers. */
export const byCrps =
  "a value ± its standard deviation. The score, from 0 to 100, is by CRPS: 100 is a sure forecast of what came, and 50 what a forecaster who knows no more than the reference scale earns on average."

/** The time that is left to predict; nothing of what is over. */
export const closesIn = (
  { deadline, status }: { readonly deadline: string; readonly status: AnyStatus },
  now: DateTime.Utc
): Html => (status === "open" ? timeLeft(DateTime.makeUnsafe(deadline), now) : null)

/** What is asked, and the list that it stands in. */
export const heading = (
  frame: Frame,
  type: "directional" | "macro" | "price_event",
  what: string,
  question: string
) =>
  html`<div>
    <p class="eyebrow"><a href=${frame.at(challengesPage({ type }))}>${what}</a></p>
    <h1 dir="auto">${question}</h1>
  </div>`

/** The texts that a challenge settles by, that of the site's language first; `otherwise` where it has none. */
export const criteria = (
  site: Site,
  terms: { readonly resolution_criteria: string | null; readonly resolution_criteria_zh: string | null },
  otherwise: Html
) => {
  const { resolution_criteria: english, resolution_criteria_zh: chinese } = terms
  if (english === null && chinese === null) return otherwise
  const inEnglish = english === null ? null : html`<p lang="en">${english}</p>`
  const inChinese = chinese === null ? null : html`<p lang="zh">${chinese}</p>`
  return site === "cn" ? html`${inChinese} ${inEnglish}` : html`${inEnglish} ${inChinese}`
}

type PredictionShown = Results["predictions"][number]

const prediction = (frame: Frame, shown: PredictionShown, bins: Results["bins"]) =>
  html`<li>
    <p class="row">
      ${agentLink(frame, shown.agent_id, named(shown.agent_name))}
      <span>${said(shown)}</span>
      ${earned(shown)} ${shown.leaf_index === null ? null : html`<span>entry ${shown.leaf_index}</span>`}
      ${proofLinks(frame, predictionProof(shown.commit), `${shown.agent_name}'s prediction`)}
    </p>
    ${staked(shown, bins)}
    ${
      shown.reasoning === null || shown.reasoning === ""
        ? null
        : html`<details>
            <summary class="small">Its reasoning</summary>
            ${quoted(shown.reasoning)}
          </details>`
    }
  </li>`

/** Who said what, from the deadline on: `meaning` says how to read it. */
export const predictionList = (frame: Frame, results: Results, meaning: Html) => {
  if (results.predictions.length === 0) {
    return html`<p>
      ${results.prediction_count === 0 ? "Nobody predicted." : "There are no more predictions."}
    </p>`
  }
  return html`<p>${meaning}</p>
    <ol class="rows">
      ${results.predictions.map((shown) => prediction(frame, shown, results.bins))}
    </ol>
    ${nextPage(frame, challengePage(results.challenge_id), results.next_cursor)}`
}

/** Before the deadline: how many there are, and why nothing more is said. */
export const sealedPredictions = (count: number, soFar: Html) =>
  html`<p>
    ${count === 0 ? "Nobody has predicted yet." : html`So far ${soFar}.`} Who said what is sealed until the
    deadline: the public log has only hashes, from which nothing can be guessed.
  </p>`

/** Where the same is to be had by programs. */
export const asJson = (
  frame: Frame,
  challengeId: string,
  more: ReadonlyArray<readonly [path: string, name: string]> = []
) =>
  html`<p class="quiet small">
    The same as JSON:
    <a href=${frame.at(`/api/v1/eval/challenges/${challengeId}/results`)}>its results</a
    >${more.map(([path, name]) => html`, <a href=${frame.at(path)}>${name}</a>`)}. Challenge id:
    <code>${challengeId}</code>
  </p>`

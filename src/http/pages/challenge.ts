/** A challenge for everybody: its terms, how it ended, who predicted what, and its entries in the public log. */
import { DateTime } from "effect"
import type { Results } from "../../services/Arenas.ts"
import type { Challenge, ChallengeStatus } from "../../services/Challenges.ts"
import { agentPage, challengePage, verifyPage } from "../../services/pages.ts"
import type { Site } from "../../services/Settings.ts"
import type { ChallengeEntry } from "../../services/TransparencyLog.ts"
import { amendedNotice, versions } from "./amendments.ts"
import { badge, facts, instant, notice, quoted } from "./components.ts"
import type { Tone } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { said, verdictBadge } from "./predictionParts.ts"
import { entryProof, nextPage, predictionProof, proofLinks, settlementProof } from "./proofLinks.ts"

const statuses: Readonly<Record<ChallengeStatus, readonly [tone: Tone, word: string]>> = {
  open: ["info", "Open"],
  closed: ["info", "Closed"],
  resolved: ["success", "Settled"],
  cancelled: ["warning", "Cancelled"]
}

const at = (timestamp: string) => instant(DateTime.makeUnsafe(timestamp))

/** What was said, each side with its number. */
const counts = (terms: Challenge) =>
  `${terms.prediction_count}: ${terms.bullish_count} bullish, ${terms.bearish_count} bearish, ${terms.neutral_count} neutral`

const criteria = (site: Site, terms: Challenge) => {
  const { resolution_criteria: english, resolution_criteria_zh: chinese } = terms
  if (english === null && chinese === null) {
    return html`<p>This challenge has no text of its own; it settles by the dead zone of its target.</p>`
  }
  const inEnglish = english === null ? null : html`<p lang="en">${english}</p>`
  const inChinese = chinese === null ? null : html`<p lang="zh">${chinese}</p>`
  return site === "cn" ? html`${inChinese} ${inEnglish}` : html`${inEnglish} ${inChinese}`
}

type PredictionShown = Results["predictions"][number]

const verdict = ({ is_correct, score }: PredictionShown): Html => {
  if (score === null) return null
  return html`${is_correct === null ? null : verdictBadge(is_correct)}
    <strong class="figure">${score.toFixed(2)} points</strong>`
}

const prediction = (frame: Frame, shown: PredictionShown) =>
  html`<li>
    <p class="row">
      <a href=${frame.at(agentPage(shown.agent_id))}>${shown.agent_name}</a>
      <span>${said(shown)}</span>
      ${verdict(shown)}
      ${proofLinks(frame, predictionProof(shown.commit), `${shown.agent_name}'s prediction`)}
    </p>
    ${
      shown.reasoning === null || shown.reasoning === ""
        ? null
        : html`<details>
            <summary class="small">Its reasoning</summary>
            ${quoted(shown.reasoning)}
          </details>`
    }
  </li>`

const predictions = (frame: Frame, terms: Challenge, results: Results) => {
  if (terms.status === "open") {
    return html`<p>
      ${terms.prediction_count === 0 ? "Nobody has predicted yet." : html`So far ${counts(terms)}.`} Who said
      what is sealed until the deadline: the public log has only hashes, from which nothing can be guessed.
    </p>`
  }
  if (results.predictions.length === 0)
    return html`<p>
      ${terms.prediction_count === 0 ? "Nobody predicted." : "There are no more predictions."}
    </p>`
  return html`<p>
      ${counts(terms)}. Each agent's last word before the deadline, with a confidence from 0 to 1.
    </p>
    <ol class="rows">
      ${results.predictions.map((shown) => prediction(frame, shown))}
    </ol>
    ${nextPage(frame, challengePage(terms.id), results.next_cursor)}`
}

const entryWords: ReadonlyMap<string, readonly [title: string, meaning: string]> = new Map([
  [
    "challenge.create",
    ["Made", "The question, the criteria and every number that it settles by, frozen as they are."]
  ],
  [
    "challenge.close",
    [
      "Closed",
      "How many commits there were, revisions included, and one hash over them: none was added or left out later."
    ]
  ],
  ["settlement", ["Settled", "The price it was settled by, the result, and one hash over all scores."]],
  [
    "amendment",
    [
      "Amended",
      "What it is decided by instead, the result, one hash over all scores, and a hash of the reason."
    ]
  ],
  ["void", ["Void", "It was cancelled, and nobody is scored by it."]]
])

const ends: ReadonlySet<string> = new Set(["settlement", "amendment", "void"])

const logEntry = (frame: Frame, terms: Challenge, entry: ChallengeEntry, newest: boolean) => {
  const [title, meaning] = entryWords.get(entry.type) ?? [entry.type, ""]
  const version = entry.version > 1 ? `, version ${entry.version}` : ""
  const proof = newest && ends.has(entry.type) ? settlementProof(terms.id) : entryProof(entry.leaf_index)
  return html`<li>
    <p class="row">
      <strong>${title}${version}</strong>
      <span>entry ${entry.leaf_index}</span>
      ${proofLinks(frame, proof, `the entry "${title}${version}"`)}
    </p>
    <p class="quiet small">
      ${meaning}
      ${entry.imported ? "It was recorded before this site had a log, and entered when the log began." : null}
    </p>
  </li>`
}

const record = (frame: Frame, terms: Challenge, entries: ReadonlyArray<ChallengeEntry>) =>
  html`<section aria-labelledby="record">
    <h2 id="record">The record</h2>
    ${
      entries.length === 0
        ? html`<p>This challenge is about to be entered into the public log, which takes a few seconds.</p>`
        : html`<p>
              All of this stands in the public log, where nothing is changed or taken out. Its entries about
              the challenge itself:
            </p>
            <ol class="rows">
              ${entries.map((entry, index) => logEntry(frame, terms, entry, index === entries.length - 1))}
            </ol>`
    }
    <details>
      <summary>How to check it</summary>
      <ol class="steps">
        <li>
          Take the proof file of a prediction, and <a href=${frame.at(verifyPage())}>check it</a> in your
          browser, or offline with a program of your own: the file has all that is needed but the log's key.
        </li>
        <li>
          A proof that holds shows what the agent said, sealed by a hash that stands at a place of the log,
          and that the log's key has signed the log with that place in it.
        </li>
        <li>
          The place of a prediction is below that of the entry “Closed”: so it was there before the challenge
          was closed. Witnesses who sign the log, too, say when they saw it.
        </li>
        <li>
          The proof of “Settled”, or of the last “Amended”, shows the price and the result. With both, anybody
          can work out the score.
        </li>
      </ol>
    </details>
  </section>`

/** Counts, status and results are as the services show them: nothing of an open prediction is among them. */
export const challenge = (
  frame: Frame,
  shown: {
    readonly site: Site
    readonly terms: Challenge
    readonly results: Results
    readonly entries: ReadonlyArray<ChallengeEntry>
  }
): Page => {
  const { entries, results, site, terms } = shown
  const [tone, word] = statuses[terms.status]
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
          ["Status", badge(tone, word)],
          ["Result", results.result === null ? null : html`<strong>${results.result}</strong>`],
          ["Deadline", at(terms.deadline)],
          ["Decided by", html`the price at ${at(terms.resolve_at)}`],
          ["Open price", String(terms.open_price)],
          ["Closing price", results.close_price === null ? null : String(results.close_price)],
          ["Dead zone", results.dead_zone_pct === null ? null : `± ${results.dead_zone_pct} %`],
          ["Source", results.resolution_source],
          ["Settled", results.resolved_at === null ? null : at(results.resolved_at)],
          ["Predictions", counts(terms)]
        ])}
      </section>
      <section aria-labelledby="criteria">
        <h2 id="criteria">How it is decided</h2>
        ${criteria(site, terms)}
      </section>
      <section aria-labelledby="predictions">
        <h2 id="predictions">Predictions</h2>
        ${predictions(frame, terms, results)}
      </section>
      ${versions(results)} ${record(frame, terms, entries)}
      <p class="quiet small">
        The same as JSON: <a href=${frame.at(`/api/v1/eval/challenges/${terms.id}/results`)}>its results</a>.
        Challenge id: <code>${terms.id}</code>
      </p>
    `
  }
}

/** The layout that the pages of all challenge types share, and its parts. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import type { Answers, PriceSeries } from "../../../services/Charts.ts"
import type { Site } from "../../../services/Settings.ts"
import type { ChallengeEntry } from "../../../services/TransparencyLog.ts"
import type { AnyStatus, ChallengeSummary } from "../../../services/domain/Challenge.ts"
import type { CriteriaTexts } from "../../../services/domain/language.ts"
import type { PredictionValues, PredictionVerdict } from "../../../services/domain/Prediction.ts"
import { plainNumber } from "../charts/chart.ts"
import { assetPage, challengePage, challengesPage, embedOf, pictureOf, verifyPage } from "../paths.ts"
import {
  agentLink,
  atAGlance,
  badge,
  counted,
  credits,
  entryProof,
  facts,
  instant,
  named,
  nextPage,
  notice,
  predictionProof,
  proofLinks,
  quoted,
  settlementProof,
  timeLeft
} from "./components.ts"
import type { Cell, Tone } from "./components.ts"
import { catalogues } from "../catalogue/catalogue.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { userText } from "./markdown.ts"
import { rangeAt } from "./pool.ts"
import { number, probability, roughly, sideOf, titleOf } from "./words.ts"

interface AnyTerms extends CriteriaTexts {
  readonly id: string
  readonly question: string
  readonly status: AnyStatus
  readonly deadline: string
}

/** Holds only what services publish, so nothing of an open prediction. */
export interface ChallengeView<Terms, What = ChartData> {
  readonly site: Site
  readonly asked: ChallengeSummary
  readonly terms: Terms
  readonly results: Results
  readonly record: LogRecord
  readonly drawn: What
}

/** The parts of the page that depend on the challenge's type. */
interface TypeParts {
  /** The answer first: what a reader came for, and what goes with it. */
  readonly answer: Answer
  /** Name and reason of an end without a result; the reason is null otherwise. */
  readonly ended: readonly [name: string, reason: string | null]
  readonly facts: Parameters<typeof facts>[0]
  readonly prices?: Html
  /** Shown when the challenge has no resolution criteria. */
  readonly withoutCriteria?: Html
  readonly pool?: Html
  /** The predictions: heading, counts, and from the deadline on a chart and how to read it. */
  readonly said: {
    readonly title: string
    readonly soFar: Html
    readonly chart: () => Html
    readonly meaning: string
  }
  readonly words: RecordWords
  readonly alsoAsJson?: ReadonlyArray<readonly [path: string, name: string]>
}

/** For pages of others. */
const embedCode = (frame: Frame, asked: ChallengeSummary) =>
  html`<details>
    <summary class="small">Show it on another page</summary>
    <code class="secret"
      >${`<iframe src="${frame.origin}${frame.at(embedOf(asked.id))}" width="400" height="240" title="Auspex"></iframe>`}</code
    >
  </details>`

export const challengeLayout = (
  frame: Frame,
  { asked, drawn, record, results, site, terms }: ChallengeView<AnyTerms, Pick<ChartData, "now">>,
  { alsoAsJson, answer, ended: [end, reason], pool, said, words, ...more }: TypeParts
): Page => ({
  title: titleOf(asked),
  audience: "everybody",
  description: `${titleOf(asked)} ${outcomeWords(asked, results)}`,
  path: challengePage(terms.id),
  picture: pictureOf(challengePage(terms.id)),
  about: {
    "@type": "Question",
    name: titleOf(asked),
    text: terms.question,
    answerCount: results.prediction_count
  },
  live: terms.id,
  below: "/challenges",
  width: "wide",
  content: html`
    ${heading(frame, asked)}
    ${atAGlance([
      answer.first,
      ...answer.more,
      ["Closes in", closesIn(terms, drawn.now)],
      [said.title, answer.counts]
    ])}
    ${reason === null ? null : notice("warning", `${end}: nobody is scored by it.`, html`${reason}`)}
    ${amendedNotice(results)}
    <div class="split">
      <section class="panel beside" aria-label="The challenge">
        ${facts([
          ["Status", statusBadge(terms.status)],
          ...more.facts,
          ["Source", results.resolution_source],
          ...settledFacts(results)
        ])}
      </section>
      <div class="first">
        ${more.prices} ${pool}
        <section aria-labelledby="predictions">
          <h2 id="predictions">${said.title}</h2>
          ${
            terms.status === "open"
              ? sealedPredictions(results.prediction_count, said.soFar)
              : html`${said.chart()}
                ${predictionList(
                  frame,
                  results,
                  html`${said.soFar}. Final prediction of each agent: ${said.meaning}`
                )}`
          }
        </section>
        <section aria-labelledby="criteria">
          <h2 id="criteria">How it is decided</h2>
          ${rules(site, terms, more.withoutCriteria)}
        </section>
        ${versions(results)} ${logRecord(frame, record, words)}
      </div>
    </div>
    ${embedCode(frame, asked)} ${asJson(frame, terms.id, alsoAsJson)}
  `
})

const outcomeWords = (asked: ChallengeSummary, { prediction_count }: Results): string => {
  const by = `${counted(prediction_count, "AI agent")} predicted`
  switch (asked.status) {
    case "resolved":
      return `It came out as ${cameOut(asked)}; ${by}.`
    case "open":
      return `Open; ${by} so far.`
    default:
      return `Closed; ${by}.`
  }
}

const statusTones: Readonly<Record<AnyStatus, Tone>> = {
  open: "info",
  closed: "info",
  resolved: "success",
  cancelled: "warning",
  void: "warning"
}

export const statusBadge = (status: AnyStatus, { states } = catalogues.en) =>
  badge(statusTones[status], states[status])

export const at = (timestamp: string, say = catalogues.en) => instant(DateTime.makeUnsafe(timestamp), say)

export const dateOf = (timestamp: string): Date => DateTime.toDateUtc(DateTime.makeUnsafe(timestamp))

/** The data of the charts. */
export interface ChartData {
  /** Start of the price chart. */
  readonly from: Date
  readonly prices: PriceSeries
  readonly answers: Answers
  readonly now: DateTime.Utc
}

export const byCrps =
  "a value ± its standard deviation, quantiles, or samples. The score, from 0 to 100, is by CRPS: 100 is a sure forecast of what came, and 50 what a forecaster who knows no more than the reference scale earns on average."

export const byRps =
  "the probability of each category. The score, from 0 to 100, is by the ranked probability score (RPS): 100 is to have been sure of what came, and 50 what the reference earns on average."

/** Null once the challenge is closed. */
const closesIn = (
  { deadline, status }: { readonly deadline: string; readonly status: AnyStatus },
  now: DateTime.Utc
): Html => (status === "open" ? timeLeft(DateTime.makeUnsafe(deadline), now) : null)

const types = {
  directional: "Directional challenge",
  macro: "Macro challenge",
  price_event: "Price event"
}

const heading = (frame: Frame, asked: ChallengeSummary) =>
  html`<div>
    <p class="eyebrow">
      <a href=${frame.at(challengesPage({ type: asked.type }))}>${types[asked.type]}</a> on
      <a href=${frame.at(assetPage(asked.asset))}>${asked.name}</a>
    </p>
    <h1 dir="auto">${titleOf(asked)}</h1>
  </div>`

/** What a page answers first. */
export interface Answer {
  readonly first: Cell
  readonly more: ReadonlyArray<Cell>
  /** How many said what, or how many there are. */
  readonly counts: Html
}

/** Half the width of the gauge in dead zones: a larger move stands at its end. */
const gaugeReach = 3

/** How far a price has moved, with the dead zone in the middle; beside it stands the number. */
export const gauge = (percent: number, deadZone: number) => {
  const place = (move: number) => 50 + 50 * Math.max(-1, Math.min(1, move / (gaugeReach * deadZone)))
  const half = 50 / gaugeReach
  return html`<svg class="gauge" width="100%" height="14" aria-hidden="true" focusable="false">
    <rect class="rest" width="100%" height="6" y="4" rx="3" />
    <rect class="flat" x=${`${50 - half}%`} width=${`${2 * half}%`} height="6" y="4" />
    <circle cx=${`${Math.round(Math.max(2, Math.min(98, place(percent))) * 100) / 100}%`} cy="7" r="5" />
  </svg>`
}

/** The frozen text, in the site's language; the other one is behind a disclosure. `otherwise` when there is none. */
const rules = (site: Site, terms: AnyTerms, otherwise: Html) => {
  const { question, resolution_criteria: english = null, resolution_criteria_zh: chinese = null } = terms
  const asFrozen = html`<p dir="auto"><strong>${question}</strong></p>`
  if (english === null && chinese === null) return html`${asFrozen} ${otherwise}`
  const inEnglish = english === null ? null : { text: html`<p lang="en">${english}</p>`, also: "In English" }
  const inChinese = chinese === null ? null : { text: html`<p lang="zh">${chinese}</p>`, also: "中文" }
  const [first, second] = site === "cn" ? [inChinese, inEnglish] : [inEnglish, inChinese]
  return html`${asFrozen} ${(first ?? second)?.text}
  ${
    first === null || second === null
      ? null
      : html`<details>
          <summary class="small">${second.also}</summary>
          ${second.text}
        </details>`
  }`
}

type PublicPrediction = Results["predictions"][number]

const prediction = (frame: Frame, view: PublicPrediction, { bins, type }: Results) => {
  const stake = staked(view, bins)
  const hasReasons = view.reasoning !== null && view.reasoning !== ""
  return html`<tr role="row">
      <th role="rowheader" scope="row">${agentLink(frame, view.agent_id, named(view.agent_name))}</th>
      <td role="cell" title=${view.confidence === null ? undefined : `confidence ${view.confidence}`}>
        ${said(view, type)}
      </td>
      <td role="cell">${earned(view)}</td>
      <td role="cell">
        ${view.leaf_index === null ? null : html`<span class="quiet small">entry ${view.leaf_index}</span>`}
        ${proofLinks(frame, predictionProof(view.commit), `${view.agent_name}'s prediction`)}
      </td>
    </tr>
    ${
      stake === null && !hasReasons
        ? null
        : html`<tr role="row" class="more">
            <td role="cell" colspan="4">
              ${stake}
              ${
                hasReasons
                  ? html`<details>
                      <summary class="small">Its reasoning</summary>
                      <blockquote class="quoted">${userText(view.reasoning ?? "")}</blockquote>
                    </details>`
                  : null
              }
            </td>
          </tr>`
    }`
}

/** The best first, where all stand on one page. */
const inOrder = ({ next_cursor, predictions }: Results): ReadonlyArray<PublicPrediction> =>
  next_cursor === null ? predictions.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0)) : predictions

/** Only from the deadline on. `meaning` says how to read a prediction. */
const predictionList = (frame: Frame, results: Results, meaning: Html) => {
  if (results.predictions.length === 0) {
    return html`<p>
      ${results.prediction_count === 0 ? "Nobody predicted." : "There are no more predictions."}
    </p>`
  }
  return html`<p>${meaning}</p>
    <table class="bins settled said-by" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">Agent</th>
          <th role="columnheader" scope="col" class="number">Said</th>
          <th role="columnheader" scope="col" class="number">Points</th>
          <th role="columnheader" scope="col" class="number">Proof</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${inOrder(results).map((view) => prediction(frame, view, results))}
      </tbody>
    </table>
    ${nextPage(frame, challengePage(results.challenge_id), results.next_cursor)}`
}

/** Before the deadline: only their number. */
const sealedPredictions = (count: number, soFar: Html) =>
  html`<p>
    ${count === 0 ? "Nobody has predicted yet." : html`So far ${soFar}.`} Individual predictions are sealed
    until the deadline. The public log holds only their hashes.
  </p>`

/** Links to the same data as JSON. */
const asJson = (
  frame: Frame,
  challengeId: string,
  more: ReadonlyArray<readonly [path: string, name: string]> = []
) =>
  html`<p class="quiet small">
    View as JSON:
    <a href=${frame.at(`/api/v1/eval/challenges/${challengeId}/results`)}>its results</a
    >${more.map(([path, name]) => html`, <a href=${frame.at(path)}>${name}</a>`)}. Challenge id:
    <code>${challengeId}</code>
  </p>`

const percent = (p: number): string => `${plainNumber(100 * p)} %`

/** Categories with their probabilities. */
export const inWords = (
  categories: ReadonlyArray<{ readonly name: string; readonly probability: number }>
): string => categories.map(({ name, probability }) => `${name} ${percent(probability)}`).join(", ")

/** How a question came out that is settled. */
export const cameOut = (
  { actual_value, result, type }: Pick<ChallengeSummary, "actual_value" | "result" | "type">,
  say = catalogues.en
): string => {
  if (result !== null) return sideOf(result, type === "price_event", say)
  return actual_value === null ? say.cameToNothing : number(actual_value)
}

/** What a prediction says, in its form. A confidence c is a probability of (1 + c) / 2. */
export const said = (
  { probabilities, quantiles, samples, ...values }: typeof PredictionValues.Type,
  type: ChallengeSummary["type"],
  say = catalogues.en
): string => {
  if (probabilities !== null) {
    const named = Object.entries(probabilities).map(([name, probability]) => ({ name, probability }))
    return inWords(named.toSorted((a, b) => b.probability - a.probability))
  }
  if (quantiles !== null) {
    return quantiles.map(({ p, value }) => `${percent(p)}: ${number(value)}`).join(", ")
  }
  const middle = `${number(values.predicted_value ?? 0)} ± ${roughly(values.predicted_std ?? 0)}`
  if (samples !== null) return say.samplesOf(String(samples.length), middle)
  if (values.direction === null) return middle
  return `${sideOf(values.direction, type === "price_event", say)} ${probability((1 + (values.confidence ?? 0)) / 2)}`
}

const verdictBadge = (isCorrect: boolean) =>
  isCorrect ? badge("success", "Right") : badge("problem", "Wrong")

/** Null before the settlement. Numeric forecasts have a CRPS instead of right or wrong. */
export const earned = ({
  crps,
  is_correct,
  probabilities,
  score,
  skill
}: typeof PredictionVerdict.Type & Pick<typeof PredictionValues.Type, "probabilities">): Html => {
  if (score === null) return null
  const what = probabilities === null ? "CRPS" : "RPS"
  return html`${is_correct === null ? null : verdictBadge(is_correct)}
    ${
      crps === null || skill === null
        ? null
        : html`<span class="quiet">${what} ${Number(crps.toPrecision(3))}, skill ${skill.toFixed(2)}</span>`
    } <strong class="numeric">${score.toFixed(2)} points</strong>`
}

type Version = Results["versions"][number]

const decided = ({ actual_value, close_price, result }: Version, type: ChallengeSummary["type"]): string => {
  const price = close_price === null ? "" : `, by ${number(close_price)}`
  return `${cameOut({ actual_value, result, type })}${result === null ? "" : price}`
}

const versionItem = (view: Version, type: ChallengeSummary["type"], isNewest: boolean) =>
  html`<li>
    <p class="row">
      <strong>Version ${view.version}</strong>
      <span>${decided(view, type)}</span>
      <span>${instant(DateTime.makeUnsafe(view.settled_at))}</span>
      ${isNewest ? html`<span>this one counts</span>` : null}
    </p>
    ${view.reason === null ? null : quoted(view.reason)}
  </li>`

/** The time of the settlement and, when amended, of the version that counts, which the page shows. */
const settledFacts = ({
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

const amendedNotice = ({ pool, settlement }: Results) =>
  settlement?.amended === true
    ? notice(
        "warning",
        "Amended: an administrator has corrected what it was decided by.",
        html`Every prediction was scored anew.
          ${pool === null ? null : "The credit pool stays as it was settled, by version 1."}
          <a href="#versions">All versions</a> stay here, with their reasons.`
      )
    : null

/** All versions, newest first. */
const versions = ({ settlement, type, versions: all }: Results) =>
  settlement?.amended === true
    ? html`<section aria-labelledby="versions">
        <h2 id="versions">Versions of the settlement</h2>
        <ol class="rows" reversed>
          ${all.toReversed().map((view) => versionItem(view, type, view.version === settlement.version))}
        </ol>
      </section>`
    : null

type Prediction = Results["predictions"][number]

/** An agent's stake and reward; null without a stake. */
const staked = ({ reward, stake, stake_bin }: Prediction, bins: Results["bins"]): Html => {
  if (stake === null) return null
  const on = rangeAt(bins, stake_bin)
  return html`<p class="small">
    Staked
    ${credits(stake)}${on === null ? "" : ` on ${on}`}${reward === null ? "" : `; reward ${credits(reward)}`}
  </p>`
}

type Meaning = readonly [title: string, meaning: string]

/** How entries of this challenge type are explained. */
export interface RecordWords {
  readonly settled: string
  readonly amended: string
  readonly workOut: string
}

const entryMeanings = ({ amended, settled }: RecordWords): ReadonlyMap<string, Meaning> =>
  new Map([
    [
      "challenge.create",
      ["Created", "The question, the criteria and every number that it settles by, frozen as they are."]
    ],
    [
      "challenge.close",
      [
        "Closed",
        "How many commits there were, revisions included, and one hash over them: none was added or left out later."
      ]
    ],
    ["settlement", ["Settled", settled]],
    ["amendment", ["Amended", amended]],
    ["void", ["Ended without a result", "Nobody is scored by it."]]
  ])

const endingEntries: ReadonlySet<string> = new Set(["settlement", "amendment", "void"])

interface LogRecord {
  readonly challengeId: string
  readonly entries: ReadonlyArray<ChallengeEntry>
  /** The log is stalled. */
  readonly stalled: boolean
}

const logEntry = (
  frame: Frame,
  { challengeId, words }: { readonly challengeId: string; readonly words: RecordWords },
  { entry, isNewest }: { readonly entry: ChallengeEntry; readonly isNewest: boolean }
) => {
  const [title, meaning] = entryMeanings(words).get(entry.type) ?? [entry.type, ""]
  const version = entry.version > 1 ? `, version ${entry.version}` : ""
  const proof =
    isNewest && endingEntries.has(entry.type) ? settlementProof(challengeId) : entryProof(entry.leaf_index)
  return html`<li>
    <p class="row">
      <strong>${title}${version}</strong>
      <span>entry ${entry.leaf_index}</span>
      ${proofLinks(frame, proof, `the entry "${title}${version}"`)}
    </p>
    <p class="quiet small">${meaning}</p>
  </li>`
}

const stalledNotice = html`<p>
  The public log stands still at the moment, until the operators of this site have looked into it. What is
  recorded is kept, and enters the log when it goes on.
</p>`

const nothingYet = (stalled: boolean) =>
  stalled
    ? html`<p>This challenge is recorded, and has no place in the public log yet.</p>`
    : html`<p>This challenge is about to be entered into the public log, which takes a few seconds.</p>`

const logRecord = (frame: Frame, { challengeId, entries, stalled }: LogRecord, words: RecordWords) =>
  html`<section aria-labelledby="record">
    <h2 id="record">The record</h2>
    ${stalled ? stalledNotice : null}
    ${
      entries.length === 0
        ? nothingYet(stalled)
        : html`<p>The public log is append-only. Its entries for this challenge:</p>
            <ol class="rows">
              ${entries.map((entry, index) =>
                logEntry(
                  frame,
                  { challengeId, words },
                  {
                    entry,
                    isNewest: index === entries.length - 1
                  }
                )
              )}
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
        <li>${words.workOut}</li>
      </ol>
    </details>
  </section>`

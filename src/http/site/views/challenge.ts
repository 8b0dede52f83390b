/** The layout that the pages of all challenge types share, and its parts. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import type { Answers, PriceSeries } from "../../../services/Charts.ts"
import type { ChallengeEntry } from "../../../services/TransparencyLog.ts"
import type { AnyStatus, ChallengeSummary } from "../../../services/domain/Challenge.ts"
import type { CriteriaTexts } from "../../../services/domain/language.ts"
import type { PredictionValues, PredictionVerdict } from "../../../services/domain/Prediction.ts"
import { assetPage, challengePage, challengesPage, embedOf, pictureOf, verifyPage } from "../paths.ts"
import {
  agentLink,
  summaryCells,
  badge,
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
import { allMessages } from "../messages/messages.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { userText } from "./markdown.ts"
import { rangeAt } from "./pool.ts"
import {
  forecastOf,
  formatOutcome,
  number,
  probability,
  roughly,
  sideOf,
  subtitleOf,
  titleOf
} from "./format.ts"

interface AnyTerms extends CriteriaTexts {
  readonly id: string
  readonly question: string
  readonly status: AnyStatus
  readonly deadline: string
}

/** A view holds only data that services publish, so it reveals nothing of an open prediction. */
export interface ChallengeView<Terms, What = ChartData> {
  readonly summary: ChallengeSummary
  readonly terms: Terms
  readonly results: Results
  readonly record: LogRecord
  readonly drawn: What
}

/** The parts of the page that depend on the challenge's type. */
interface TypeParts {
  /** The first cells: the answer, and values beside it. */
  readonly answer: Answer
  /** Name and reason of an end without a result; the reason is null for other ends. */
  readonly ended: readonly [name: string, reason: string | null]
  readonly facts: Parameters<typeof facts>[0]
  readonly prices?: Html
  /** The page shows this if the challenge has no resolution criteria. */
  readonly withoutCriteria?: Html
  readonly pool?: Html
  /** Earlier releases of the series. */
  readonly releases?: Html
  /** The predictions: heading and counts; from the deadline on also a chart and an explanation. */
  readonly predictions: {
    readonly title: string
    readonly soFar: Html
    readonly chart: () => Html
    readonly meaning: string
  }
  readonly messages: RecordMessages
  readonly alsoAsJson?: ReadonlyArray<readonly [path: string, name: string]>
}

/** The code that embeds the question on another site. */
const embedCode = (frame: Frame, summary: ChallengeSummary) =>
  html`<details>
    <summary class="small">${frame.t.question.showElsewhere}</summary>
    <code class="secret"
      >${`<iframe src="${frame.origin}${frame.at(embedOf(summary.id))}" width="400" height="240" title="Auspex"></iframe>`}</code
    >
  </details>`

export const challengeLayout = (
  frame: Frame,
  { summary, drawn, record, results, terms }: ChallengeView<AnyTerms, Pick<ChartData, "now">>,
  { alsoAsJson, answer, ended: [end, reason], releases, pool, predictions, messages, ...more }: TypeParts
): Page => {
  const { t } = frame
  const title = titleOf(summary, t)
  const isOpen = terms.status === "open"
  return {
    title,
    audience: "everybody",
    description: `${title} ${outcomeMessage(summary, results, t)}`,
    path: challengePage(terms.id),
    translation: challengePage(terms.id),
    picture: pictureOf(challengePage(terms.id)),
    about: {
      "@type": "Question",
      name: title,
      text: terms.question,
      answerCount: results.prediction_count
    },
    live: terms.id,
    below: "/challenges",
    width: "wide",
    content: html`
      ${heading(frame, summary)}
      ${summaryCells(
        [
          answer.first,
          ...answer.more,
          [t.question.closesIn, closesIn(terms, drawn.now, t)],
          [predictions.title, answer.counts]
        ],
        t
      )}
      ${reason === null ? null : notice("warning", t.question.scoresNobody(end), t.question.reason(reason))}
      ${amendedNotice(results, t)}
      <div class="split">
        <section class="panel beside" aria-label=${t.question.theChallenge}>
          ${facts([
            [t.question.status, statusBadge(terms.status, t)],
            ...more.facts,
            [
              t.question.source,
              results.resolution_source === null ? null : t.question.sourceName(results.resolution_source)
            ],
            ...settledFacts(results, t)
          ])}
        </section>
        <div class="first">
          ${more.prices} ${isOpen ? releases : null} ${pool}
          <section aria-labelledby="predictions">
            <h2 id="predictions">${predictions.title}</h2>
            ${
              isOpen
                ? sealedPredictions(results.prediction_count, predictions.soFar, t)
                : html`${predictions.chart()}
                  ${predictionList(frame, results, html`${predictions.soFar}${t.question.finalOf}${predictions.meaning}`)}`
            }
          </section>
          ${isOpen ? null : releases}
          <section aria-labelledby="criteria">
            <h2 id="criteria">${t.question.howDecided}</h2>
            ${rules(terms, more.withoutCriteria, t)}
          </section>
          ${versions(results, t)} ${logRecord(frame, record, messages)}
        </div>
      </div>
      ${embedCode(frame, summary)} ${asJson(frame, terms.id, alsoAsJson)}
    `
  }
}

const outcomeMessage = (
  summary: ChallengeSummary,
  { prediction_count: count }: Results,
  t: Messages
): string => {
  const messages = t.question
  const by = messages.agentsPredicted(String(count), count === 1)
  switch (summary.status) {
    case "resolved":
      return messages.cameOutAs(formatOutcome(summary, t) ?? t.cameToNothing, by)
    case "open":
      return messages.openWith(by)
    default:
      return messages.closedWith(by)
  }
}

const statusTones: Readonly<Record<AnyStatus, Tone>> = {
  open: "info",
  closed: "info",
  resolved: "success",
  cancelled: "warning",
  void: "warning"
}

export const statusBadge = (status: AnyStatus, { states } = allMessages.en) =>
  badge(statusTones[status], states[status])

export const at = (timestamp: string, t = allMessages.en) => instant(DateTime.makeUnsafe(timestamp), t)

export const dateOf = (timestamp: string): Date => DateTime.toDateUtc(DateTime.makeUnsafe(timestamp))

/** The data of the charts. */
export interface ChartData {
  /** Start of the price chart. */
  readonly from: Date
  readonly prices: PriceSeries
  readonly answers: Answers
  readonly now: DateTime.Utc
}

/** The time until the deadline; null once the challenge is closed. */
const closesIn = (
  { deadline, status }: { readonly deadline: string; readonly status: AnyStatus },
  now: DateTime.Utc,
  t: Messages
): Html => (status === "open" ? timeLeft(DateTime.makeUnsafe(deadline), now, t) : null)

const heading = (frame: Frame, summary: ChallengeSummary) => {
  const { name, question } = frame.t
  const subtitle = subtitleOf(summary, frame.t)
  return html`<div>
    <p class="eyebrow">
      <a href=${frame.at(challengesPage({ type: summary.type }))}>${question.types[summary.type]}</a
      >${question.on}<a href=${frame.at(assetPage(summary.asset))}>${name(summary.asset, summary.name)}</a>
    </p>
    ${subtitle === null ? null : html`<p class="eyebrow">${subtitle}</p>`}
    <h1 dir="auto">${titleOf(summary, frame.t)}</h1>
  </div>`
}

/** The cells that answer the question. */
export interface Answer {
  readonly first: Cell
  readonly more: ReadonlyArray<Cell>
  /** The number of predictions by answer, or their total. */
  readonly counts: Html
}

/** Half the width of the gauge in dead zones; larger moves stand at its end. */
const gaugeReach = 3

/** The move of a price, with the dead zone in the middle. The number stands beside it. */
export const gauge = (percent: number, deadZone: number) => {
  const place = (move: number) => 50 + 50 * Math.max(-1, Math.min(1, move / (gaugeReach * deadZone)))
  const half = 50 / gaugeReach
  return html`<svg class="gauge" width="100%" height="14" aria-hidden="true" focusable="false">
    <rect class="rest" width="100%" height="6" y="4" rx="3" />
    <rect class="flat" x=${`${50 - half}%`} width=${`${2 * half}%`} height="6" y="4" />
    <circle cx=${`${Math.round(Math.max(2, Math.min(98, place(percent))) * 100) / 100}%`} cy="7" r="5" />
  </svg>`
}

/** The frozen text in the reader's language; the other language is behind a disclosure. `otherwise` replaces a missing text. */
const rules = (terms: AnyTerms, otherwise: Html, t: Messages) => {
  const { question, resolution_criteria: english = null, resolution_criteria_zh: chinese = null } = terms
  const asFrozen = html`<p dir="auto"><strong>${question}</strong></p>`
  if (english === null && chinese === null) return html`${asFrozen} ${otherwise}`
  const inEnglish = english === null ? null : html`<p lang="en">${english}</p>`
  const inChinese = chinese === null ? null : html`<p lang="zh">${chinese}</p>`
  const [first, second] = t.tag === "en" ? [inEnglish, inChinese] : [inChinese, inEnglish]
  return html`${asFrozen} ${first ?? second}
  ${
    first === null || second === null
      ? null
      : html`<details>
          <summary class="small" lang=${t.otherTag}>${t.other}</summary>
          ${second}
        </details>`
  }`
}

type PublicPrediction = Results["predictions"][number]

const prediction = (frame: Frame, view: PublicPrediction, { bins, type }: Results) => {
  const { t } = frame
  const messages = t.question
  const stake = staked(view, bins, t)
  const hasReasons = view.reasoning !== null && view.reasoning !== ""
  return html`<tr role="row">
      <th role="rowheader" scope="row">${agentLink(frame, view.agent_id, named(view.agent_name))}</th>
      <td
        role="cell"
        title=${view.confidence === null ? undefined : messages.confidenceOf(roughly(view.confidence))}
      >
        ${answerText(view, type, t)}
      </td>
      <td role="cell">${earned(view, t)}</td>
      <td role="cell">
        ${view.leaf_index === null ? null : html`<span class="quiet small">${messages.entry(String(view.leaf_index))}</span>`}
        ${proofLinks(frame, predictionProof(view.commit), messages.predictionOf(view.agent_name))}
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
                      <summary class="small">${messages.itsReasoning}</summary>
                      <blockquote class="quoted">${userText(view.reasoning ?? "")}</blockquote>
                    </details>`
                  : null
              }
            </td>
          </tr>`
    }`
}

/** Sorts the predictions by score if they all fit on one page. */
const inOrder = (
  predictions: ReadonlyArray<PublicPrediction>,
  { next_cursor }: Results
): ReadonlyArray<PublicPrediction> =>
  next_cursor === null ? predictions.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0)) : predictions

/** The list exists from the deadline on. `meaning` explains a prediction. */
const predictionList = (frame: Frame, results: Results, meaning: Html) => {
  const messages = frame.t.question
  const { prediction_count, predictions } = results
  const references = predictions.filter(({ reference }) => reference !== null)
  const answers = predictions.filter(({ reference }) => reference === null)
  const rows = (of: ReadonlyArray<PublicPrediction>) =>
    inOrder(of, results).map((view) => prediction(frame, view, results))
  if (predictions.length === 0) {
    return html`<p>${prediction_count === 0 ? messages.nobodyPredicted : messages.noMorePredictions}</p>`
  }
  return html`<p>${prediction_count === 0 ? messages.nobodyPredicted : meaning}</p>
    <table class="bins settled said-by" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">${frame.t.agent}</th>
          <th role="columnheader" scope="col" class="number">${messages.answer}</th>
          <th role="columnheader" scope="col" class="number">${messages.pointsHead}</th>
          <th role="columnheader" scope="col" class="number">${messages.proof}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows(answers)}
      </tbody>
      ${
        references.length === 0
          ? null
          : html`<tbody role="rowgroup">
              <tr role="row">
                <th role="rowheader" scope="rowgroup" colspan="4">${messages.references}</th>
              </tr>
              ${rows(references)}
            </tbody>`
      }
    </table>
    ${nextPage(frame, challengePage(results.challenge_id), results.next_cursor)}`
}

/** Before the deadline only the number of predictions is public. */
const sealedPredictions = (count: number, soFar: Html, { question: messages }: Messages) =>
  html`<p>
    ${count === 0 ? messages.nobodyYet : html`${messages.soFar[0]}${soFar}${messages.soFar[1]}`}
    ${messages.sealed}
  </p>`

/** Links to the same data as JSON. */
const asJson = (
  frame: Frame,
  challengeId: string,
  more: ReadonlyArray<readonly [path: string, name: string]> = []
) =>
  html`<p class="quiet small">
    ${frame.t.asJson}
    <a href=${frame.at(`/api/v1/eval/challenges/${challengeId}/results`)}>${frame.t.question.itsResults}</a
    >${more.map(([path, name]) => html`${frame.t.question.and}<a href=${frame.at(path)}>${name}</a>`)}${frame.t.question.challengeId}
    <code>${challengeId}</code>
  </p>`

/** Categories with their probabilities, as text. */
export const inWords = (
  categories: ReadonlyArray<{ readonly name: string; readonly probability: number }>,
  t: Messages
): string =>
  categories.map(({ name, probability: share }) => `${name} ${probability(share)}`).join(t.question.and)

/** The name of an outcome; a category is its own name. */
const outcomeName = (name: string, type: ChallengeSummary["type"], { question }: Messages): string => {
  const names: Readonly<Record<string, string>> = type === "price_event" ? question.yesAndNo : question.sides
  return names[name] ?? name
}

/** A prediction as text. A confidence c is a probability of (1 + c) / 2. */
export const answerText = (
  { probabilities, quantiles, samples, ...values }: typeof PredictionValues.Type,
  type: ChallengeSummary["type"],
  t = allMessages.en
): string => {
  if (probabilities !== null) {
    const named = Object.entries(probabilities).map(([name, probability]) => ({
      name: outcomeName(name, type, t),
      probability
    }))
    return inWords(
      named.toSorted((a, b) => b.probability - a.probability),
      t
    )
  }
  if (quantiles !== null) {
    return quantiles.map(({ p, value }) => `${probability(p)}: ${forecastOf(value)}`).join(t.question.and)
  }
  const middle = `${forecastOf(values.predicted_value ?? 0)} ± ${forecastOf(values.predicted_std ?? 0)}`
  if (samples !== null) return t.samplesOf(String(samples.length), middle)
  if (values.direction === null) return middle
  return `${sideOf(values.direction, type === "price_event", t)} ${probability((1 + (values.confidence ?? 0)) / 2)}`
}

const verdictBadge = (isCorrect: boolean, { question }: Messages) =>
  isCorrect ? badge("success", question.right) : badge("problem", question.wrong)

/** The verdict; null before the settlement. Numeric forecasts have a CRPS instead. */
const earned = (
  {
    crps,
    is_correct,
    probabilities,
    score
  }: typeof PredictionVerdict.Type & Pick<typeof PredictionValues.Type, "probabilities">,
  t: Messages
): Html => {
  if (score === null) return null
  const what = probabilities === null ? "CRPS" : "RPS"
  return html`${is_correct === null ? null : verdictBadge(is_correct, t)}
    ${crps === null ? null : html`<span class="quiet">${what} ${roughly(Number(crps.toPrecision(3)))}</span>`}
    <strong class="numeric">${t.question.points(score.toFixed(2))}</strong>`
}

type Version = Results["versions"][number]

const decided = (
  { actual_value, close_price, result }: Version,
  { bins, type, unit }: Results,
  t: Messages
): string => {
  const price = close_price === null ? "" : t.question.byPrice(number(close_price))
  const outcome_name =
    bins?.find(({ index, name }) => name !== undefined && index === actual_value)?.name ?? null
  const outcome = formatOutcome({ actual_value, outcome_name, result, type, unit }, t) ?? t.cameToNothing
  return `${outcome}${result === null ? "" : price}`
}

const versionItem = (view: Version, results: Results, isNewest: boolean, t: Messages) =>
  html`<li>
    <p class="row">
      <strong>${t.question.version(String(view.version))}</strong>
      <span>${decided(view, results, t)}</span>
      <span>${at(view.settled_at, t)}</span>
      ${isNewest ? html`<span>${t.question.thisCounts}</span>` : null}
    </p>
    ${view.reason === null ? null : quoted(view.reason)}
  </li>`

/** The time of the settlement and, if amended, of the current version, which the page shows. */
const settledFacts = (
  { resolved_at, settlement }: Results,
  t: Messages
): ReadonlyArray<readonly [term: string, fact: Html]> => {
  if (resolved_at === null) return []
  const { amended, byVersion, firstSettled, settled } = t.question
  const first = at(resolved_at, t)
  return settlement?.amended === true
    ? [
        [amended, at(settlement.settled_at, t)],
        [firstSettled, html`${first}${byVersion[0]}<a href="#versions">${byVersion[1]}</a>`]
      ]
    : [[settled, first]]
}

const amendedNotice = ({ pool, settlement }: Results, { question: messages }: Messages) =>
  settlement?.amended === true
    ? notice(
        "warning",
        messages.amendedWhy,
        html`${messages.scoredAnew} ${pool === null ? null : messages.poolStays}
          <a href="#versions">${messages.allVersions[0]}</a>${messages.allVersions[1]}`
      )
    : null

/** All versions, newest first. */
const versions = (results: Results, t: Messages) => {
  const { settlement, versions: all } = results
  return settlement?.amended === true
    ? html`<section aria-labelledby="versions">
        <h2 id="versions">${t.question.versions}</h2>
        <ol class="rows" reversed>
          ${all.toReversed().map((view) => versionItem(view, results, view.version === settlement.version, t))}
        </ol>
      </section>`
    : null
}

/** An agent's stake and reward; null without a stake. */
const staked = ({ reward, stake, stake_bin }: PublicPrediction, bins: Results["bins"], t: Messages): Html => {
  if (stake === null) return null
  const on = rangeAt(bins, stake_bin, t)
  return html`<p class="small">
    ${t.question.staked(credits(stake, t), on, reward === null ? null : credits(reward, t))}
  </p>`
}

type Meaning = readonly [title: string, meaning: string]

/** Explanations of the log entries of this challenge type. */
export interface RecordMessages {
  readonly settled: string
  readonly amended: string
  readonly workOut: string
}

const entryMeanings = (
  { amended, settled }: RecordMessages,
  { question: messages }: Messages
): ReadonlyMap<string, Meaning> =>
  new Map([
    ["challenge.create", [messages.entries.created, messages.createdIs]],
    ["challenge.close", [messages.entries.closed, messages.closedIs]],
    ["settlement", [messages.entries.settled, settled]],
    ["amendment", [messages.entries.amended, amended]],
    ["void", [messages.entries.ended, messages.endedIs]]
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
  { challengeId, messages }: { readonly challengeId: string; readonly messages: RecordMessages },
  { entry, isNewest }: { readonly entry: ChallengeEntry; readonly isNewest: boolean }
) => {
  const { t } = frame
  const [title, meaning] = entryMeanings(messages, t).get(entry.type) ?? [entry.type, ""]
  const version = entry.version > 1 ? t.question.versionAfter(String(entry.version)) : ""
  const proof =
    isNewest && endingEntries.has(entry.type) ? settlementProof(challengeId) : entryProof(entry.leaf_index)
  return html`<li>
    <p class="row">
      <strong>${title}${version}</strong>
      <span>${t.question.entry(String(entry.leaf_index))}</span>
      ${proofLinks(frame, proof, t.question.entryOf(`${title}${version}`))}
    </p>
    <p class="quiet small">${meaning}</p>
  </li>`
}

const logRecord = (frame: Frame, { challengeId, entries, stalled }: LogRecord, messages: RecordMessages) => {
  const { question } = frame.t
  const [take, check, further] = question.takeProof
  return html`<section aria-labelledby="record">
    <h2 id="record">${question.record}</h2>
    ${stalled ? html`<p>${question.stalled}</p>` : null}
    ${
      entries.length === 0
        ? html`<p>${stalled ? question.recordedOnly : question.aboutToEnter}</p>`
        : html`<p>${question.appendOnly}</p>
            <ol class="rows">
              ${entries.map((entry, index) =>
                logEntry(
                  frame,
                  { challengeId, messages },
                  {
                    entry,
                    isNewest: index === entries.length - 1
                  }
                )
              )}
            </ol>`
    }
    <details>
      <summary>${question.howToCheck}</summary>
      <ol class="steps">
        <li>${take}<a href=${frame.at(verifyPage())}>${check}</a>${further}</li>
        <li>${question.whatProofShows}</li>
        <li>${question.placeBelow}</li>
        <li>${messages.workOut}</li>
      </ol>
    </details>
  </section>`
}

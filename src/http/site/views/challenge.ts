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
  atAGlance,
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
import { catalogues } from "../catalogue/catalogue.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
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
} from "./words.ts"

interface AnyTerms extends CriteriaTexts {
  readonly id: string
  readonly question: string
  readonly status: AnyStatus
  readonly deadline: string
}

/** Holds only what services publish, so nothing of an open prediction. */
export interface ChallengeView<Terms, What = ChartData> {
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
  /** What was published of the series before. */
  readonly figures?: Html
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
    <summary class="small">${frame.say.question.showElsewhere}</summary>
    <code class="secret"
      >${`<iframe src="${frame.origin}${frame.at(embedOf(asked.id))}" width="400" height="240" title="Auspex"></iframe>`}</code
    >
  </details>`

export const challengeLayout = (
  frame: Frame,
  { asked, drawn, record, results, terms }: ChallengeView<AnyTerms, Pick<ChartData, "now">>,
  { alsoAsJson, answer, ended: [end, reason], figures, pool, said, words, ...more }: TypeParts
): Page => {
  const { say } = frame
  const title = titleOf(asked, say)
  const isOpen = terms.status === "open"
  return {
    title,
    audience: "everybody",
    description: `${title} ${outcomeWords(asked, results, say)}`,
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
      ${heading(frame, asked)}
      ${atAGlance(
        [
          answer.first,
          ...answer.more,
          [say.question.closesIn, closesIn(terms, drawn.now, say)],
          [said.title, answer.counts]
        ],
        say
      )}
      ${reason === null ? null : notice("warning", say.question.scoresNobody(end), say.question.reason(reason))}
      ${amendedNotice(results, say)}
      <div class="split">
        <section class="panel beside" aria-label=${say.question.theChallenge}>
          ${facts([
            [say.question.status, statusBadge(terms.status, say)],
            ...more.facts,
            [
              say.question.source,
              results.resolution_source === null ? null : say.question.sourceName(results.resolution_source)
            ],
            ...settledFacts(results, say)
          ])}
        </section>
        <div class="first">
          ${more.prices} ${isOpen ? figures : null} ${pool}
          <section aria-labelledby="predictions">
            <h2 id="predictions">${said.title}</h2>
            ${
              isOpen
                ? sealedPredictions(results.prediction_count, said.soFar, say)
                : html`${said.chart()}
                  ${predictionList(frame, results, html`${said.soFar}${say.question.finalOf}${said.meaning}`)}`
            }
          </section>
          ${isOpen ? null : figures}
          <section aria-labelledby="criteria">
            <h2 id="criteria">${say.question.howDecided}</h2>
            ${rules(terms, more.withoutCriteria, say)}
          </section>
          ${versions(results, say)} ${logRecord(frame, record, words)}
        </div>
      </div>
      ${embedCode(frame, asked)} ${asJson(frame, terms.id, alsoAsJson)}
    `
  }
}

const outcomeWords = (
  asked: ChallengeSummary,
  { prediction_count: count }: Results,
  say: Catalogue
): string => {
  const words = say.question
  const by = words.agentsPredicted(String(count), count === 1)
  switch (asked.status) {
    case "resolved":
      return words.cameOutAs(formatOutcome(asked, say) ?? say.cameToNothing, by)
    case "open":
      return words.openWith(by)
    default:
      return words.closedWith(by)
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

/** Null once the challenge is closed. */
const closesIn = (
  { deadline, status }: { readonly deadline: string; readonly status: AnyStatus },
  now: DateTime.Utc,
  say: Catalogue
): Html => (status === "open" ? timeLeft(DateTime.makeUnsafe(deadline), now, say) : null)

const heading = (frame: Frame, asked: ChallengeSummary) => {
  const { name, question } = frame.say
  const subtitle = subtitleOf(asked, frame.say)
  return html`<div>
    <p class="eyebrow">
      <a href=${frame.at(challengesPage({ type: asked.type }))}>${question.types[asked.type]}</a
      >${question.on}<a href=${frame.at(assetPage(asked.asset))}>${name(asked.asset, asked.name)}</a>
    </p>
    ${subtitle === null ? null : html`<p class="eyebrow">${subtitle}</p>`}
    <h1 dir="auto">${titleOf(asked, frame.say)}</h1>
  </div>`
}

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

/** The frozen text, in the reader's language; the other one is behind a disclosure. `otherwise` when there is none. */
const rules = (terms: AnyTerms, otherwise: Html, say: Catalogue) => {
  const { question, resolution_criteria: english = null, resolution_criteria_zh: chinese = null } = terms
  const asFrozen = html`<p dir="auto"><strong>${question}</strong></p>`
  if (english === null && chinese === null) return html`${asFrozen} ${otherwise}`
  const inEnglish = english === null ? null : html`<p lang="en">${english}</p>`
  const inChinese = chinese === null ? null : html`<p lang="zh">${chinese}</p>`
  const [first, second] = say.tag === "en" ? [inEnglish, inChinese] : [inChinese, inEnglish]
  return html`${asFrozen} ${first ?? second}
  ${
    first === null || second === null
      ? null
      : html`<details>
          <summary class="small" lang=${say.otherTag}>${say.other}</summary>
          ${second}
        </details>`
  }`
}

type PublicPrediction = Results["predictions"][number]

const prediction = (frame: Frame, view: PublicPrediction, { bins, type }: Results) => {
  const { say } = frame
  const words = say.question
  const stake = staked(view, bins, say)
  const hasReasons = view.reasoning !== null && view.reasoning !== ""
  return html`<tr role="row">
      <th role="rowheader" scope="row">${agentLink(frame, view.agent_id, named(view.agent_name))}</th>
      <td
        role="cell"
        title=${view.confidence === null ? undefined : words.confidenceOf(roughly(view.confidence))}
      >
        ${said(view, type, say)}
      </td>
      <td role="cell">${earned(view, say)}</td>
      <td role="cell">
        ${view.leaf_index === null ? null : html`<span class="quiet small">${words.entry(String(view.leaf_index))}</span>`}
        ${proofLinks(frame, predictionProof(view.commit), words.predictionOf(view.agent_name))}
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
                      <summary class="small">${words.itsReasoning}</summary>
                      <blockquote class="quoted">${userText(view.reasoning ?? "")}</blockquote>
                    </details>`
                  : null
              }
            </td>
          </tr>`
    }`
}

/** The best first, where all stand on one page. */
const inOrder = (
  predictions: ReadonlyArray<PublicPrediction>,
  { next_cursor }: Results
): ReadonlyArray<PublicPrediction> =>
  next_cursor === null ? predictions.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0)) : predictions

/** Only from the deadline on. `meaning` says how to read a prediction. */
const predictionList = (frame: Frame, results: Results, meaning: Html) => {
  const words = frame.say.question
  const { prediction_count, predictions } = results
  const references = predictions.filter(({ reference }) => reference !== null)
  const answers = predictions.filter(({ reference }) => reference === null)
  const rows = (of: ReadonlyArray<PublicPrediction>) =>
    inOrder(of, results).map((view) => prediction(frame, view, results))
  if (predictions.length === 0) {
    return html`<p>${prediction_count === 0 ? words.nobodyPredicted : words.noMorePredictions}</p>`
  }
  return html`<p>${prediction_count === 0 ? words.nobodyPredicted : meaning}</p>
    <table class="bins settled said-by" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">${frame.say.agent}</th>
          <th role="columnheader" scope="col" class="number">${words.said}</th>
          <th role="columnheader" scope="col" class="number">${words.pointsHead}</th>
          <th role="columnheader" scope="col" class="number">${words.proof}</th>
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
                <th role="rowheader" scope="rowgroup" colspan="4">${words.references}</th>
              </tr>
              ${rows(references)}
            </tbody>`
      }
    </table>
    ${nextPage(frame, challengePage(results.challenge_id), results.next_cursor)}`
}

/** Before the deadline: only their number. */
const sealedPredictions = (count: number, soFar: Html, { question: words }: Catalogue) =>
  html`<p>
    ${count === 0 ? words.nobodyYet : html`${words.soFar[0]}${soFar}${words.soFar[1]}`} ${words.sealed}
  </p>`

/** Links to the same data as JSON. */
const asJson = (
  frame: Frame,
  challengeId: string,
  more: ReadonlyArray<readonly [path: string, name: string]> = []
) =>
  html`<p class="quiet small">
    ${frame.say.asJson}
    <a href=${frame.at(`/api/v1/eval/challenges/${challengeId}/results`)}>${frame.say.question.itsResults}</a
    >${more.map(([path, name]) => html`${frame.say.question.and}<a href=${frame.at(path)}>${name}</a>`)}${frame.say.question.challengeId}
    <code>${challengeId}</code>
  </p>`

/** Categories with their probabilities. */
export const inWords = (
  categories: ReadonlyArray<{ readonly name: string; readonly probability: number }>,
  say: Catalogue
): string =>
  categories.map(({ name, probability: share }) => `${name} ${probability(share)}`).join(say.question.and)

/** The name of an outcome: that of a category is its own. */
const outcomeName = (name: string, type: ChallengeSummary["type"], { question }: Catalogue): string => {
  const names: Readonly<Record<string, string>> = type === "price_event" ? question.yesAndNo : question.sides
  return names[name] ?? name
}

/** What a prediction says, in its form. A confidence c is a probability of (1 + c) / 2. */
export const said = (
  { probabilities, quantiles, samples, ...values }: typeof PredictionValues.Type,
  type: ChallengeSummary["type"],
  say = catalogues.en
): string => {
  if (probabilities !== null) {
    const named = Object.entries(probabilities).map(([name, probability]) => ({
      name: outcomeName(name, type, say),
      probability
    }))
    return inWords(
      named.toSorted((a, b) => b.probability - a.probability),
      say
    )
  }
  if (quantiles !== null) {
    return quantiles.map(({ p, value }) => `${probability(p)}: ${forecastOf(value)}`).join(say.question.and)
  }
  const middle = `${forecastOf(values.predicted_value ?? 0)} ± ${forecastOf(values.predicted_std ?? 0)}`
  if (samples !== null) return say.samplesOf(String(samples.length), middle)
  if (values.direction === null) return middle
  return `${sideOf(values.direction, type === "price_event", say)} ${probability((1 + (values.confidence ?? 0)) / 2)}`
}

const verdictBadge = (isCorrect: boolean, { question }: Catalogue) =>
  isCorrect ? badge("success", question.right) : badge("problem", question.wrong)

/** Null before the settlement. Numeric forecasts have a CRPS instead of right or wrong. */
const earned = (
  {
    crps,
    is_correct,
    probabilities,
    score
  }: typeof PredictionVerdict.Type & Pick<typeof PredictionValues.Type, "probabilities">,
  say: Catalogue
): Html => {
  if (score === null) return null
  const what = probabilities === null ? "CRPS" : "RPS"
  return html`${is_correct === null ? null : verdictBadge(is_correct, say)}
    ${crps === null ? null : html`<span class="quiet">${what} ${roughly(Number(crps.toPrecision(3)))}</span>`}
    <strong class="numeric">${say.question.points(score.toFixed(2))}</strong>`
}

type Version = Results["versions"][number]

const decided = (
  { actual_value, close_price, result }: Version,
  { bins, type, unit }: Results,
  say: Catalogue
): string => {
  const price = close_price === null ? "" : say.question.byPrice(number(close_price))
  const outcome_name =
    bins?.find(({ index, name }) => name !== undefined && index === actual_value)?.name ?? null
  const outcome = formatOutcome({ actual_value, outcome_name, result, type, unit }, say) ?? say.cameToNothing
  return `${outcome}${result === null ? "" : price}`
}

const versionItem = (view: Version, results: Results, isNewest: boolean, say: Catalogue) =>
  html`<li>
    <p class="row">
      <strong>${say.question.version(String(view.version))}</strong>
      <span>${decided(view, results, say)}</span>
      <span>${at(view.settled_at, say)}</span>
      ${isNewest ? html`<span>${say.question.thisCounts}</span>` : null}
    </p>
    ${view.reason === null ? null : quoted(view.reason)}
  </li>`

/** The time of the settlement and, when amended, of the version that counts, which the page shows. */
const settledFacts = (
  { resolved_at, settlement }: Results,
  say: Catalogue
): ReadonlyArray<readonly [term: string, fact: Html]> => {
  if (resolved_at === null) return []
  const { amended, byVersion, firstSettled, settled } = say.question
  const first = at(resolved_at, say)
  return settlement?.amended === true
    ? [
        [amended, at(settlement.settled_at, say)],
        [firstSettled, html`${first}${byVersion[0]}<a href="#versions">${byVersion[1]}</a>`]
      ]
    : [[settled, first]]
}

const amendedNotice = ({ pool, settlement }: Results, { question: words }: Catalogue) =>
  settlement?.amended === true
    ? notice(
        "warning",
        words.amendedWhy,
        html`${words.scoredAnew} ${pool === null ? null : words.poolStays}
          <a href="#versions">${words.allVersions[0]}</a>${words.allVersions[1]}`
      )
    : null

/** All versions, newest first. */
const versions = (results: Results, say: Catalogue) => {
  const { settlement, versions: all } = results
  return settlement?.amended === true
    ? html`<section aria-labelledby="versions">
        <h2 id="versions">${say.question.versions}</h2>
        <ol class="rows" reversed>
          ${all.toReversed().map((view) => versionItem(view, results, view.version === settlement.version, say))}
        </ol>
      </section>`
    : null
}

/** An agent's stake and reward; null without a stake. */
const staked = (
  { reward, stake, stake_bin }: PublicPrediction,
  bins: Results["bins"],
  say: Catalogue
): Html => {
  if (stake === null) return null
  const on = rangeAt(bins, stake_bin, say)
  return html`<p class="small">
    ${say.question.staked(credits(stake, say), on, reward === null ? null : credits(reward, say))}
  </p>`
}

type Meaning = readonly [title: string, meaning: string]

/** How entries of this challenge type are explained. */
export interface RecordWords {
  readonly settled: string
  readonly amended: string
  readonly workOut: string
}

const entryMeanings = (
  { amended, settled }: RecordWords,
  { question: words }: Catalogue
): ReadonlyMap<string, Meaning> =>
  new Map([
    ["challenge.create", [words.entries.created, words.createdIs]],
    ["challenge.close", [words.entries.closed, words.closedIs]],
    ["settlement", [words.entries.settled, settled]],
    ["amendment", [words.entries.amended, amended]],
    ["void", [words.entries.ended, words.endedIs]]
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
  const { say } = frame
  const [title, meaning] = entryMeanings(words, say).get(entry.type) ?? [entry.type, ""]
  const version = entry.version > 1 ? say.question.versionAfter(String(entry.version)) : ""
  const proof =
    isNewest && endingEntries.has(entry.type) ? settlementProof(challengeId) : entryProof(entry.leaf_index)
  return html`<li>
    <p class="row">
      <strong>${title}${version}</strong>
      <span>${say.question.entry(String(entry.leaf_index))}</span>
      ${proofLinks(frame, proof, say.question.entryOf(`${title}${version}`))}
    </p>
    <p class="quiet small">${meaning}</p>
  </li>`
}

const logRecord = (frame: Frame, { challengeId, entries, stalled }: LogRecord, words: RecordWords) => {
  const { question } = frame.say
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
      <summary>${question.howToCheck}</summary>
      <ol class="steps">
        <li>${take}<a href=${frame.at(verifyPage())}>${check}</a>${further}</li>
        <li>${question.whatProofShows}</li>
        <li>${question.placeBelow}</li>
        <li>${words.workOut}</li>
      </ol>
    </details>
  </section>`
}

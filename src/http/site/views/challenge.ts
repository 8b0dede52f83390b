/** The layout that the pages of all challenge types share, and its parts. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import type { Answers, PriceSeries } from "../../../services/Charts.ts"
import { creditsOf } from "../../../services/Credits.ts"
import type { PoolOdds } from "../../../services/Pools.ts"
import type { Site } from "../../../services/Settings.ts"
import type { ChallengeEntry } from "../../../services/TransparencyLog.ts"
import type { AnyStatus, ChallengeType, MacroChallenge } from "../../../services/domain/Challenge.ts"
import type { CriteriaTexts } from "../../../services/domain/language.ts"
import type { PredictionValues, PredictionVerdict } from "../../../services/domain/Prediction.ts"
import { plainNumber } from "../charts/chart.ts"
import { challengePage, challengesPage, verifyPage } from "../paths.ts"
import {
  agentLink,
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
import type { Tone } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

interface AnyTerms extends CriteriaTexts {
  readonly id: string
  readonly question: string
  readonly status: AnyStatus
  readonly deadline: string
}

/** Holds only what services publish, so nothing of an open prediction. */
export interface ChallengeView<Terms, What = ChartData> {
  readonly site: Site
  readonly terms: Terms
  readonly results: Results
  readonly record: LogRecord
  readonly drawn: What
}

/** The parts of the page that depend on the challenge's type. */
interface TypeParts {
  readonly type: typeof ChallengeType.Type
  readonly about: string
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
    readonly count: Html
    readonly soFar: Html
    readonly chart: () => Html
    readonly meaning: string
  }
  readonly words: RecordWords
  readonly alsoAsJson?: ReadonlyArray<readonly [path: string, name: string]>
}

export const challengeLayout = (
  frame: Frame,
  { drawn, record, results, site, terms }: ChallengeView<AnyTerms, Pick<ChartData, "now">>,
  { about, alsoAsJson, ended: [end, reason], pool, said, type, words, ...more }: TypeParts
): Page => ({
  title: terms.question,
  audience: "everybody",
  below: "/challenges",
  width: "wide",
  content: html`
    ${heading(frame, type, about, terms.question)}
    ${reason === null ? null : notice("warning", `${end}: nobody is scored by it.`, html`${reason}`)}
    ${amendedNotice(results)}
    <div class="split">
      <section class="panel beside" aria-label="The challenge">
        ${facts([
          ["Status", statusBadge(terms.status)],
          ["Closes in", closesIn(terms, drawn.now)],
          ...more.facts,
          ["Source", results.resolution_source],
          ...settledFacts(results),
          [said.title, said.count]
        ])}
      </section>
      <div class="first">
        ${more.prices}
        <section aria-labelledby="criteria">
          <h2 id="criteria">How it is decided</h2>
          ${criteria(site, terms, more.withoutCriteria)}
        </section>
        ${pool}
        <section aria-labelledby="predictions">
          <h2 id="predictions">${said.title}</h2>
          ${
            terms.status === "open"
              ? sealedPredictions(results.prediction_count, said.soFar)
              : html`${said.chart()}
                ${predictionList(
                  frame,
                  results,
                  html`${said.soFar}. Each agent's last word before the deadline: ${said.meaning}`
                )}`
          }
        </section>
        ${versions(results)} ${logRecord(frame, record, words)}
      </div>
    </div>
    ${asJson(frame, terms.id, alsoAsJson)}
  `
})

const challengeStatuses: Readonly<Record<AnyStatus, readonly [tone: Tone, word: string]>> = {
  open: ["info", "Open"],
  closed: ["info", "Closed"],
  resolved: ["success", "Settled"],
  cancelled: ["warning", "Cancelled"],
  void: ["warning", "Void"]
}

export const statusBadge = (status: AnyStatus) => {
  const [tone, word] = challengeStatuses[status]
  return badge(tone, word)
}

export const at = (timestamp: string) => instant(DateTime.makeUnsafe(timestamp))

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

const heading = (
  frame: Frame,
  type: "directional" | "macro" | "price_event",
  what: string,
  question: string
) =>
  html`<div>
    <p class="eyebrow"><a href=${frame.at(challengesPage({ type }))}>${what}</a></p>
    <h1 dir="auto">${question}</h1>
  </div>`

/** The resolution criteria, in the site's language first; `otherwise` when there are none. */
const criteria = (site: Site, terms: CriteriaTexts, otherwise: Html) => {
  const { resolution_criteria: english = null, resolution_criteria_zh: chinese = null } = terms
  if (english === null && chinese === null) return otherwise
  const inEnglish = english === null ? null : html`<p lang="en">${english}</p>`
  const inChinese = chinese === null ? null : html`<p lang="zh">${chinese}</p>`
  return site === "cn" ? html`${inChinese} ${inEnglish}` : html`${inEnglish} ${inChinese}`
}

type PublicPrediction = Results["predictions"][number]

const prediction = (frame: Frame, view: PublicPrediction, bins: Results["bins"]) =>
  html`<li>
    <p class="row">
      ${agentLink(frame, view.agent_id, named(view.agent_name))}
      <span>${said(view)}</span>
      ${earned(view)} ${view.leaf_index === null ? null : html`<span>entry ${view.leaf_index}</span>`}
      ${proofLinks(frame, predictionProof(view.commit), `${view.agent_name}'s prediction`)}
    </p>
    ${staked(view, bins)}
    ${
      view.reasoning === null || view.reasoning === ""
        ? null
        : html`<details>
            <summary class="small">Its reasoning</summary>
            ${quoted(view.reasoning)}
          </details>`
    }
  </li>`

/** Only from the deadline on. `meaning` says how to read a prediction. */
const predictionList = (frame: Frame, results: Results, meaning: Html) => {
  if (results.predictions.length === 0) {
    return html`<p>
      ${results.prediction_count === 0 ? "Nobody predicted." : "There are no more predictions."}
    </p>`
  }
  return html`<p>${meaning}</p>
    <ol class="rows">
      ${results.predictions.map((view) => prediction(frame, view, results.bins))}
    </ol>
    ${nextPage(frame, challengePage(results.challenge_id), results.next_cursor)}`
}

/** Before the deadline: only their number. */
const sealedPredictions = (count: number, soFar: Html) =>
  html`<p>
    ${count === 0 ? "Nobody has predicted yet." : html`So far ${soFar}.`} Who said what is sealed until the
    deadline: the public log has only hashes, from which nothing can be guessed.
  </p>`

/** Links to the same data as JSON. */
const asJson = (
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

const percent = (p: number): string => `${plainNumber(100 * p)} %`

/** Categories with their probabilities. */
export const inWords = (
  categories: ReadonlyArray<{ readonly name: string; readonly probability: number }>
): string => categories.map(({ name, probability }) => `${name} ${percent(probability)}`).join(", ")

/** What a prediction says, in its form. */
export const said = ({
  probabilities,
  quantiles,
  samples,
  ...values
}: typeof PredictionValues.Type): string => {
  if (probabilities !== null) {
    const named = Object.entries(probabilities).map(([name, probability]) => ({ name, probability }))
    return inWords(named.toSorted((a, b) => b.probability - a.probability))
  }
  if (quantiles !== null) {
    return quantiles.map(({ p, value }) => `${percent(p)}: ${plainNumber(value)}`).join(", ")
  }
  const number = `${plainNumber(values.predicted_value ?? 0)} ± ${plainNumber(values.predicted_std ?? 0)}`
  if (samples !== null) return `${samples.length} samples: ${number}`
  return values.direction === null ? number : `${values.direction} at ${values.confidence}`
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

const decided = ({ actual_value, close_price, result }: Version): string =>
  result === null ? String(actual_value) : `${result}, by ${close_price}`

const versionItem = (view: Version, isNewest: boolean) =>
  html`<li>
    <p class="row">
      <strong>Version ${view.version}</strong>
      <span>${decided(view)}</span>
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
const versions = ({ settlement, versions: all }: Results) =>
  settlement?.amended === true
    ? html`<section aria-labelledby="versions">
        <h2 id="versions">Versions of the settlement</h2>
        <ol class="rows" reversed>
          ${all.toReversed().map((view) => versionItem(view, view.version === settlement.version))}
        </ol>
      </section>`
    : null

type Bin = MacroChallenge["bins"][number]

export const binRange = ({ high, low, name }: Bin): string => {
  if (name !== undefined) return name
  if (low === null) return high === null ? "any value" : `below ${high}`
  return high === null ? `${low} and above` : `${low} to below ${high}`
}

const rangeAt = (bins: ReadonlyArray<Bin> | null, index: number | null): string | null => {
  const bin = bins?.find((each) => each.index === index)
  return bin === undefined ? null : binRange(bin)
}

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

const outcome = ({ outcome: how, winning_bin }: NonNullable<Results["pool"]>): string => {
  if (how === "paid") return "Paid to those who had staked on the winning bin"
  return winning_bin === null
    ? "Void, for there is no value: nobody gets a reward"
    : "Void, for nobody had staked on the bin that holds the value: nobody gets a reward"
}

const marks = (index: number, { bin, pool }: Results) =>
  html`${index === bin ? badge("info", "It came here") : null}
  ${pool?.outcome === "paid" && index === pool.winning_bin ? badge("success", "Won the pool") : null}`

/** Further rows are behind a disclosure. */
const maxAtOnce = 15

/** The number stands beside the bar; the winning bin has a border as well. */
const shareBar = (share: number, isWhereItCame: boolean) =>
  html`<svg class="share" width="100%" height="14" aria-hidden="true" focusable="false">
    <rect class="rest" width="100%" height="14" rx="2" />
    <rect
      class=${isWhereItCame ? "bar came" : "bar"}
      width=${`${Math.round(share * 1000) / 10}%`}
      height="14"
      rx="2"
    />
  </svg>`

const binTable = (terms: MacroChallenge, odds: PoolOdds, results: Results) =>
  html`<details open=${odds.bins.length <= maxAtOnce}>
    <summary>The bins of outcomes${terms.unit === null ? "" : `, in ${terms.unit}`}</summary>
    <table class="board unranked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">Bin</th>
          <th role="columnheader" scope="col" class="number">Share</th>
          <th role="columnheader" scope="col" class="scale"><span class="unseen">Share, drawn</span></th>
          <th role="columnheader" scope="col" class="number">Credits</th>
          <th role="columnheader" scope="col" class="number">Agents</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${odds.bins.map(
          (bin) =>
            html`<tr role="row">
              <th role="rowheader" scope="row" class="agent">
                ${binRange(bin)} ${marks(bin.index, results)}
              </th>
              <td role="cell" class="number">${(bin.share * 100).toFixed(1)} %</td>
              <td role="cell" class="scale">${shareBar(bin.share, bin.index === results.bin)}</td>
              <td role="cell" class="number more" data-label="Credits">${creditsOf(bin.staked)}</td>
              <td role="cell" class="number more" data-label="Agents">${bin.stakers}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </details>`

/** The credit pool of a macro challenge: stakes by bin and, once settled, the payout. */
export const poolSection = (terms: MacroChallenge, odds: PoolOdds, results: Results) => {
  const { pool } = results
  return html`<section aria-labelledby="pool">
    <h2 id="pool">The credit pool</h2>
    <p>
      Until the deadline an agent that has forecast may stake credit on one bin. Those on the bin that holds
      the published value share the reward pool: one half of it by the scores of their forecasts, the other
      half by their stakes. Every stake returns in full, also that of an agent that was wrong. What stands on
      which bin is shown in steps until the deadline.
    </p>
    ${facts([
      ["Reward pool", `${terms.reward_pool} credits`],
      ["Staked", `${credits(odds.total)} by ${counted(odds.stakers, "agent")}`],
      [
        "Counted",
        odds.counts_as_of === null || odds.counts_as_of === terms.deadline
          ? null
          : instant(DateTime.makeUnsafe(odds.counts_as_of))
      ],
      ["Outcome", pool === null ? null : outcome(pool)],
      ["Winning bin", pool?.outcome === "paid" ? rangeAt(terms.bins, pool.winning_bin) : null],
      ["Paid", pool === null ? null : `${credits(pool.paid)} in rewards; all stakes have returned`]
    ])}
    ${binTable(terms, odds, results)}
    <p class="quiet small">
      Shares say where credit stands, and not how likely a bin is; they stay after the end. An owner's plan
      multiplies its rewards, so that more or less than the reward pool may be paid.
    </p>
  </section>`
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
      ["Made", "The question, the criteria and every number that it settles by, frozen as they are."]
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
    ["void", ["Void", "It was cancelled, and nobody is scored by it."]]
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
        : html`<p>
              What is entered in the public log is never changed or taken out. The entries about the challenge
              itself:
            </p>
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

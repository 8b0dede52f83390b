/** An agent for everybody: what it has shown so far, and every settled prediction with its proof. */
import { DateTime } from "effect"
import type { TrackRecord } from "../../../services/Charts.ts"
import type { PublicProfile } from "../../../services/Registry.ts"
import type { Calibration, Scorecard } from "../../../services/Scoring.ts"
import { agentPage, challengePage, leaderboardPage, verifyPage } from "../paths.ts"
import { coverageChart, reliabilityChart } from "../charts/calibration.ts"
import { interval, intervalAxis, intervalScale } from "../charts/intervals.ts"
import { pitHistogram } from "../charts/pit.ts"
import { trackRecordChart } from "../charts/trackRecord.ts"
import { badge, day, empty, facts, longText, named } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { earned, said } from "./predictionParts.ts"
import { nextPage, predictionProof, proofLinks } from "./proofLinks.ts"

const percent = (share: number | null) => (share === null ? null : `${(share * 100).toFixed(1)} %`)

const rounded = (figure: number | null, places = 2) => (figure === null ? null : figure.toFixed(places))

type Figures = Scorecard["overall"]

const bounds = ({ score_ci95: interval }: Figures) =>
  interval === null ? null : `${interval[0].toFixed(2)} to ${interval[1].toFixed(2)}`

const overall = ({ overall: figures }: Scorecard) =>
  figures.prediction_count === 0
    ? html`<p>None of its predictions is settled yet.</p>`
    : facts([
        ["Average score", html`<strong>${rounded(figures.avg_score)}</strong> of 100`],
        ["95 % interval", bounds(figures)],
        [
          "Right",
          // Of numeric forecasts none is right or wrong.
          figures.mean_skill === null
            ? `${figures.correct_count} of ${figures.prediction_count}, ${percent(figures.accuracy_rate) ?? "none"}`
            : percent(figures.accuracy_rate)
        ],
        ["Brier index", rounded(figures.brier_index, 1)],
        ["Mean skill", rounded(figures.mean_skill)],
        ["Scored", String(figures.prediction_count)]
      ])

/** Its scores by category and target, on one scale. */
const parts = ({ categories, targets }: Scorecard): Html => {
  const rows = [
    ...categories.map(({ category, ...figures }) => ({ name: category, isTarget: false, figures })),
    ...targets.map(({ target, ...figures }) => ({ name: target, isTarget: true, figures }))
  ]
  if (rows.length === 0) return null
  const scale = intervalScale(rows.map(({ figures }) => figures))
  return html`<section aria-labelledby="parts">
    <h2 id="parts">By category and target</h2>
    <table class="board unranked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">Of</th>
          <th role="columnheader" scope="col" class="number">Average</th>
          <th role="columnheader" scope="col" class="scale">
            <span>95 % interval</span> ${intervalAxis(scale)}
          </th>
          <th role="columnheader" scope="col" class="number">Right</th>
          <th role="columnheader" scope="col" class="number">Scored</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          ({ figures, isTarget, name }) =>
            html`<tr role="row">
              <th role="rowheader" scope="row" class="agent">
                ${isTarget ? html`<span class="tag">${name}</span>` : html`<strong>${name}</strong>`}
              </th>
              <td role="cell" class="number"><strong>${rounded(figures.avg_score, 1)}</strong></td>
              <td role="cell" class="scale">
                ${interval(scale, figures)}
                <span class="quiet interval-text">${bounds(figures) ?? "no interval yet"}</span>
              </td>
              <td role="cell" class="number more" data-label="Right">
                ${percent(figures.accuracy_rate) ?? "–"}
              </td>
              <td role="cell" class="number more" data-label="Scored">${figures.prediction_count}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </section>`
}

const followers = (count: number): string => (count === 1 ? "1 agent" : `${count} agents`)

/** What it says of itself. */
const about = (profile: PublicProfile) => {
  const model = [profile.model_provider, profile.model_name, profile.model_version].filter(
    (part) => part !== null && part !== ""
  )
  return facts([
    ["Model", model.length === 0 ? null : named(model.join(" "))],
    [
      "Organisation",
      profile.owner_org === null || profile.owner_org === "" ? null : named(profile.owner_org)
    ],
    ["Languages", profile.languages.length === 0 ? null : named(profile.languages.join(", "))],
    ["Here since", day(DateTime.makeUnsafe(profile.created_at))],
    ["Followed by", followers(profile.follower_count)],
    ["Follows", followers(profile.following_count)]
  ])
}

type Settled = Scorecard["predictions"][number]

const prediction = (frame: Frame, shown: Settled) =>
  html`<li>
    <p><a href=${frame.at(challengePage(shown.challenge_id))} dir="auto">${shown.question}</a></p>
    <p class="row">
      <span>${said(shown)}; it was ${shown.result ?? shown.actual_value}</span>
      ${earned(shown)} ${shown.amended ? badge("warning", "Amended") : null}
      ${proofLinks(frame, predictionProof(shown.commit), `the prediction on "${shown.question}"`)}
    </p>
    <p class="quiet small">
      Said ${day(DateTime.makeUnsafe(shown.created_at))}, settled
      ${day(DateTime.makeUnsafe(shown.settled_at))}
    </p>
  </li>`

const drawings = (record: TrackRecord, calibration: Calibration): Html => {
  const charts = [reliabilityChart(record), coverageChart(calibration), pitHistogram(calibration)].filter(
    (each) => each !== null
  )
  const track = trackRecordChart(record)
  if (track === null && charts.length === 0) return null
  return html`<section aria-labelledby="record">
    <h2 id="record">Its record</h2>
    ${track} ${charts.length === 0 ? null : html`<div class="charts">${charts}</div>`}
  </section>`
}

export const agent = (
  frame: Frame,
  shown: {
    readonly profile: PublicProfile
    readonly scorecard: Scorecard
    readonly calibration: Calibration
    readonly record: TrackRecord
  }
): Page => {
  const { calibration, profile, record, scorecard } = shown
  const id = scorecard.agent_id
  return {
    title: scorecard.agent_name,
    audience: "everybody",
    below: "/leaderboard",
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow"><a href=${frame.at(leaderboardPage())}>Agent</a></p>
        <h1>${named(scorecard.agent_name)}</h1>
      </div>
      <p>
        ${scorecard.verified ? badge("success", "Verified") : badge("info", "Unverified")}
        ${scorecard.verified ? "An operator answers for it." : "No operator has claimed it yet, so it has no rank."}
      </p>
      ${profile.bio === null || profile.bio === "" ? null : longText(profile.bio, 1200, "More")}
      <div class="split">
        <div class="beside">
          <section class="panel" aria-label="Figures">${overall(scorecard)}</section>
          <section class="panel" aria-label="About it">${about(profile)}</section>
        </div>
        <div class="first">
          ${drawings(record, calibration)} ${parts(scorecard)}
          <section aria-labelledby="predictions">
            <h2 id="predictions">Settled predictions</h2>
            ${
              scorecard.predictions.length === 0
                ? empty(
                    scorecard.overall.prediction_count === 0 ? "There are none yet." : "There are no more."
                  )
                : html`<p>
                      Each was sealed in the public log before its deadline, and stands there for ever. Take
                      its proof file, or <a href=${frame.at(verifyPage())}>check it in your browser</a>.
                    </p>
                    <ol class="rows">
                      ${scorecard.predictions.map((each) => prediction(frame, each))}
                    </ol>
                    ${nextPage(frame, agentPage(id), scorecard.next_cursor)}`
            }
          </section>
        </div>
      </div>
      <p class="quiet small">
        The same as JSON:
        <a href=${frame.at(`/api/v1/eval/agents/${id}/scorecard`)}>its scorecard</a>,
        <a href=${frame.at(`/api/v1/eval/agents/${id}/distribution-calibration`)}>its calibration</a>. Agent
        id: <code>${id}</code>
      </p>
    `
  }
}

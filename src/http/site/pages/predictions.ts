/** The settled predictions of an agent: the table, and the page with all of them. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Scoring } from "../../../services/Scoring.ts"
import type { Scorecard } from "../../../services/Scoring.ts"
import type { ChallengeSummary } from "../../../services/domain/Challenge.ts"
import { Pages } from "../siteLayer.ts"
import { agentPage, challengePage, pagePaths, predictionsPage, verifyPage } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import { answerText } from "../views/challenge.ts"
import {
  assetTag,
  badge,
  day,
  empty,
  named,
  nextPage,
  predictionProof,
  proofLinks
} from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { formatOutcome, roughly, titleOf } from "../views/format.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const scoring = yield* Scoring

    yield* router.add(
      "GET",
      pagePaths.predictionsOfAgent,
      publicPage(
        ["cursor", "lang"],
        Effect.fnUntraced(function* (frame) {
          const { agent_id: id = "" } = yield* HttpRouter.params
          const scorecard = yield* scoring.scorecard(id, yield* listPage)
          return show(site, frame, predictionsView(frame, scorecard, yield* summariesOf(arenas, scorecard)))
        })
      )
    )
  })
)

type Settled = Scorecard["predictions"][number]

/** The challenges of predictions, by id. */
export type Summaries = ReadonlyMap<string, ChallengeSummary>

const settledPrediction = (frame: Frame, view: Settled, summaries: Summaries) => {
  const { t } = frame
  const messages = t.agentPage
  const summary = summaries.get(view.challenge_id)
  const title = summary === undefined ? view.question : titleOf(summary, t)
  return html`<tr role="row">
    <th role="rowheader" scope="row">
      ${assetTag(frame, view.asset)}
      <a href=${frame.at(challengePage(view.challenge_id))} dir="auto">${title}</a>
      ${view.amended ? badge("warning", messages.amended) : null}
    </th>
    <td
      role="cell"
      title=${view.confidence === null ? undefined : messages.confidence(roughly(view.confidence))}
    >
      ${answerText(view, view.type, t)}
    </td>
    <td role="cell">${formatOutcome(view, t) ?? t.cameToNothing}</td>
    <td role="cell" class=${view.score >= 50 ? "good" : "bad"}>${view.score.toFixed(1)}</td>
    <td role="cell">${day(DateTime.makeUnsafe(view.created_at), t)}</td>
    <td role="cell">${proofLinks(frame, predictionProof(view.commit), messages.predictionOn(title))}</td>
  </tr>`
}

/** The table of settled predictions, with a link to the verifier. */
export const recentlySettled = (frame: Frame, predictions: ReadonlyArray<Settled>, summaries: Summaries) => {
  const messages = frame.t.agentPage
  const [before, check, after] = messages.sealed
  return html`<p>${before}<a href=${frame.at(verifyPage())}>${check}</a>${after}</p>
    <table class="bins settled said-by" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">${frame.t.challenge}</th>
          <th role="columnheader" scope="col" class="number">${messages.answer}</th>
          <th role="columnheader" scope="col" class="number">${messages.came}</th>
          <th role="columnheader" scope="col" class="number" data-sortable>${messages.points}</th>
          <th role="columnheader" scope="col" class="number" data-sortable>${messages.predicted}</th>
          <th role="columnheader" scope="col" class="number">${messages.proof}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${predictions.map((each) => settledPrediction(frame, each, summaries))}
      </tbody>
    </table>`
}

/** The challenges of a page of predictions. */
export const summariesOf = (
  arenas: Arenas["Service"],
  { predictions }: Scorecard
): Effect.Effect<Summaries> =>
  Effect.map(
    arenas.summaries(predictions.map(({ challenge_id }) => challenge_id)),
    (all) => new Map(all.map((each) => [each.id, each]))
  )

/** All settled predictions, newest first. */
const predictionsView = (
  frame: Frame,
  { agent_id, agent_name, next_cursor, overall, predictions }: Scorecard,
  summaries: Summaries
): Page => {
  const { t } = frame
  const messages = t.agentPage
  const count = overall.prediction_count
  return {
    title: messages.predictionsOf(agent_name),
    audience: "everybody",
    path: predictionsPage(agent_id),
    isSortable: true,
    translation: predictionsPage(agent_id),
    below: "/leaderboard",
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow"><a href=${frame.at(agentPage(agent_id))}>${named(agent_name)}</a></p>
        <h1>${messages.settled}</h1>
      </div>
      <p>${messages.lastFirst(String(count), count === 1)}</p>
      ${
        predictions.length === 0
          ? empty(count === 0 ? messages.none : messages.noMore)
          : html`${recentlySettled(frame, predictions, summaries)}
            ${nextPage(frame, predictionsPage(agent_id), next_cursor)}`
      }
    `
  }
}

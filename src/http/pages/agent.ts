/** An agent for everybody: what it has shown so far, and every settled prediction with its proof. */
import { DateTime } from "effect"
import { agentPage, challengePage, verifyPage } from "../../services/pages.ts"
import type { Scorecard } from "../../services/Scoring.ts"
import { badge, day, facts } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { earned, said } from "./predictionParts.ts"
import { nextPage, predictionProof, proofLinks } from "./proofLinks.ts"

const percent = (share: number | null) => (share === null ? null : `${(share * 100).toFixed(1)} %`)

const rounded = (figure: number | null, places = 2) => (figure === null ? null : figure.toFixed(places))

type Figures = Scorecard["overall"]

const interval = ({ score_ci95: bounds }: Figures) =>
  bounds === null ? null : `${bounds[0].toFixed(2)} to ${bounds[1].toFixed(2)}`

const overall = ({ overall: figures }: Scorecard) =>
  figures.prediction_count === 0
    ? html`<p>None of its predictions is settled yet.</p>`
    : facts([
        ["Average score", html`<strong>${rounded(figures.avg_score)}</strong> of 100`],
        ["95 % interval", interval(figures)],
        [
          "Right",
          // Of numeric forecasts none is right or wrong.
          figures.mean_skill === null
            ? `${figures.correct_count} of ${figures.prediction_count}, ${percent(figures.accuracy_rate) ?? "none"}`
            : percent(figures.accuracy_rate)
        ],
        ["Brier index", rounded(figures.brier_index, 1)],
        ["Mean skill", rounded(figures.mean_skill)]
      ])

const parts = ({ categories, targets }: Scorecard) => {
  const named = [
    ...categories.map(({ category, ...figures }) => ({ name: category, figures })),
    ...targets.map(({ target, ...figures }) => ({ name: target, figures }))
  ]
  return named.length === 0
    ? null
    : html`<details>
        <summary>By category and target</summary>
        <ul class="rows">
          ${named.map(
            ({ figures, name }) =>
              html`<li>
                <p class="row">
                  <strong>${name}</strong>
                  <span>${rounded(figures.avg_score)} on average</span>
                  <span>
                    ${
                      figures.mean_skill === null
                        ? `${figures.correct_count} of ${figures.prediction_count} right`
                        : `${figures.prediction_count} scored`
                    }
                  </span>
                </p>
              </li>`
          )}
        </ul>
      </details>`
}

type Settled = Scorecard["predictions"][number]

const prediction = (frame: Frame, shown: Settled) =>
  html`<li>
    <p><a href=${frame.at(challengePage(shown.challenge_id))}>${shown.question}</a></p>
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

export const agent = (frame: Frame, scorecard: Scorecard): Page => ({
  title: scorecard.agent_name,
  audience: "everybody",
  content: html`
    <div>
      <p class="eyebrow">Agent</p>
      <h1>${scorecard.agent_name}</h1>
    </div>
    <p>
      ${scorecard.verified ? badge("success", "Verified") : badge("info", "Unverified")}
      ${scorecard.verified ? "An operator answers for it." : "No operator has claimed it yet, so it has no rank."}
    </p>
    <section class="panel" aria-label="Figures">${overall(scorecard)} ${parts(scorecard)}</section>
    <section aria-labelledby="predictions">
      <h2 id="predictions">Settled predictions</h2>
      ${
        scorecard.predictions.length === 0
          ? html`<p>
              ${scorecard.overall.prediction_count === 0 ? "There are none yet." : "There are no more."}
            </p>`
          : html`<p>
                Each was sealed in the public log before its deadline, and stands there for ever. Take its
                proof file, or <a href=${frame.at(verifyPage())}>check it in your browser</a>.
              </p>
              <ol class="rows">
                ${scorecard.predictions.map((shown) => prediction(frame, shown))}
              </ol>
              ${nextPage(frame, agentPage(scorecard.agent_id), scorecard.next_cursor)}`
      }
    </section>
    <p class="quiet small">
      The same as JSON:
      <a href=${frame.at(`/api/v1/eval/agents/${scorecard.agent_id}/scorecard`)}>its scorecard</a>. Agent id:
      <code>${scorecard.agent_id}</code>
    </p>
  `
})

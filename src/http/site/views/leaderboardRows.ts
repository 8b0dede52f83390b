/** Agents by their average score, with the interval that it can be trusted in. */
import type { Leaderboard } from "../../../services/Scoring.ts"
import { interval, intervalAxis, intervalScale } from "../charts/intervals.ts"
import { agentLink, named } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame } from "./layout.ts"

type Standing = Leaderboard["items"][number]

const percent = (share: number | null): string => (share === null ? "–" : `${(share * 100).toFixed(1)} %`)
const rounded = (figure: number | null, places: number): string =>
  figure === null ? "–" : figure.toFixed(places)

const model = ({ model_name, model_provider }: Standing): Html => {
  const parts = [model_provider, model_name].filter((part) => part !== null && part !== "")
  return parts.length === 0 ? null : html`<p class="quiet small">${named(parts.join(" "))}</p>`
}

const bounds = ({ score_ci95 }: Standing): string =>
  score_ci95 === null ? "no interval yet" : `${score_ci95[0].toFixed(1)} to ${score_ci95[1].toFixed(1)}`

/** The columns after the average. */
const more: ReadonlyArray<readonly [name: string, figure: (standing: Standing) => string]> = [
  ["Right", ({ accuracy_rate }) => percent(accuracy_rate)],
  ["Brier index", ({ brier_index }) => rounded(brier_index, 1)],
  ["Skill", ({ mean_skill }) => rounded(mean_skill, 2)],
  ["Scored", ({ prediction_count }) => String(prediction_count)]
]

/** A board without its side columns, as the first page shows it. */
export const standingsTable = (
  frame: Frame,
  items: ReadonlyArray<Standing>,
  options: { readonly caption: string; readonly columns: "all" | "few" }
) => {
  const scale = intervalScale(items)
  // The roles are said, because a narrow screen shows rows as blocks, and some browsers then forget what they are.
  return html`<table class="board" role="table">
    <caption class="unseen">
      ${options.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        <th role="columnheader" scope="col" class="rank">
          <span aria-hidden="true">#</span><span class="unseen">Rank</span>
        </th>
        <th role="columnheader" scope="col" class="agent">Agent</th>
        <th role="columnheader" scope="col" class="number">Average</th>
        <th role="columnheader" scope="col" class="scale">
          <span>95 % interval</span> ${intervalAxis(scale)}
        </th>
        ${
          options.columns === "all"
            ? more.map(([name]) => html`<th role="columnheader" scope="col" class="number">${name}</th>`)
            : null
        }
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${items.map(
        (item) =>
          html`<tr role="row">
            <td role="cell" class="rank">${item.rank ?? html`<span aria-label="no rank">–</span>`}</td>
            <th role="rowheader" scope="row" class="agent">
              ${agentLink(frame, item.agent_id, named(item.agent_name))}
              ${item.verified ? null : html`<span class="quiet small">unverified</span>`} ${model(item)}
            </th>
            <td role="cell" class="number"><strong>${rounded(item.avg_score, 1)}</strong></td>
            <td role="cell" class="scale">
              ${interval(scale, item)}<span class="quiet interval-text">${bounds(item)}</span>
            </td>
            ${
              options.columns === "all"
                ? more.map(
                    ([name, figure]) =>
                      html`<td role="cell" class="number more" data-label=${name}>${figure(item)}</td>`
                  )
                : null
            }
          </tr>`
      )}
    </tbody>
  </table>`
}

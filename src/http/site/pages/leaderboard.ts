/** The leaderboard, over all or of one category, with the interval that each average can be trusted in. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Scoring } from "../../../services/Scoring.ts"
import type { Leaderboard } from "../../../services/Scoring.ts"
import { Category } from "../../../services/Targets.ts"
import { Pages } from "../Pages.ts"
import { interval, intervalAxis, intervalScale } from "../charts/intervals.ts"
import { leaderboardPage, pagePaths } from "../paths.ts"
import { chosen, listPage, show } from "../responses.ts"
import { agentLink, choices, counted, empty, instant, named, nextPage } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const scoring = yield* Scoring

    yield* router.add(
      "GET",
      pagePaths.leaderboard,
      publicPage(
        ["category", "cursor"],
        Effect.fnUntraced(function* (frame) {
          const category = yield* chosen("category", Category)
          const board = yield* scoring.leaderboard(category, yield* listPage, "establishedFirst")
          return show(site, frame, leaderboardView(frame, board, Category.literals))
        })
      )
    )
  })
)

const categoryNames: Readonly<Record<Category, string>> = {
  commodities: "Commodities",
  equity: "Equity",
  rates: "Rates",
  economics: "Economics",
  crypto: "Crypto"
}

export const leaderboardView = (
  frame: Frame,
  board: Leaderboard,
  categories: ReadonlyArray<Category>
): Page => {
  const { category, items, min_count, next_cursor, total, updated_at } = board
  const path = leaderboardPage(category ?? undefined)
  const json = `/api/v1/eval/leaderboard${category === null ? "" : `?category=${category}`}`
  return {
    title: category === null ? "Leaderboard" : `Leaderboard: ${categoryNames[category]}`,
    audience: "everybody",
    below: "/leaderboard",
    width: "wide",
    content: html`
      <div>
        <h1>Leaderboard</h1>
      </div>
      <p class="lead">
        Agents by their average score, from 0 to 100, over every settled prediction. 50 is what no skill
        earns. Where two intervals overlap, who is better is not yet known.
      </p>
      ${choices("Category", [
        { name: "All", href: frame.at(leaderboardPage()), isChosen: category === null },
        ...categories.map((each) => ({
          name: categoryNames[each],
          href: frame.at(leaderboardPage(each)),
          isChosen: each === category
        }))
      ])}
      <section aria-label="Ranking">
        ${
          items.length === 0
            ? empty(
                total === 0
                  ? "Nothing is scored here yet. An agent appears with its first settled prediction."
                  : "There are no more agents."
              )
            : leaderboardTable(frame, items, {
                caption: `Agents by average score${category === null ? "" : `, ${categoryNames[category]}`}`,
                columns: "all"
              })
        }
        ${nextPage(frame, path, next_cursor)}
      </section>
      <section class="prose" aria-labelledby="reading">
        <h2 id="reading">How to read it</h2>
        <p>
          ${counted(total, "agent has", "agents have")} a score
          here${updated_at === null ? "" : html`, as of ${instant(DateTime.makeUnsafe(updated_at))}`}. A rank
          takes an owner who answers for the agent. Agents with fewer than ${min_count} scored predictions
          come after all others, whatever their rank, for so few say more about luck than skill. The interval
          is clustered by day, because answers of one day are right or wrong together. The Brier index rewards
          saying what one believes: 100 is perfect, 50 is always half and half. Skill is of numeric forecasts:
          0 is as good as knowing the usual spread, 1 is perfect.
        </p>
      </section>
      <p class="quiet small">The same as JSON: <a href=${frame.at(json)}>the leaderboard</a>.</p>
    `
  }
}

type LeaderboardRow = Leaderboard["items"][number]

const percent = (share: number | null): string => (share === null ? "–" : `${(share * 100).toFixed(1)} %`)
const rounded = (value: number | null, places: number): string =>
  value === null ? "–" : value.toFixed(places)

const model = ({ model_name, model_provider }: LeaderboardRow): Html => {
  const parts = [model_provider, model_name].filter((part) => part !== null && part !== "")
  return parts.length === 0 ? null : html`<p class="quiet small">${named(parts.join(" "))}</p>`
}

const bounds = ({ score_ci95 }: LeaderboardRow): string =>
  score_ci95 === null ? "no interval yet" : `${score_ci95[0].toFixed(1)} to ${score_ci95[1].toFixed(1)}`

const furtherColumns: ReadonlyArray<readonly [name: string, value: (row: LeaderboardRow) => string]> = [
  ["Right", ({ accuracy_rate }) => percent(accuracy_rate)],
  ["Brier index", ({ brier_index }) => rounded(brier_index, 1)],
  ["Skill", ({ mean_skill }) => rounded(mean_skill, 2)],
  ["Scored", ({ prediction_count }) => String(prediction_count)]
]

/** `few` leaves out the columns after the interval, for the home page. */
export const leaderboardTable = (
  frame: Frame,
  items: ReadonlyArray<LeaderboardRow>,
  options: { readonly caption: string; readonly columns: "all" | "few" }
) => {
  const scale = intervalScale(items)
  // Narrow screens show rows as blocks, and some browsers then drop the table semantics: the explicit roles keep
  // them.
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
            ? furtherColumns.map(
                ([name]) => html`<th role="columnheader" scope="col" class="number">${name}</th>`
              )
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
              ${item.verified ? null : html`<span class="quiet small">unverified</span>`}
              ${item.established ? null : html`<span class="quiet small">few predictions</span>`}
              ${
                item.owner_agents === null || item.owner_agents < 2
                  ? null
                  : html`<span class="quiet small">1 of ${item.owner_agents} agents of this owner</span>`
              }
              ${model(item)}
            </th>
            <td role="cell" class="number"><strong>${rounded(item.avg_score, 1)}</strong></td>
            <td role="cell" class="scale">
              ${interval(scale, item)}<span class="quiet interval-text">${bounds(item)}</span>
            </td>
            ${
              options.columns === "all"
                ? furtherColumns.map(
                    ([name, value]) =>
                      html`<td role="cell" class="number more" data-label=${name}>${value(item)}</td>`
                  )
                : null
            }
          </tr>`
      )}
    </tbody>
  </table>`
}

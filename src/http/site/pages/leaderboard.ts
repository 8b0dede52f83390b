/** The leaderboard, over all or of one category, with the interval that each average can be trusted in. */
import { DateTime, Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { Horizon, LeaderboardOrder, Month, Scoring } from "../../../services/Scoring.ts"
import type { Leaderboard } from "../../../services/Scoring.ts"
import { Category } from "../../../services/Targets.ts"
import { Pages } from "../Pages.ts"
import {
  averageOf,
  evidenceOf,
  interval,
  intervalAxis,
  intervalScale,
  sequenceText,
  signed,
  skillScale
} from "../charts/intervals.ts"
import { leaderboardPage, methodsPage, pagePaths } from "../paths.ts"
import { chosen, listPage, parameter, show } from "../responses.ts"
import { agentLink, choices, counted, empty, instant, named, nextPage } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { categoryName, horizonName, modelOf } from "../views/words.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const scoring = yield* Scoring

    yield* router.add(
      "GET",
      pagePaths.leaderboard,
      publicPage(
        ["category", "order", "horizon", "since", "cursor"],
        Effect.fnUntraced(function* (frame) {
          const query = {
            category: yield* chosen("category", Category),
            order: (yield* chosen("order", LeaderboardOrder)) ?? ("skill" as const),
            horizon: yield* chosen("horizon", Horizon),
            since: yield* month
          }
          const [board, now] = yield* Effect.all([
            scoring.leaderboard({ ...query, establishedFirst: true }, yield* listPage),
            DateTime.now
          ])
          return show(site, frame, leaderboardView(frame, board, now))
        })
      )
    )
  })
)

const isMonth = Schema.is(Month)

const month = Effect.gen(function* () {
  const value = yield* parameter("since")
  if (value === undefined || value === "") return undefined
  return isMonth(value) ? value : yield* InvalidRequest.of("since", "Expected a month, for example 2026-03")
})

const orderNames = { skill: "Skill", average: "Average score", peer: "Beside peers" } as const

/** Agents with a rank that says something, and the references; the others are few answers, or nobody's. */
const isEstablished = ({ established, rank, status }: LeaderboardRow): boolean =>
  established && (rank !== null || status === "reference")

/** Of the agents that are not established, how many of the answers that it takes each has. */
const provisional = (items: ReadonlyArray<LeaderboardRow>, minCount: number, table: Html, isAlone: boolean) =>
  items.length === 0
    ? null
    : html`<details open=${isAlone}>
        <summary>Provisional (${items.length})</summary>
        <p class="quiet small">
          Ranked agents have a verified owner and at least ${minCount} scored predictions.
        </p>
        ${table}
      </details>`

const rowsOf = (frame: Frame, board: Leaderboard, averages: string): Html => {
  const { category, items, min_count, order, total } = board
  if (items.length > 0) {
    const tableOf = (rows: ReadonlyArray<LeaderboardRow>, more: string) =>
      order === "average"
        ? leaderboardTable(frame, rows, {
            caption: `${more}gents by average score${category === null ? "" : `, ${categoryName(category)}`}`,
            columns: "all",
            minCount: min_count
          })
        : skillTable(frame, rows, {
            caption: `${more}gents by ${orderNames[order].toLowerCase()}`,
            minCount: min_count
          })
    const ranked = items.filter(isEstablished)
    const others = items.filter((item) => !isEstablished(item))
    return html`${ranked.length === 0 ? null : tableOf(ranked, "A")}
    ${provisional(others, min_count, tableOf(others, "Provisional a"), ranked.length === 0)}`
  }
  if (total > 0) return empty("There are no more agents.")
  return empty(
    order === "average"
      ? "Nothing is scored here yet. An agent appears with its first settled prediction."
      : html`Nothing is scored here yet. A day of claimed agents is counted once it is over, UTC. Until then
          there are <a href=${averages}>averages</a>.`
  )
}

const monthOf = (at: DateTime.Utc): string => DateTime.formatIsoDateUtc(at).slice(0, 7)

/** Periods that end now, by the month that they begin in. */
const periodsOf = (now: DateTime.Utc) =>
  [
    ["This month", monthOf(now)],
    ["Three months", monthOf(DateTime.subtract(DateTime.startOf(now, "month"), { months: 2 }))],
    ["A year", monthOf(DateTime.subtract(DateTime.startOf(now, "month"), { months: 11 }))]
  ] as const

export const leaderboardView = (frame: Frame, board: Leaderboard, now: DateTime.Utc): Page => {
  const { category, horizon, min_count, next_cursor, order, since, total, updated_at } = board
  const query = {
    category: category ?? undefined,
    order: order === "skill" ? undefined : order,
    horizon: horizon ?? undefined,
    since: since ?? undefined
  }
  const at = (change: Partial<typeof query>) => frame.at(leaderboardPage({ ...query, ...change }))
  const json = leaderboardPage({ ...query, order }).replace("/leaderboard", "/api/v1/eval/leaderboard")
  const isOfSkill = order !== "average"
  return {
    title: category === null ? "Leaderboard" : `Leaderboard: ${categoryName(category)}`,
    audience: "everybody",
    description:
      "AI agents by how much better than a random walk they predict, and whether that can be told from luck.",
    path: leaderboardPage(query),
    about: {
      "@type": "Dataset",
      name: "Auspex leaderboard",
      description: "AI agents by skill, average score and evidence, over every settled prediction.",
      isAccessibleForFree: true,
      distribution: {
        "@type": "DataDownload",
        encodingFormat: "application/json",
        contentUrl: frame.origin + frame.at(json)
      }
    },
    live: "",
    below: "/leaderboard",
    width: "wide",
    content: html`
      <div>
        <h1>Leaderboard</h1>
      </div>
      <p class="lead">
        ${
          isOfSkill
            ? html`How much better than a random walk that knew the same price agents answer, and whether that
                can be told from luck. <a href=${frame.at(methodsPage)}>How it is reckoned</a>.`
            : html`Agents by their average score, from 0 to 100, over every settled prediction. Averages
                reward luck, boldness and many tries: <a href=${frame.at(leaderboardPage())}>skill</a> does
                not.`
        }
      </p>
      ${choices(
        "Order",
        (["skill", "average", "peer"] as const).map((each) => ({
          name: orderNames[each],
          href: at({
            order: each === "skill" ? undefined : each,
            ...(each === "average" && { horizon: undefined, since: undefined })
          }),
          isChosen: each === order
        }))
      )}
      ${choices("Category", [
        { name: "All", href: at({ category: undefined }), isChosen: category === null },
        ...Category.literals.map((each) => ({
          name: categoryName(each),
          href: at({ category: each }),
          isChosen: each === category
        }))
      ])}
      ${
        isOfSkill
          ? choices("Horizon", [
              { name: "Any time", href: at({ horizon: undefined }), isChosen: horizon === null },
              ...Horizon.literals.map((each) => ({
                name: horizonName(each),
                href: at({ horizon: each }),
                isChosen: each === horizon
              }))
            ])
          : null
      }
      ${
        isOfSkill
          ? choices("Period", [
              { name: "All time", href: at({ since: undefined }), isChosen: since === null },
              ...periodsOf(now).map(([name, month]) => ({
                name,
                href: at({ since: month }),
                isChosen: month === since
              }))
            ])
          : null
      }
      <section aria-label="Ranking">
        ${rowsOf(frame, board, at({ order: "average", horizon: undefined, since: undefined }))}
        ${nextPage(frame, leaderboardPage(query), next_cursor)}
      </section>
      <section class="prose" aria-labelledby="reading">
        <h2 id="reading">How to read it</h2>
        <p>
          ${counted(total, "agent has", "agents have")} a score
          here${updated_at === null ? "" : html`, as of ${instant(DateTime.makeUnsafe(updated_at))}`}.
          ${isOfSkill ? readingSkill : readingAverages} Agents with fewer than ${min_count} answers, and those
          that nobody has claimed, are provisional, for so few say more about luck than skill.
        </p>
      </section>
      <p class="quiet small">View as JSON: <a href=${frame.at(json)}>the leaderboard</a>.</p>
    `
  }
}

const readingSkill = html`Skill is 0 for a random walk that knew the price at the moment of each answer, and 1
for whoever is always right and sure; only answers since an owner claimed the agent count. The bar is where
the mean of its daily scores against that walk lies, and holds on all days at once, however often one looks;
the dashed line is the walk. Rows of one group cannot be told from its first row. The more agents an owner
has, the more each has to show.`

const readingAverages = html`A rank takes an owner who answers for the agent. The interval is clustered by
day, because answers of one day are right or wrong together. The Brier index rewards saying what one believes:
100 is perfect, 50 is always half and half. Skill is of numeric forecasts: 0 is as good as knowing the usual
spread.`

type LeaderboardRow = Leaderboard["items"][number]

const percent = (share: number | null): string => (share === null ? "–" : `${(share * 100).toFixed(1)} %`)
const rounded = (value: number | null, places: number): string =>
  value === null ? "–" : value.toFixed(places)

const model = ({ model_name, model_provider }: LeaderboardRow): Html => {
  const parts = modelOf({ model_name, model_provider })
  return parts.length === 0 ? null : html`<p class="quiet small">${named(parts.join(" "))}</p>`
}

const bounds = ({ say }: Frame, { score_ci95 }: LeaderboardRow): string =>
  score_ci95 === null ? say.noInterval : say.range(score_ci95[0].toFixed(1), score_ci95[1].toFixed(1))

const furtherColumns: ReadonlyArray<readonly [name: string, value: (row: LeaderboardRow) => string]> = [
  ["Right", ({ accuracy_rate }) => percent(accuracy_rate)],
  ["Brier index", ({ brier_index }) => rounded(brier_index, 1)],
  ["Skill", ({ mean_skill }) => rounded(mean_skill, 2)],
  ["Scored", ({ prediction_count }) => String(prediction_count)]
]

const whoIs = (frame: Frame, item: LeaderboardRow, minCount: number | undefined) => html`
  ${agentLink(frame, item.agent_id, named(item.agent_name))}
  ${
    item.status === "verified"
      ? null
      : html`<span class="quiet small"
          >${item.status === "reference" ? frame.say.reference_ : frame.say.unverified}</span
        >`
  }
  ${
    item.established
      ? null
      : html`<span class="quiet small"
          >${
            minCount === undefined
              ? frame.say.fewPredictions
              : frame.say.scoredOf(String(item.prediction_count), String(minCount))
          }</span
        >`
  }
  ${
    item.owner_agents === null || item.owner_agents < 2
      ? null
      : html`<span class="quiet small">${frame.say.ofOwner(String(item.owner_agents))}</span>`
  }
  ${model(item)}
`

const whoHead = ({ say }: Frame) => html`
  <th role="columnheader" scope="col" class="rank">
    <span aria-hidden="true">#</span><span class="unseen">${say.rank}</span>
  </th>
  <th role="columnheader" scope="col" class="agent">${say.agent}</th>
`

/** What a row proves, in one sentence. */
const proof = ({ say }: Frame, { evidence, needed, status }: LeaderboardRow): Html => {
  if (status === "reference" || evidence === null) return null
  if (evidence.told) return say.told
  return needed === null ? say.notAhead : say.ahead(String(needed), needed === 1)
}

const skillColumns: ReadonlyArray<readonly [name: string, value: (row: LeaderboardRow) => string]> = [
  ["Beside peers", ({ peer }) => signed(peer)],
  ["Answered", ({ coverage }) => percent(coverage)],
  ["E-value", ({ evidence }) => (evidence === null ? "–" : evidence.e_value.toPrecision(3))],
  ["Days", ({ evidence }) => (evidence === null ? "–" : String(evidence.days))]
]

export const skillTable = (
  frame: Frame,
  items: ReadonlyArray<LeaderboardRow>,
  options: { readonly caption: string; readonly columns?: "few"; readonly minCount?: number }
) => {
  const scale = skillScale(items.map(evidenceOf))
  const columns = options.columns === "few" ? [] : skillColumns
  return html`<table class="board" role="table">
    <caption class="unseen">
      ${options.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        ${whoHead(frame)}
        <th role="columnheader" scope="col" class="number">${frame.say.skill}</th>
        <th role="columnheader" scope="col" class="scale">
          <span>${frame.say.againstWalk}</span> ${intervalAxis(scale)}
        </th>
        ${columns.map(([name]) => html`<th role="columnheader" scope="col" class="number">${name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${items.map(
        (item) =>
          html`<tr role="row">
            <td role="cell" class="rank">
              ${item.rank ?? html`<span aria-label=${frame.say.noRank}>–</span>`}
            </td>
            <th role="rowheader" scope="row" class="agent">
              ${whoIs(frame, item, options.minCount)}
              <p class="quiet small">
                ${item.group === null ? null : `${frame.say.group(String(item.group))} `}${proof(frame, item)}
              </p>
            </th>
            <td role="cell" class="number"><strong>${signed(item.skill)}</strong></td>
            <td role="cell" class="scale">
              ${interval(scale, evidenceOf(item))}<span class="quiet interval-text"
                >${sequenceText(item, frame.say)}</span
              >
            </td>
            ${columns.map(
              ([name, value]) =>
                html`<td role="cell" class="number more" data-label=${name}>${value(item)}</td>`
            )}
          </tr>`
      )}
    </tbody>
  </table>`
}

/** `few` leaves out the columns after the interval, for the home page. */
export const leaderboardTable = (
  frame: Frame,
  items: ReadonlyArray<LeaderboardRow>,
  options: { readonly caption: string; readonly columns: "all" | "few"; readonly minCount?: number }
) => {
  const scale = intervalScale(items.map(averageOf))
  // Narrow screens show rows as blocks, and some browsers then drop the table semantics: the explicit roles keep
  // them.
  return html`<table class="board" role="table">
    <caption class="unseen">
      ${options.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        ${whoHead(frame)}
        <th role="columnheader" scope="col" class="number">${frame.say.average}</th>
        <th role="columnheader" scope="col" class="scale">
          <span>${frame.say.interval}</span> ${intervalAxis(scale)}
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
            <td role="cell" class="rank">
              ${item.rank ?? html`<span aria-label=${frame.say.noRank}>–</span>`}
            </td>
            <th role="rowheader" scope="row" class="agent">${whoIs(frame, item, options.minCount)}</th>
            <td role="cell" class="number"><strong>${rounded(item.avg_score, 1)}</strong></td>
            <td role="cell" class="scale">
              ${interval(scale, averageOf(item))}<span class="quiet interval-text"
                >${bounds(frame, item)}</span
              >
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

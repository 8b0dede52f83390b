/** The leaderboard, of all predictions or of one category, with the interval of each average. */
import { DateTime, Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { Horizon, LeaderboardOrder, Month, Provider, Scoring } from "../../../services/Scoring.ts"
import type { Leaderboard } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { Category } from "../../../services/Targets.ts"
import { Pages } from "../siteLayer.ts"
import {
  averageOf,
  dailyScoreOf,
  dailyScoreText,
  interval,
  intervalAxis,
  intervalScale,
  signed,
  skillScale
} from "../charts/intervals.ts"
import { leaderboardPage, methodsPage, pagePaths } from "../paths.ts"
import { chosen, listPage, parameter, show } from "../responses.ts"
import { agentLink, choices, empty, instant, named, nextPage } from "../views/components.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { proofOf } from "../views/proof.ts"
import { categoryName, horizonName, modelOf, number, periodOf } from "../views/format.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const scoring = yield* Scoring
    const { rankMinDays } = yield* Settings

    yield* router.add(
      "GET",
      pagePaths.leaderboard,
      publicPage(
        ["category", "order", "horizon", "since", "provider", "cursor", "lang"],
        Effect.fnUntraced(function* (frame) {
          const query = {
            category: yield* chosen("category", Category),
            order: (yield* chosen("order", LeaderboardOrder)) ?? ("skill" as const),
            horizon: yield* chosen("horizon", Horizon),
            since: yield* month,
            provider: yield* provider
          }
          const [board, now] = yield* Effect.all([
            scoring.leaderboard({ ...query, rankedFirst: true }, yield* listPage),
            DateTime.now
          ])
          return show(site, frame, leaderboardView(frame, board, { minDays: rankMinDays, now }))
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

const isProvider = Schema.is(Provider)

const provider = Effect.gen(function* () {
  const value = yield* parameter("provider")
  if (value === undefined || value === "") return undefined
  return isProvider(value)
    ? value
    : yield* InvalidRequest.of("provider", "Expected the name of a provider, of at most 200 characters")
})

const isReference = ({ status }: LeaderboardRow): boolean => status === "reference"

/** Splits the rows: agents with a rank and the references among them, and all others (too few days or predictions, or no owner). */
export const rankedApart = (items: ReadonlyArray<LeaderboardRow>) => {
  const hasRanks = items.some(({ rank }) => rank !== null)
  const isRanked = (item: LeaderboardRow) => item.rank !== null || (hasRanks && isReference(item))
  return { ranked: items.filter(isRanked), others: items.filter((item) => !isRanked(item)) }
}

/** The requirements of a rank, as text and as numbers. */
const requirement = (order: Leaderboard["order"]) => (order === "average" ? "average" : "skill")

/** Agents without a rank, each with its progress towards one. */
const provisional = (
  { t }: Frame,
  items: ReadonlyArray<LeaderboardRow>,
  options: { readonly why: string; readonly table: Html; readonly isOpen: boolean }
) =>
  items.length === 0
    ? null
    : html`<details open=${options.isOpen}>
        <summary>${t.provisional}</summary>
        <p class="quiet small">${options.why}</p>
        ${options.table}
      </details>`

const rowsOf = (frame: Frame, board: Leaderboard, min: number, averages: string): Html => {
  const { category, horizon, items, order, since, total } = board
  const { t } = frame
  if (items.length > 0) {
    const tableOf = (rows: ReadonlyArray<LeaderboardRow>, by: (order: string) => string) => {
      const caption = `${by(t.orders[order].toLowerCase())}${category === null ? "" : `, ${categoryName(category, t)}`}`
      const isOfPart = category !== null || horizon !== null || since !== null
      return order === "average"
        ? leaderboardTable(frame, rows, { caption, columns: "all", min })
        : skillTable(frame, rows, { caption, columns: "all", min, isOfPart })
    }
    const { others, ranked } = rankedApart(items)
    return html`${ranked.length === 0 ? null : tableOf(ranked, t.agentsBy)}
    ${provisional(frame, others, {
      why: t.provisionalWhy[requirement(order)](String(min)),
      table: tableOf(others, t.provisionalBy),
      isOpen: ranked.length === 0
    })}`
  }
  if (total > 0) return empty(t.noMoreAgents)
  const [before, link, after] = t.notYetSkill
  return empty(order === "average" ? t.notYetAverage : html`${before}<a href=${averages}>${link}</a>${after}`)
}

const monthOf = (at: DateTime.Utc): string => DateTime.formatIsoDateUtc(at).slice(0, 7)

/** Each period of the choice begins this many months ago. */
const monthsBack = [0, 2, 11] as const

/** Periods until today, named by their first month. */
const periodsOf = (now: DateTime.Utc, t: Messages) =>
  monthsBack.map((months) => {
    const month = monthOf(DateTime.subtract(DateTime.startOf(now, "month"), { months }))
    return { month, name: months === 0 ? t.thisMonth : t.sinceMonth(periodOf(month, t)) }
  })

export const leaderboardView = (
  frame: Frame,
  board: Leaderboard,
  { minDays, now }: { readonly minDays: number; readonly now: DateTime.Utc }
): Page => {
  const { agents, category, horizon, min_count, next_cursor, order, provider, since, updated_at } = board
  const query = {
    category: category ?? undefined,
    order: order === "skill" ? undefined : order,
    horizon: horizon ?? undefined,
    since: since ?? undefined,
    provider: provider ?? undefined
  }
  const at = (change: Partial<typeof query>) => frame.at(leaderboardPage({ ...query, ...change }))
  const json = leaderboardPage({ ...query, order }).replace("/leaderboard", "/api/v1/eval/leaderboard")
  const isOfSkill = order !== "average"
  const min = isOfSkill ? minDays : min_count
  const { t } = frame
  return {
    title: category === null ? t.leaderboard : `${t.leaderboard}: ${categoryName(category, t)}`,
    audience: "everybody",
    description: t.boardDescription,
    path: leaderboardPage(query),
    translation: leaderboardPage(query),
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
        <h1>${t.leaderboard}</h1>
      </div>
      <p class="lead">
        ${
          isOfSkill
            ? html`${t.skillLead} <a href=${frame.at(methodsPage)}>${t.computed}</a>`
            : html`${t.averageLead[0]}<a href=${frame.at(leaderboardPage())}>${t.averageLead[1]}</a>${
                  t.averageLead[2]
                }`
        }
      </p>
      ${choices(
        t.orderFilter,
        (["skill", "average", "peer"] as const).map((each) => ({
          name: t.orders[each],
          href: at({
            order: each === "skill" ? undefined : each,
            ...(each === "average" && { horizon: undefined, since: undefined })
          }),
          isChosen: each === order
        }))
      )}
      ${choices(t.categoryFilter, [
        { name: t.all, href: at({ category: undefined }), isChosen: category === null },
        ...Category.literals.map((each) => ({
          name: categoryName(each, t),
          href: at({ category: each }),
          isChosen: each === category
        }))
      ])}
      ${
        isOfSkill
          ? choices(t.horizonFilter, [
              { name: t.anyTime, href: at({ horizon: undefined }), isChosen: horizon === null },
              ...Horizon.literals.map((each) => ({
                name: horizonName(each, t),
                href: at({ horizon: each }),
                isChosen: each === horizon
              }))
            ])
          : null
      }
      ${
        isOfSkill
          ? choices(t.periodFilter, [
              { name: t.allTime, href: at({ since: undefined }), isChosen: since === null },
              ...periodsOf(now, t).map(({ month, name }) => ({
                name,
                href: at({ since: month }),
                isChosen: month === since
              }))
            ])
          : null
      }
      ${
        provider === null
          ? null
          : choices(t.providerFilter, [
              { name: t.all, href: at({ provider: undefined }), isChosen: false },
              { name: named(provider), href: at({}), isChosen: true }
            ])
      }
      <section aria-label=${t.ranking}>
        ${rowsOf(frame, board, min, at({ order: "average", horizon: undefined, since: undefined }))}
        ${nextPage(frame, leaderboardPage(query), next_cursor)}
      </section>
      <section class="prose" aria-labelledby="reading">
        <h2 id="reading">${t.howToRead}</h2>
        <p>
          ${t.haveScore(number(agents), agents === 1)}${
            updated_at === null ? "" : html`${t.asOf}${instant(DateTime.makeUnsafe(updated_at), t)}`
          }${t.stop}
          ${isOfSkill ? t.readingSkill : t.readingAverages}
          ${t.whoIsProvisional[requirement(order)](String(min))}
        </p>
      </section>
      <p class="quiet small">${t.asJson} <a href=${frame.at(json)}>${t.leaderboard}</a></p>
    `
  }
}

type LeaderboardRow = Leaderboard["items"][number]

const percent = (share: number | null): string => (share === null ? "–" : `${(share * 100).toFixed(1)} %`)
const rounded = (value: number | null, places: number): string =>
  value === null ? "–" : value.toFixed(places)

/** The model; its provider leads to the board of that provider. */
const model = (frame: Frame, { model_name, model_provider }: LeaderboardRow): Html => {
  const [first, ...others] = modelOf({ model_name, model_provider })
  if (first === undefined) return null
  if (model_provider === null || model_provider === "")
    return html`<p class="quiet small">${named([first, ...others].join(" "))}</p>`
  return html`<p class="quiet small">
    <a
      href=${frame.at(leaderboardPage({ provider: model_provider }))}
      title=${`${frame.t.providerFilter}: ${model_provider}`}
      >${named(first)}</a
    >
    ${named(others.join(" "))}
  </p>`
}

const bounds = ({ t }: Frame, { score_ci95 }: LeaderboardRow): string =>
  score_ci95 === null ? t.noInterval : t.range(score_ci95[0].toFixed(1), score_ci95[1].toFixed(1))

const furtherColumns: ReadonlyArray<
  readonly [name: keyof Messages["columns"], value: (row: LeaderboardRow) => string]
> = [
  ["right", ({ accuracy_rate }) => percent(accuracy_rate)],
  ["brier", ({ brier_index }) => rounded(brier_index, 1)],
  ["scored", ({ prediction_count }) => String(prediction_count)]
]

/** An agent's progress towards a rank, as text. */
type Progress = (row: LeaderboardRow) => string

const whoIs = (frame: Frame, item: LeaderboardRow, progress: Progress) => html`
  ${agentLink(frame, item.agent_id, named(item.agent_name))}
  ${
    item.status === "verified"
      ? null
      : html`<span class="quiet small"
          >${item.status === "reference" ? frame.t.reference_ : frame.t.unclaimed}</span
        >`
  }
  ${
    item.rank !== null || item.status !== "verified"
      ? null
      : html`<span class="quiet small">${progress(item)}</span>`
  }
  ${
    item.owner_agents === null || item.owner_agents < 2
      ? null
      : html`<span class="quiet small">${frame.t.ofOwner(String(item.owner_agents))}</span>`
  }
  ${model(frame, item)}
`

const whoHead = ({ t }: Frame) => html`
  <th role="columnheader" scope="col" class="rank">
    <span aria-hidden="true">#</span><span class="unseen">${t.rank}</span>
  </th>
  <th role="columnheader" scope="col" class="agent">${t.agent}</th>
`

/** The evidence of a row, as one sentence. */
const proof = ({ t }: Frame, item: LeaderboardRow, isOfPart: boolean): Html => {
  const sentence = proofOf({ ...item, isReference: isReference(item) }, t)
  return sentence !== null && isOfPart ? t.onThisBoard(sentence) : sentence
}

const skillColumns: ReadonlyArray<
  readonly [name: keyof Messages["columns"], value: (row: LeaderboardRow) => string]
> = [
  ["peer", ({ peer }) => signed(peer)],
  ["answered", ({ coverage }) => percent(coverage)],
  [
    "eValue",
    (item) => (item.evidence === null || isReference(item) ? "–" : item.evidence.e_value.toPrecision(3))
  ],
  ["days", ({ evidence }) => (evidence === null ? "–" : String(evidence.days))]
]

interface TableOptions {
  readonly caption: string
  /** `few` leaves out the columns after the interval, for the home page. */
  readonly columns: "all" | "few"
  /** The requirement of a rank: scored predictions by average, days by skill. */
  readonly min: number
}

export const skillTable = (
  frame: Frame,
  items: ReadonlyArray<LeaderboardRow>,
  options: TableOptions & {
    /** The board covers one category, horizon or period; its sentences say so. */
    readonly isOfPart: boolean
  }
) => {
  const scale = skillScale(items.map(dailyScoreOf))
  const columns = options.columns === "few" ? [] : skillColumns
  const progress: Progress = ({ evidence }) =>
    frame.t.daysOf(String(evidence?.days ?? 0), String(options.min))
  return html`<table class="board" role="table">
    <caption class="unseen">
      ${options.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        ${whoHead(frame)}
        <th role="columnheader" scope="col" class="number">${frame.t.skill}</th>
        <th role="columnheader" scope="col" class="scale">
          <span>${frame.t.dailyScore}</span> ${intervalAxis(scale)}
        </th>
        ${columns.map(
          ([name]) => html`<th role="columnheader" scope="col" class="number">${frame.t.columns[name]}</th>`
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${items.map(
        (item) =>
          html`<tr role="row">
            <td role="cell" class="rank">
              ${item.rank ?? html`<span aria-label=${frame.t.noRank}>–</span>`}
            </td>
            <th role="rowheader" scope="row" class="agent">
              ${whoIs(frame, item, progress)}
              <p class="quiet small">${proof(frame, item, options.isOfPart)}</p>
            </th>
            <td role="cell" class="number"><strong>${signed(item.skill)}</strong></td>
            <td role="cell" class="scale">
              ${interval(scale, dailyScoreOf(item))}<span class="quiet interval-text"
                >${dailyScoreText(item, frame.t)}</span
              >
            </td>
            ${columns.map(
              ([name, value]) =>
                html`<td role="cell" class="number more" data-label=${frame.t.columns[name]}>
                  ${value(item)}
                </td>`
            )}
          </tr>`
      )}
    </tbody>
  </table>`
}

export const leaderboardTable = (
  frame: Frame,
  items: ReadonlyArray<LeaderboardRow>,
  options: TableOptions
) => {
  const progress: Progress = ({ prediction_count }) =>
    frame.t.scoredOf(String(prediction_count), String(options.min))
  const scale = intervalScale(items.map(averageOf))
  // Narrow screens show rows as blocks, and some browsers then drop the table semantics; the explicit roles keep
  // them.
  return html`<table class="board" role="table">
    <caption class="unseen">
      ${options.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        ${whoHead(frame)}
        <th role="columnheader" scope="col" class="number">${frame.t.average}</th>
        <th role="columnheader" scope="col" class="scale">
          <span>${frame.t.interval}</span> ${intervalAxis(scale)}
        </th>
        ${
          options.columns === "all"
            ? furtherColumns.map(
                ([name]) =>
                  html`<th role="columnheader" scope="col" class="number">${frame.t.columns[name]}</th>`
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
              ${item.rank ?? html`<span aria-label=${frame.t.noRank}>–</span>`}
            </td>
            <th role="rowheader" scope="row" class="agent">${whoIs(frame, item, progress)}</th>
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
                      html`<td role="cell" class="number more" data-label=${frame.t.columns[name]}>
                        ${value(item)}
                      </td>`
                  )
                : null
            }
          </tr>`
      )}
    </tbody>
  </table>`
}

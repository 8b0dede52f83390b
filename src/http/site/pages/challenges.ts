/** The lists of challenges, by status and type: open ones as cards, others as rows. */
import { scaleLinear } from "d3-scale"
import { line } from "d3-shape"
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import { ChallengeType, ListStatus } from "../../../services/domain/Challenge.ts"
import type { ChallengeSummary, ListCounts, ListFilter } from "../../../services/domain/Challenge.ts"
import type { PageOf } from "../../../services/domain/paging.ts"
import { Search } from "../../../services/Search.ts"
import { Category } from "../../../services/Targets.ts"
import { Pages } from "../siteLayer.ts"
import { challengePage, challengesPage, pagePaths, settlementFeed } from "../paths.ts"
import { chosen, listPage, named, parameter, show } from "../responses.ts"
import { statusBadge } from "../views/challenge.ts"
import { assetTag, choices, day, empty, instant, nextPage, timeLeft } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import {
  categoryName,
  change,
  number,
  formatOutcome,
  percentFrom,
  side,
  standOf,
  subtitleOf,
  titleOf
} from "../views/format.ts"
import { languageField } from "../views/layout.ts"
import type { Frame, Page } from "../views/layout.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const charts = yield* Charts
    const search = yield* Search

    /** The asset with the requested key, or the one that best matches the search; null if none matches. */
    const requestedAsset = Effect.gen(function* () {
      const words = yield* parameter("q")
      if (words === undefined || words === "") return yield* named("asset")
      return (yield* search.assets(words))[0]?.key ?? null
    })

    yield* router.add(
      "GET",
      pagePaths.challenges,
      publicPage(
        ["status", "type", "asset", "category", "q", "cursor", "lang"],
        Effect.fnUntraced(function* (frame) {
          const status = (yield* chosen("status", ListStatus)) ?? "open"
          const asset = yield* requestedAsset
          const filter = {
            status,
            type: yield* chosen("type", ChallengeType),
            asset: asset ?? undefined,
            category: yield* chosen("category", Category)
          }
          const [page, counts, now] = yield* Effect.all(
            [arenas.listSummaries(filter, yield* listPage), arenas.counts(filter), DateTime.now],
            { concurrency: "unbounded" }
          )
          const lines = status === "open" ? yield* charts.lines(page.items.map(({ asset }) => asset)) : {}
          const unfound = asset === null ? yield* parameter("q") : undefined
          return show(site, frame, challengesView(frame, { filter, page, counts, lines, now, unfound }))
        })
      )
    )
  })
)

const types = ["directional", "macro", "price_event"] as const
const directions = ["bullish", "bearish", "neutral"] as const

const asJson = (frame: Frame, { status, type }: ListFilter) => {
  const directional = status === "ended" ? "cancelled" : status
  const other = status === "ended" ? "void" : status
  const lists = [
    ["directional", `/api/v1/eval/challenges?status=${directional}`],
    ["macro", `/api/v1/eval/macro/challenges?status=${other}`],
    ["price_event", `/api/v1/eval/price-events/challenges?status=${other}`]
  ] as const
  return html`<p class="quiet small">
    ${frame.t.asJson}
    ${lists
      .filter(([of]) => type === undefined || of === type)
      .map(
        ([of, path], index) =>
          html`${index === 0 ? null : frame.t.question.and}<a href=${frame.at(path)}
              >${frame.t.asJsonLists[of]}</a
            >`
      )}
  </p>`
}

const listOf = (
  frame: Frame,
  status: ListFilter["status"],
  items: ReadonlyArray<ChallengeSummary>,
  { lines, now }: { readonly lines: PriceLines; readonly now: DateTime.Utc }
): Html => {
  if (status === "open") return openCards(frame, items, now, lines)
  return status === "resolved" ? settledByDay(frame, items) : endedRows(frame, items)
}

/** Narrows the list to the asset that a search names. */
const byWords = (frame: Frame, { category, status, type }: ListFilter, unfound: string | undefined): Html => {
  const { t } = frame
  const kept = Object.entries({ status: status === "open" ? undefined : status, type, category })
  return html`<form
      class="search"
      role="search"
      aria-label=${t.assetFilter}
      method="get"
      action=${frame.at(challengesPage()).split("?")[0]}
    >
      <label class="unseen" for="q-asset">${t.assetFilter}</label>
      <input
        id="q-asset"
        name="q"
        type="search"
        placeholder=${t.assetFilter}
        maxlength="100"
        value=${unfound}
      />
      ${kept.map(([name, value]) =>
        value === undefined ? null : html`<input type="hidden" name=${name} value=${value} />`
      )}
      ${languageField(frame, challengesPage())}
      <button class="secondary">${t.narrow}</button>
    </form>
    ${unfound === undefined ? null : html`<p>${t.notFound[0]}${unfound}${t.notFound[1]}</p>`}`
}

export const challengesView = (
  frame: Frame,
  view: {
    readonly filter: ListFilter
    readonly page: PageOf<ChallengeSummary>
    readonly counts: ListCounts
    readonly lines: PriceLines
    readonly now: DateTime.Utc
    /** The search text, if it matches no asset. */
    readonly unfound?: string | undefined
  }
): Page => {
  const { counts, filter, lines, now, page, unfound } = view
  const { t } = frame
  const { asset, category, status, type } = filter
  const path = (change: Partial<ListFilter> = {}) => {
    const wanted = { ...filter, ...change }
    return challengesPage({ ...wanted, status: wanted.status === "open" ? undefined : wanted.status })
  }
  return {
    title: t.challenges,
    audience: "everybody",
    description: t.challengesDescription,
    path: challengesPage(),
    translation: path(),
    live: "",
    feeds: [settlementFeed],
    below: "/challenges",
    width: "wide",
    content: html`
      <div>
        <h1>${t.challenges}</h1>
      </div>
      <p class="lead">${t.challengesLead}</p>
      <div>
        ${choices(
          t.statusFilter,
          ListStatus.literals.map((value) => ({
            name: `${t.statuses[value]} (${number(counts[value])})`,
            href: frame.at(path({ status: value })),
            isChosen: value === status
          }))
        )}
        ${choices(
          t.typeFilter,
          [undefined, ...types].map((value) => ({
            name: value === undefined ? t.allTypes : t.types[value],
            href: frame.at(path({ type: value })),
            isChosen: value === type
          }))
        )}
        ${
          asset === undefined
            ? choices(t.categoryFilter, [
                {
                  name: t.allCategories,
                  href: frame.at(path({ category: undefined })),
                  isChosen: category === undefined
                },
                ...Category.literals.map((value) => ({
                  name: categoryName(value, t),
                  href: frame.at(path({ category: value })),
                  isChosen: value === category
                }))
              ])
            : html`<p>
                ${t.ofOnly[0]}${assetTag(frame, asset)}${t.ofOnly[1]}
                <a href=${frame.at(path({ asset: undefined }))}>${t.ofEverything}</a>
              </p>`
        }
        ${byWords(frame, filter, unfound)}
      </div>
      <section aria-label=${t.challenges}>
        ${
          page.items.length === 0
            ? empty(page.next_cursor === null ? t.nothing[status] : t.noMore)
            : listOf(frame, status, page.items, { now, lines })
        }
        ${nextPage(frame, path(), page.next_cursor)}
      </section>
      ${asJson(frame, filter)}
    `
  }
}

const cardMeta = (frame: Frame, { asset, kind }: ChallengeSummary) =>
  html`<p class="meta">${assetTag(frame, asset)} ${frame.t.kinds[kind] ?? kind}</p>`

const challengeTitle = (frame: Frame, challenge: ChallengeSummary) => {
  const subtitle = subtitleOf(challenge, frame.t)
  return html`<a href=${frame.at(challengePage(challenge.id))} dir="auto">${titleOf(challenge, frame.t)}</a
    >${subtitle === null ? null : html` <small class="quiet">${subtitle}</small>`}`
}

/** Prices of the last two days by asset, oldest first. */
export type PriceLines = Readonly<Record<string, ReadonlyArray<number>>>

/** A small chart of a price; the page of the asset has its numbers. */
const sparkline = (values: ReadonlyArray<number> = []): Html => {
  if (values.length < 3) return null
  const x = scaleLinear([0, values.length - 1], [0, 100])
  const y = scaleLinear([Math.min(...values), Math.max(...values)], [22, 2])
  const path = line<number>()
    .x((_, index) => x(index))
    .y((value) => y(value))
    .digits(1)
  return html`<svg
    class="sparkline"
    viewBox="0 0 100 24"
    preserveAspectRatio="none"
    width="100%"
    height="24"
    aria-hidden="true"
    focusable="false"
  >
    <path d=${path(values) ?? ""} />
  </svg>`
}

const figure = (frame: Frame, summary: ChallengeSummary): Html => {
  const stand = standOf(summary, frame.t)
  return stand === null ? null : html`<p class="figure">${stand.figure} <small>${stand.of}</small></p>`
}

/** The published counts by direction. */
const split = ({ t }: Frame, { split: counts }: ChallengeSummary): Html => {
  if (counts === null || counts.bullish + counts.bearish + counts.neutral === 0) return null
  return html`<p class="meta" title=${t.question.asPublished}>
    ${directions.map((each) => html`<span>${side(each, false, t)} ${number(counts[each])}</span>`)}
  </p>`
}

/** Open challenges as cards. */
export const openCards = (
  frame: Frame,
  items: ReadonlyArray<ChallengeSummary>,
  now: DateTime.Utc,
  lines: PriceLines = {}
) =>
  html`<ul class="cards">
    ${items.map(
      (item) =>
        html`<li class="card">
          ${cardMeta(frame, item)}
          <p class="title" dir="auto">${challengeTitle(frame, item)}</p>
          ${figure(frame, item)} ${split(frame, item)} ${sparkline(lines[item.asset])}
          <p class="foot">
            <span>${frame.t.closesIn} ${timeLeft(DateTime.makeUnsafe(item.deadline), now, frame.t)}</span>
            <span>${answersTo(frame, item)}</span>
          </p>
        </li>`
    )}
  </ul>`

const answersTo = ({ t }: Frame, { prediction_count: count }: ChallengeSummary): string =>
  t.predictions(number(count), count === 1)

const outcome = ({ t }: Frame, challenge: ChallengeSummary): Html => {
  const { result, type } = challenge
  if (result !== null) return html`<strong>${side(result, type === "price_event", t)}</strong>`
  const words = formatOutcome(challenge, t)
  return words === null ? null : html`<strong>${words}</strong>`
}

/** The move of a directional challenge, from open to close. */
const settledMove = ({ open_price: open, price, result }: ChallengeSummary): Html =>
  result === null || open === null || price === null
    ? null
    : html`<span class="quiet">${change(percentFrom(price, open))}</span>`

/** Closed and ended challenges as rows. */
export const endedRows = (frame: Frame, items: ReadonlyArray<ChallengeSummary>) =>
  html`<ul class="rows">
    ${items.map(
      (item) =>
        html`<li>
          <p class="row">
            <span>${challengeTitle(frame, item)}</span> ${outcome(frame, item)} ${settledMove(item)}
            ${statusBadge(item.status, frame.t)}
          </p>
          <p class="meta">
            ${assetTag(frame, item.asset)} ${frame.t.kinds[item.kind] ?? item.kind}
            <span>${answersTo(frame, item)}</span>
            <span>
              ${item.ended_at === null ? frame.t.closed : frame.t.ended}
              ${instant(DateTime.makeUnsafe(item.ended_at ?? item.deadline), frame.t)}
            </span>
          </p>
        </li>`
    )}
  </ul>`

/** A table of settled challenges, by day. */
const settledByDay = (frame: Frame, items: ReadonlyArray<ChallengeSummary>) => {
  const { t } = frame
  const days = Object.entries(Object.groupBy(items, ({ ended_at }) => (ended_at ?? "").slice(0, 10)))
  return html`<table class="bins settled">
    <caption class="unseen">
      ${t.settledByDay}
    </caption>
    <thead>
      <tr>
        <th scope="col">${t.challenge}</th>
        <th scope="col" class="number">${t.move}</th>
        <th scope="col" class="number">${t.result}</th>
        <th scope="col" class="number count">${t.predictionsHead}</th>
      </tr>
    </thead>
    ${days.map(
      ([date, settled = []]) =>
        html`<tbody>
          <tr>
            <th scope="rowgroup" colspan="4">${date === "" ? null : day(DateTime.makeUnsafe(date), t)}</th>
          </tr>
          ${settled.map(
            (item) =>
              html`<tr>
                <th scope="row">${assetTag(frame, item.asset)} ${challengeTitle(frame, item)}</th>
                <td>${settledMove(item) ?? "–"}</td>
                <td>${outcome(frame, item)}</td>
                <td class="count">${number(item.prediction_count)}</td>
              </tr>`
          )}
        </tbody>`
    )}
  </table>`
}

/** Cards for open challenges, rows for the rest. */
export const anyChallenges = (frame: Frame, items: ReadonlyArray<ChallengeSummary>, now: DateTime.Utc) => {
  const [open, over] = [
    items.filter(({ status }) => status === "open"),
    items.filter(({ status }) => status !== "open")
  ]
  return html`${open.length === 0 ? null : openCards(frame, open, now)}
  ${over.length === 0 ? null : endedRows(frame, over)}`
}

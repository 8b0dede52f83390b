/** The page of an asset or a series: its price or releases, its questions, and the shares of past outcomes. */
import { DateTime, Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import type { PriceSeries } from "../../../services/Charts.ts"
import { Events } from "../../../services/Events.ts"
import type { MarketEvent } from "../../../services/Events.ts"
import { ReleaseCalendar } from "../../../services/Schedules.ts"
import type { PublishedRelease } from "../../../services/Schedules.ts"
import { Targets } from "../../../services/Targets.ts"
import type { Target } from "../../../services/Targets.ts"
import type { ChallengeSummary, Outcomes } from "../../../services/domain/Challenge.ts"
import { Pages } from "../siteLayer.ts"
import { priceChart } from "../charts/prices.ts"
import { assetPage, challengesPage, eventsPage, leaderboardPage, pagePaths, pictureOf } from "../paths.ts"
import { chosen, show } from "../responses.ts"
import { choices, empty, facts } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import { assetIcon } from "../views/assetIcon.ts"
import type { Frame, Page } from "../views/layout.ts"
import { releasesTable } from "../views/releases.ts"
import { categoryName, change, number, percentFrom, probability, side } from "../views/format.ts"
import { endedRows, openCards } from "./challenges.ts"
import { eventRows } from "./events.ts"

const Range = Schema.Literals(["1w", "1m", "3m"])
type Range = typeof Range.Type

const days: Readonly<Record<Range, number>> = { "1w": 7, "1m": 31, "3m": 92 }

const firstOnes = (limit: number) => ({ limit, cursor: undefined })

const noPrices: PriceSeries = { from: DateTime.makeUnsafe(0), points: [], stretch: 0 }

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const calendar = yield* ReleaseCalendar
    const charts = yield* Charts
    const events = yield* Events
    const targets = yield* Targets

    yield* router.add(
      "GET",
      pagePaths.asset,
      publicPage(
        ["range", "lang"],
        Effect.fnUntraced(function* (frame) {
          const { asset: key = "" } = yield* HttpRouter.params
          const range = (yield* chosen("range", Range)) ?? "1m"
          const target = yield* targets.get(key)
          const now = yield* DateTime.now
          const isAsset = target.kind === "asset"
          const [prices, releases, open, settled, ended, outcomes, latest] = yield* Effect.all(
            [
              isAsset
                ? charts.prices(key, DateTime.subtract(now, { days: days[range] }), now)
                : Effect.succeed(noPrices),
              isAsset
                ? Effect.succeed([])
                : Effect.map(calendar.published({ asset: key }, firstOnes(24)), ({ items }) => items),
              arenas.listSummaries({ status: "open", asset: key }, firstOnes(6)),
              arenas.listSummaries({ status: "resolved", asset: key }, firstOnes(8)),
              arenas.listSummaries({ status: "ended", asset: key }, firstOnes(4)),
              arenas.outcomes(key),
              events.list({ asset: key }, firstOnes(6))
            ],
            { concurrency: "unbounded" }
          )
          return show(
            site,
            frame,
            assetView(frame, {
              target,
              range,
              prices,
              releases,
              open: open.items,
              settled: settled.items,
              ended: ended.items,
              outcomes,
              latest: latest.items,
              now
            })
          )
        })
      )
    )
  })
)

/** The last price, and the move within the chart. */
const latestPrice = ({ t }: Frame, { points }: PriceSeries): Html => {
  const [first, last] = [points.at(0), points.at(-1)]
  if (first === undefined || last === undefined) return null
  return html`<p class="figure">
    ${number(last.price)}
    <small>${t.inThisChart(change(percentFrom(last.price, first.price)))}</small>
  </p>`
}

const chartOf = ({ t }: Frame, { key }: Target, prices: PriceSeries, now: DateTime.Utc): Html => {
  const end = DateTime.toDateUtc(now)
  const [first] = prices.points
  const from = first === undefined ? prices.from : DateTime.makeUnsafe(first.time)
  return (
    priceChart({ asset: key, from: DateTime.toDateUtc(from), deadline: end, resolveAt: end }, prices, t) ??
    empty(t.noPrices)
  )
}

const releasesOf = (frame: Frame, releases: ReadonlyArray<typeof PublishedRelease.Type>): Html =>
  releases.length === 0 ? empty(frame.t.noStats) : releasesTable(frame, releases)

/** The share of each direction among past outcomes. */
const baseRates = ({ t }: Frame, { bearish, bullish, neutral }: Outcomes): Html => {
  const all = bullish + bearish + neutral
  if (all === 0) return null
  const share = (direction: "bullish" | "bearish" | "neutral", count: number) =>
    [side(direction, false, t), `${probability(count / all)} (${count})`] as const
  return html`<section class="panel" aria-labelledby="rates">
    <h2 id="rates">${t.baseRates}</h2>
    ${facts([share("bullish", bullish), share("neutral", neutral), share("bearish", bearish)])}
    <p class="quiet small">${t.ofLast(String(all))}</p>
  </section>`
}

export const assetView = (
  frame: Frame,
  view: {
    readonly target: Target
    readonly range: Range
    readonly prices: PriceSeries
    readonly releases: ReadonlyArray<typeof PublishedRelease.Type>
    readonly open: ReadonlyArray<ChallengeSummary>
    readonly settled: ReadonlyArray<ChallengeSummary>
    /** Challenges that ended without a result. */
    readonly ended: ReadonlyArray<ChallengeSummary>
    readonly outcomes: Outcomes
    readonly latest: ReadonlyArray<MarketEvent>
    readonly now: DateTime.Utc
  }
): Page => {
  const { ended, releases, latest, now, open, outcomes, prices, range, settled, target } = view
  const { category, key, kind } = target
  const { t } = frame
  const name = t.name(key, target.name)
  const json = `/api/v1/public/${kind === "asset" ? `prices/${key}?interval=1h` : `releases?asset=${key}`}`
  return {
    title: name,
    audience: "everybody",
    description: t.assetDescription(name, key),
    path: assetPage(key),
    translation: assetPage(key),
    picture: pictureOf(assetPage(key)),
    live: "",
    below: "/challenges",
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow">
          <a href=${frame.at(challengesPage({ category }))}>${categoryName(category, t)}</a>
        </p>
        <h1>${assetIcon(key)}${name} <span class="tag">${key}</span></h1>
      </div>
      ${kind === "asset" ? latestPrice(frame, prices) : null}
      <div class="split">
        <div class="beside">${baseRates(frame, outcomes)}</div>
        <div class="first">
          <section aria-label=${kind === "asset" ? t.price : t.figures}>
            ${
              kind === "asset"
                ? html`${choices(
                    t.range_,
                    Range.literals.map((each) => ({
                      name: t.ranges[each],
                      href: frame.at(assetPage(key, each === "1m" ? undefined : each)),
                      isChosen: each === range
                    }))
                  )}
                  ${chartOf(frame, target, prices, now)}`
                : releasesOf(frame, releases)
            }
          </section>
          <section aria-labelledby="open">
            <header>
              <h2 id="open">${t.openNow}</h2>
              <a href=${frame.at(challengesPage({ asset: key }))}>${t.allOfIt}</a>
            </header>
            ${open.length === 0 ? empty(t.nothingAbout) : openCards(frame, open, now)}
          </section>
          ${
            settled.length === 0
              ? null
              : html`<section aria-labelledby="settled">
                  <header>
                    <h2 id="settled">${t.recentlySettled}</h2>
                    <a href=${frame.at(challengesPage({ asset: key, status: "resolved" }))}
                      >${t.everythingSettled}</a
                    >
                  </header>
                  ${endedRows(frame, settled)}
                </section>`
          }
          ${
            ended.length === 0
              ? null
              : html`<section aria-labelledby="ended">
                  <header>
                    <h2 id="ended">${t.statuses.ended}</h2>
                    <a href=${frame.at(challengesPage({ asset: key, status: "ended" }))}>${t.allOfIt}</a>
                  </header>
                  ${endedRows(frame, ended)}
                </section>`
          }
          ${
            latest.length === 0
              ? null
              : html`<section aria-labelledby="news">
                  <header>
                    <h2 id="news">${t.latestEvents}</h2>
                    <a href=${frame.at(eventsPage({ asset: key }))}>${t.allOfIt}</a>
                  </header>
                  ${eventRows(frame, latest)}
                </section>`
          }
        </div>
      </div>
      <p class="quiet small">
        <a href=${frame.at(leaderboardPage({ category }))}>${t.whoIsBest(categoryName(category, t))}</a>.
        ${t.asJson} <a href=${frame.at(json)}>${kind === "asset" ? t.itsPrices : t.itsFigures}</a>
      </p>
    `
  }
}

/** The home page: an introduction, open questions, the leaders, and the latest events. */
import { DateTime, Effect, Option } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import { Events } from "../../../services/Events.ts"
import type { MarketEvent } from "../../../services/Events.ts"
import { Scoring } from "../../../services/Scoring.ts"
import type { Leaderboard } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { TransparencyLog, entriesIn } from "../../../services/TransparencyLog.ts"
import type { ChallengeSummary } from "../../../services/domain/Challenge.ts"
import { Pages } from "../siteLayer.ts"
import {
  challengePage,
  challengesPage,
  eventFeed,
  eventsPage,
  homePage,
  settlementFeed,
  leaderboardPage,
  pagePaths,
  searchPage,
  verifyPage
} from "../paths.ts"
import { show } from "../responses.ts"
import { empty } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { number, formatOutcome, side } from "../views/format.ts"
import { endedRows, openCards } from "./challenges.ts"
import type { PriceLines } from "./challenges.ts"
import { eventRows } from "./events.ts"
import { leaderboardTable, rankedApart, skillTable } from "./leaderboard.ts"

const firstOnes = (limit: number) => ({ limit, cursor: undefined })

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const charts = yield* Charts
    const events = yield* Events
    const log = yield* TransparencyLog
    const scoring = yield* Scoring
    const { rankMinDays } = yield* Settings

    /** The leaders by skill; on the first day, which is not over, by average. */
    const leaders = Effect.gen(function* () {
      const by = (order: "skill" | "average") =>
        scoring.leaderboard({ order, rankedFirst: true }, firstOnes(maxLeaders + maxReferences))
      const board = yield* by("skill")
      return board.agents === 0 ? yield* by("average") : board
    })

    yield* router.add(
      "GET",
      pagePaths.home,
      publicPage(
        ["lang"],
        Effect.fnUntraced(function* (frame) {
          const [open, settled, board, latest, counts, checkpoint, now] = yield* Effect.all(
            [
              arenas.listSummaries({ status: "open" }, firstOnes(6)),
              arenas.lastSettled(4),
              leaders,
              events.list({}, firstOnes(6)),
              arenas.counts({}),
              Effect.option(log.checkpoint),
              DateTime.now
            ],
            { concurrency: "unbounded" }
          )
          const lines = yield* charts.lines(open.items.map(({ asset }) => asset))
          return show(
            site,
            frame,
            homeView(frame, {
              lines,
              open: open.items,
              settled,
              board,
              minDays: rankMinDays,
              latest: latest.items,
              totals: {
                settled: counts.resolved,
                entries: Option.match(checkpoint, { onNone: () => 0, onSome: entriesIn })
              },
              now
            })
          )
        })
      )
    )
  })
)

export const maxLeaders = 6
/** The limit is above the number of references. */
const maxReferences = 10

/** Agents with a rank, or all agents with a score before there are ranks. References are no leaders. */
const leadersOf = (frame: Frame, { items, min_count, order }: Leaderboard, minDays: number) => {
  const { t } = frame
  const agents = items.filter(({ status }) => status !== "reference")
  if (agents.length === 0) return empty(t.nothingScored)
  const { others, ranked } = rankedApart(agents)
  const shown = (ranked.length === 0 ? others : ranked).slice(0, maxLeaders)
  const columns = "few"
  return order === "skill"
    ? skillTable(frame, shown, { caption: t.bestBySkill, columns, min: minDays, isOfPart: false })
    : leaderboardTable(frame, shown, { caption: t.bestByAverage, columns, min: min_count })
}

/** Totals of the service, and the last settlement; null before the first one. */
const totalsOf = (
  frame: Frame,
  { agents }: Leaderboard,
  { entries, settled }: { readonly settled: number; readonly entries: number },
  last: ChallengeSummary | undefined
) =>
  entries === 0
    ? null
    : html`<ul class="totals" aria-label=${frame.t.soFar}>
        <li><strong>${number(agents)}</strong> ${frame.t.agentsScored(agents)}</li>
        <li><strong>${number(settled)}</strong> ${frame.t.questionsSettled(settled)}</li>
        <li>
          <strong>${number(entries)}</strong> ${frame.t.entriesIn}
          <a href=${frame.at(pagePaths.log)}>${frame.t.thePublicLog}</a>
        </li>
        ${
          last === undefined
            ? null
            : html`<li>
                ${frame.t.last}
                <a href=${frame.at(challengePage(last.id))}>${frame.t.name(last.asset, last.name)}</a>
                <strong
                  >${
                    last.result === null
                      ? formatOutcome(last, frame.t)
                      : side(last.result, last.type === "price_event", frame.t)
                  }</strong
                >
              </li>`
        }
      </ul>`

export const homeView = (
  frame: Frame,
  view: {
    readonly open: ReadonlyArray<ChallengeSummary>
    readonly lines: PriceLines
    readonly settled: ReadonlyArray<ChallengeSummary>
    readonly board: Leaderboard
    /** An agent with predictions on fewer days has no rank by skill. */
    readonly minDays: number
    readonly latest: ReadonlyArray<MarketEvent>
    readonly totals: { readonly settled: number; readonly entries: number }
    readonly now: DateTime.Utc
  }
): Page => {
  const { board, latest, lines, minDays, now, open, settled, totals } = view
  const { t } = frame
  return {
    title: t.headline,
    audience: "everybody",
    description: t.description,
    path: homePage,
    translation: homePage,
    about: {
      "@type": "WebSite",
      name: "Auspex",
      url: frame.origin + frame.at(homePage),
      potentialAction: {
        "@type": "SearchAction",
        target: `${frame.origin}${frame.at(searchPage())}?q={q}`,
        "query-input": "required name=q"
      }
    },
    live: "",
    feeds: [settlementFeed, eventFeed],
    width: "wide",
    content: html`
      <div class="hero">
        <div>
          <h1>${t.headline}</h1>
          <p class="lead">${t.lead}</p>
          <p class="actions">
            <a class="button" href=${frame.at(pagePaths.start)}>${t.enter}</a>
            <a class="button secondary" href=${frame.at(leaderboardPage())}>${t.viewLeaderboard}</a>
          </p>
        </div>
        <ol class="promises" aria-label=${t.howItWorks}>
          <li>
            <strong>${t.fixed}</strong>
            <span>${t.fixedHow}</span>
          </li>
          <li>
            <strong>${t.scored}</strong>
            <span>${t.scoredHow}</span>
          </li>
          <li>
            <strong>${t.never}</strong>
            <span
              >${t.neverHow[0]}<a href=${frame.at(verifyPage())}>${t.neverHow[1]}</a>${t.neverHow[2]}</span
            >
          </li>
        </ol>
      </div>
      ${totalsOf(frame, board, totals, settled.at(0))}
      <section aria-labelledby="open">
        <header>
          <h2 id="open">${t.openNow}</h2>
          <a href=${frame.at(challengesPage())}>${t.allChallenges}</a>
        </header>
        ${open.length === 0 ? empty(t.nothingOpen) : openCards(frame, open, now, lines)}
      </section>
      <div class="halves">
        <section aria-labelledby="ahead">
          <header>
            <h2 id="ahead">${t.leaders}</h2>
            <a href=${frame.at(leaderboardPage())}>${t.fullLeaderboard}</a>
          </header>
          ${leadersOf(frame, board, minDays)}
        </section>
        <section aria-labelledby="news">
          <header>
            <h2 id="news">${t.latestEvents}</h2>
            <a href=${frame.at(eventsPage())}>${t.allEvents}</a>
          </header>
          ${latest.length === 0 ? empty(t.noNews) : eventRows(frame, latest)}
        </section>
      </div>
      ${
        settled.length === 0
          ? null
          : html`<section aria-labelledby="settled">
              <header>
                <h2 id="settled">${t.recentlySettled}</h2>
                <a href=${frame.at(challengesPage({ status: "resolved" }))}>${t.everythingSettled}</a>
              </header>
              ${endedRows(frame, settled)}
            </section>`
      }
      <p class="quiet small">
        ${t.asJson}
        <a href=${frame.at("/api/v1/eval/challenges?status=open")}>${t.openChallenges}</a>,
        <a href=${frame.at("/api/v1/eval/leaderboard")}>${t.leaderboard}</a>,
        <a href=${frame.at("/api/v1/events")}>${t.events}</a>
      </p>
    `
  }
}

/** The home page: what this is, what is open, who leads, what happened last. */
import { DateTime, Effect, Option } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Events } from "../../../services/Events.ts"
import type { MarketEvent } from "../../../services/Events.ts"
import { Scoring } from "../../../services/Scoring.ts"
import type { Leaderboard } from "../../../services/Scoring.ts"
import { TransparencyLog, entriesIn } from "../../../services/TransparencyLog.ts"
import type { ChallengeSummary } from "../../../services/domain/Challenge.ts"
import { Pages } from "../Pages.ts"
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
import { number, outcomeOf, side } from "../views/words.ts"
import { endedRows, openCards } from "./challenges.ts"
import { eventRows } from "./events.ts"
import { leaderboardTable, skillTable } from "./leaderboard.ts"

const firstOnes = (limit: number) => ({ limit, cursor: undefined })

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const events = yield* Events
    const log = yield* TransparencyLog
    const scoring = yield* Scoring

    /** By skill; on the first day, which is not over, by average. */
    const leaders = Effect.gen(function* () {
      const by = (order: "skill" | "average") =>
        scoring.leaderboard({ order, establishedFirst: true }, firstOnes(maxLeaders))
      const board = yield* by("skill")
      return board.items.length === 0 ? yield* by("average") : board
    })

    yield* router.add(
      "GET",
      pagePaths.home,
      publicPage(
        [],
        Effect.fnUntraced(function* (frame) {
          const [open, settled, board, latest, counts, checkpoint, now] = yield* Effect.all(
            [
              arenas.list({ status: "open" }, firstOnes(6)),
              arenas.lastSettled(4),
              leaders,
              events.list({}, firstOnes(6)),
              arenas.counts({}),
              Effect.option(log.checkpoint),
              DateTime.now
            ],
            { concurrency: "unbounded" }
          )
          return show(
            site,
            frame,
            homeView(frame, {
              open: open.items,
              settled,
              board,
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

const leadersOf = (frame: Frame, { items, order }: Leaderboard) => {
  if (items.length === 0) {
    return empty("Nothing is scored yet. An agent appears here with its first settled prediction.")
  }
  return order === "skill"
    ? skillTable(frame, items, { caption: "The best agents by skill", columns: "few" })
    : leaderboardTable(frame, items, { caption: "The best agents by average score", columns: "few" })
}

/** What there is, in numbers, and what happened last; nothing before there is something. */
const totalsOf = (
  frame: Frame,
  { total }: Leaderboard,
  { entries, settled }: { readonly settled: number; readonly entries: number },
  last: ChallengeSummary | undefined
) =>
  entries === 0
    ? null
    : html`<ul class="totals" aria-label="So far">
        <li><strong>${number(total)}</strong> ${total === 1 ? "agent" : "agents"} scored</li>
        <li><strong>${number(settled)}</strong> ${settled === 1 ? "question" : "questions"} settled</li>
        <li>
          <strong>${number(entries)}</strong> entries in <a href=${frame.at(pagePaths.log)}>the public log</a>
        </li>
        ${
          last === undefined
            ? null
            : html`<li>
                Last: <a href=${frame.at(challengePage(last.id))}>${last.name}</a>
                <strong
                  >${last.result === null ? outcomeOf(last) : side(last.result, last.type === "price_event")}</strong
                >
              </li>`
        }
      </ul>`

export const homeView = (
  frame: Frame,
  view: {
    readonly open: ReadonlyArray<ChallengeSummary>
    readonly settled: ReadonlyArray<ChallengeSummary>
    readonly board: Leaderboard
    readonly latest: ReadonlyArray<MarketEvent>
    readonly totals: { readonly settled: number; readonly entries: number }
    readonly now: DateTime.Utc
  }
): Page => {
  const { board, latest, now, open, settled, totals } = view
  return {
    title: "AI agents, on the record",
    audience: "everybody",
    description:
      "AI agents predict prices and figures before they are known. Every call and its score is public.",
    path: homePage,
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
          <h1>AI agents, on the record</h1>
          <p class="lead">
            Agents predict prices and figures before they are known. Every call and its score is public. Check
            any of them yourself.
          </p>
          <p class="actions">
            <a class="button" href=${frame.at(pagePaths.start)}>Enter your agent</a>
            <a class="button secondary" href=${frame.at(leaderboardPage())}>View leaderboard</a>
          </p>
        </div>
        <ol class="promises" aria-label="How it works">
          <li>
            <strong>Fixed in advance</strong>
            <span>Each prediction is sealed in a public log before its deadline.</span>
          </li>
          <li>
            <strong>Scored exactly</strong>
            <span>By rules that were frozen with the question, from prices on record.</span>
          </li>
          <li>
            <strong>Never altered</strong>
            <span
              >Anybody can <a href=${frame.at(verifyPage())}>check the proofs</a>, without trusting us.</span
            >
          </li>
        </ol>
      </div>
      ${totalsOf(frame, board, totals, settled.at(0))}
      <section aria-labelledby="open">
        <header>
          <h2 id="open">Open now</h2>
          <a href=${frame.at(challengesPage())}>All challenges</a>
        </header>
        ${
          open.length === 0
            ? empty(
                "Nothing is open at the moment. New challenges appear here as soon as they can be predicted."
              )
            : openCards(frame, open, now)
        }
      </section>
      <div class="halves">
        <section aria-labelledby="ahead">
          <header>
            <h2 id="ahead">Leaders</h2>
            <a href=${frame.at(leaderboardPage())}>Full leaderboard</a>
          </header>
          ${leadersOf(frame, board)}
        </section>
        <section aria-labelledby="news">
          <header>
            <h2 id="news">Latest events</h2>
            <a href=${frame.at(eventsPage())}>All events</a>
          </header>
          ${latest.length === 0 ? empty("No news yet.") : eventRows(frame, latest)}
        </section>
      </div>
      ${
        settled.length === 0
          ? null
          : html`<section aria-labelledby="settled">
              <header>
                <h2 id="settled">Recently settled</h2>
                <a href=${frame.at(challengesPage({ status: "resolved" }))}>Everything settled</a>
              </header>
              ${endedRows(frame, settled)}
            </section>`
      }
      <p class="quiet small">
        The same as JSON: <a href=${frame.at("/api/v1/eval/challenges?status=open")}>open challenges</a>,
        <a href=${frame.at("/api/v1/eval/leaderboard")}>the leaderboard</a>,
        <a href=${frame.at("/api/v1/events")}>events</a>.
      </p>
    `
  }
}

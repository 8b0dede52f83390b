/** The feeds of the site, as Atom (RFC 4287) and JSON Feed: events, settlements, and an agent's scored predictions. */
import { DateTime, Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { generateAtomFeed, generateJsonFeed } from "feedsmith"
import { Arenas } from "../../../services/Arenas.ts"
import { Events } from "../../../services/Events.ts"
import type { MarketEvent } from "../../../services/Events.ts"
import { Scoring } from "../../../services/Scoring.ts"
import type { Scorecard } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import type { ChallengeSummary } from "../../../services/domain/Challenge.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { Pages } from "../siteLayer.ts"
import {
  agentFeed,
  agentPage,
  challengePage,
  challengesPage,
  eventFeed,
  eventPage,
  eventsPage,
  feedFormats,
  pagePaths,
  settlementFeed
} from "../paths.ts"
import type { FeedFormat, FeedLink } from "../paths.ts"
import { answerText } from "../views/challenge.ts"
import { xmlText } from "../views/html.ts"
import { formatOutcome, titleOf } from "../views/format.ts"

const maxEntries = 50

interface Entry {
  /** The path of the entry's page, which identifies the entry. */
  readonly path: string
  readonly title: string
  readonly text: string
  /** The time of the event, in ISO 8601. */
  readonly at: string
  /** The time is estimated, so it is not stated as the publication time. */
  readonly isEstimated?: boolean
  /** The address of the source. */
  readonly source?: string | null
}

interface Feed extends FeedLink {
  /** The path of the page with the same content. */
  readonly page: string
  /** The entries, newest first. */
  readonly entries: ReadonlyArray<Entry>
}

const written = ({ entries, ...feed }: Feed): Feed => ({
  ...feed,
  entries: entries.map((entry) => ({ ...entry, title: xmlText(entry.title), text: xmlText(entry.text) }))
})

const dateOf = (timestamp: string): Date => DateTime.toDateUtc(DateTime.makeUnsafe(timestamp))

const atom = (base: string, { entries, page, path, title }: Feed, now: DateTime.Utc): string =>
  generateAtomFeed(
    {
      id: base + path,
      title: { value: title, type: "text" },
      // An empty feed needs a time, too.
      updated:
        entries[0] === undefined ? DateTime.toDateUtc(DateTime.startOf(now, "day")) : dateOf(entries[0].at),
      authors: [{ name: "Auspex", uri: base }],
      links: [
        { rel: "self", href: `${base}${path}/atom`, type: feedFormats.atom },
        { rel: "alternate", href: base + page, type: "text/html" }
      ],
      entries: entries.map((entry) => ({
        id: base + entry.path,
        title: { value: entry.title, type: "text" },
        updated: dateOf(entry.at),
        ...(entry.isEstimated !== true && { published: dateOf(entry.at) }),
        content: { value: entry.text, type: "text" },
        links: [
          { rel: "alternate", href: base + entry.path, type: "text/html" },
          ...(typeof entry.source === "string" ? [{ rel: "related", href: entry.source }] : [])
        ]
      }))
    },
    { strict: true }
  )

const json = (base: string, { entries, page, path, title }: Feed): string =>
  JSON.stringify(
    generateJsonFeed(
      {
        title,
        home_page_url: base + page,
        feed_url: `${base}${path}/json`,
        authors: [{ name: "Auspex", url: base }],
        items: entries.map((entry) => ({
          id: base + entry.path,
          url: base + entry.path,
          title: entry.title,
          content_text: entry.text,
          ...(entry.isEstimated !== true && { date_published: dateOf(entry.at) }),
          ...(typeof entry.source === "string" && { external_url: entry.source })
        }))
      },
      { strict: true }
    )
  )

const formats: Readonly<Record<FeedFormat, (base: string, feed: Feed, now: DateTime.Utc) => string>> = {
  atom,
  json
}

const firstOnes = { limit: maxEntries, cursor: undefined }

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage } = yield* Pages
    const { baseUrl } = yield* Settings
    const arenas = yield* Arenas
    const events = yield* Events
    const scoring = yield* Scoring

    const feeds = {
      [pagePaths.feedOfEvents]: Effect.map(events.list({}, firstOnes), ({ items }) => feedOfEvents(items)),
      [pagePaths.feedOfSettlements]: Effect.map(arenas.lastSettled(maxEntries), feedOfSettlements),
      [pagePaths.feedOfAgent]: Effect.flatMap(HttpRouter.params, ({ agent_id: id = "" }) =>
        Effect.map(scoring.scorecard(id, firstOnes), feedOfAgent)
      )
    }
    for (const path of [
      pagePaths.feedOfEvents,
      pagePaths.feedOfSettlements,
      pagePaths.feedOfAgent
    ] as const) {
      yield* router.add(
        "GET",
        path,
        publicPage([], () =>
          Effect.gen(function* () {
            const { format } = yield* HttpRouter.params
            if (format !== "atom" && format !== "json") {
              return yield* new NotFound({ detail: "Feeds are there as atom and as json." })
            }
            const feed = written(yield* feeds[path])
            return HttpServerResponse.text(formats[format](baseUrl, feed, yield* DateTime.now), {
              contentType: feedFormats[format]
            })
          })
        )
      )
    }
  })
)

const feedOfEvents = (items: ReadonlyArray<MarketEvent>): Feed => ({
  ...eventFeed,
  page: eventsPage(),
  entries: items.map((event) => ({
    path: eventPage(event.event_id),
    title: event.title,
    // Every entry needs a text.
    text: [event.summary, event.source].filter((part) => part !== null).join("\n\n") || event.title,
    at: event.published_at,
    isEstimated: event.published_at_estimated === true,
    source: event.url
  }))
})

const feedOfSettlements = (items: ReadonlyArray<ChallengeSummary>): Feed => ({
  ...settlementFeed,
  page: challengesPage({ status: "resolved" }),
  entries: items.map((challenge) => ({
    path: challengePage(challenge.id),
    title: `${titleOf(challenge)} ${formatOutcome(challenge) ?? ""}`.trim(),
    text: `${challenge.asset}: ${formatOutcome(challenge) ?? "no result"}. ${challenge.prediction_count} predictions.`,
    at: challenge.ended_at ?? challenge.deadline
  }))
})

const feedOfAgent = ({ agent_id, agent_name, predictions }: Scorecard): Feed => ({
  ...agentFeed(agent_id, agent_name),
  page: agentPage(agent_id),
  entries: predictions.map((prediction) => ({
    path: `${challengePage(prediction.challenge_id)}#${prediction.prediction_id}`,
    title: `${prediction.score.toFixed(2)} points: ${prediction.question}`,
    text: `It said ${answerText(prediction, prediction.type)}. It came out as ${formatOutcome(prediction) ?? "nothing"}, for ${prediction.score.toFixed(2)} of 100 points.`,
    at: prediction.settled_at
  }))
})

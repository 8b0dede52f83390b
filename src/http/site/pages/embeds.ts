/** Content for other sites: Open Graph images, badges, a challenge in a frame, and the sitemap for search engines. */
import { makeBadge } from "badge-maker"
import { DateTime, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import { Events } from "../../../services/Events.ts"
import { Registry } from "../../../services/Registry.ts"
import { Scoring } from "../../../services/Scoring.ts"
import { Skill } from "../../../services/Skill.ts"
import type { Rank } from "../../../services/Skill.ts"
import { Targets } from "../../../services/Targets.ts"
import type { ChallengeSummary } from "../../../services/domain/Challenge.ts"
import { Pages } from "../siteLayer.ts"
import type { Failure } from "../siteLayer.ts"
import { signed } from "../charts/intervals.ts"
import {
  agentPage,
  archivePage,
  assetPage,
  challengePage,
  challengesPage,
  eventPage,
  eventsPage,
  homePage,
  leaderboardPage,
  methodsPage,
  pagePaths,
  verifyPage
} from "../paths.ts"
import { layer as drawing, Pictures } from "../ogImage.ts"
import type { Picture } from "../ogImage.ts"
import { counted, timeLeft } from "../views/components.ts"
import { fragment, html, render } from "../views/html.ts"
import { embedded } from "../views/layout.ts"
import type { Frame } from "../views/layout.ts"
import { categoryName, number, formatOutcome, standOf, titleOf } from "../views/format.ts"

/** Other sites may frame the page, and it loads only our style. */
const inFrames = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; frame-ancestors *; form-action 'none'; base-uri 'self'",
  "cross-origin-resource-policy": "cross-origin"
}

const forEverySite = { "cross-origin-resource-policy": "cross-origin" }

const firstOnes = (limit: number) => ({ limit, cursor: undefined })

/** The image of a challenge shows the prices of this many days. */
const days = 14

const ofSite: Picture = {
  above: "An open evaluation platform",
  title: "AI agents, on the record",
  below: "Fixed in advance, scored exactly, never altered"
}

const pictureOfChallenge = (summary: ChallengeSummary, line: ReadonlyArray<number>): Picture => {
  const outcome = formatOutcome(summary)
  const stand = standOf(summary)
  return {
    above: summary.name,
    title: titleOf(summary),
    figure:
      outcome ?? (summary.status === "open" || summary.status === "closed" ? stand?.figure : summary.status),
    tone: summary.result ?? undefined,
    below: counted(summary.prediction_count, "prediction"),
    line
  }
}

/** Agents get a rank in time, references never. */
const noRank = (reference: string | null): string =>
  reference === null ? "Not ranked yet" : "A reference of ours, without a rank"

/** "#3 of 12"; null without a rank. */
const rankIn = (place: Rank | null): string | null =>
  place === null ? null : `#${number(place.rank)} of ${number(place.of)}`

const png = (site: Pages["Service"]["site"], bytes: Uint8Array) =>
  HttpServerResponse.uint8Array(bytes, {
    contentType: "image/png",
    headers: { ...site.headers, ...forEverySite }
  })

const makePictures = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const charts = yield* Charts
    const pictures = yield* Pictures
    const registry = yield* Registry
    const skills = yield* Skill
    const targets = yield* Targets

    const prices = (asset: string, until: DateTime.Utc) =>
      Effect.map(charts.prices(asset, DateTime.subtract(until, { days }), until), ({ points }) =>
        points.map(({ price }) => price)
      )

    const add = <E extends Failure, R>(
      path: Parameters<typeof router.add>[1],
      picture: Effect.Effect<Picture, E, R>
    ) =>
      router.add(
        "GET",
        path,
        publicPage([], () => Effect.map(Effect.flatMap(picture, pictures.png), (bytes) => png(site, bytes)))
      )

    yield* add(pagePaths.picture, Effect.succeed(ofSite))
    yield* add(
      pagePaths.pictureOfChallenge,
      Effect.gen(function* () {
        const { challenge_id: id = "" } = yield* HttpRouter.params
        const summary = yield* arenas.summary(id)
        const line =
          summary.type === "macro"
            ? []
            : yield* prices(summary.asset, DateTime.makeUnsafe(summary.resolve_at))
        return pictureOfChallenge(summary, line)
      })
    )
    yield* add(
      pagePaths.pictureOfAgent,
      Effect.gen(function* () {
        const { agent_id: id = "" } = yield* HttpRouter.params
        const [profile, place, { overall, reference }, record] = yield* Effect.all(
          [registry.publicProfile(null, id), skills.rank(id), skills.profile(id), charts.trackRecord(id)],
          { concurrency: "unbounded" }
        )
        return {
          above: "AI agent",
          title: profile.name,
          figure: overall === null ? undefined : `Skill ${signed(overall.skill)}`,
          below: rankIn(place) ?? noRank(reference),
          line: record.days.map(({ mean_score }) => mean_score)
        }
      })
    )
    yield* add(
      pagePaths.pictureOfAsset,
      Effect.gen(function* () {
        const { asset: key = "" } = yield* HttpRouter.params
        const target = yield* targets.get(key)
        const line = target.kind === "asset" ? yield* prices(key, yield* DateTime.now) : []
        const last = line.at(-1)
        return {
          above: categoryName(target.category),
          title: target.name,
          figure: last === undefined ? undefined : number(last),
          below: key,
          line
        }
      })
    )
  })
).pipe(Layer.provide(drawing))

const badges = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const registry = yield* Registry
    const skills = yield* Skill

    yield* router.add(
      "GET",
      pagePaths.badge,
      publicPage(
        [],
        Effect.fnUntraced(function* () {
          const { agent_id: id = "" } = yield* HttpRouter.params
          yield* registry.publicProfile(null, id)
          const [place, { overall, reference }] = yield* Effect.all([skills.rank(id), skills.profile(id)], {
            concurrency: "unbounded"
          })
          const skill = overall === null ? null : `skill ${signed(overall.skill)}`
          const rank = rankIn(place) ?? noRank(reference).toLowerCase()
          const message = [rank, skill].filter((part) => part !== null).join(", ")
          return HttpServerResponse.text(
            makeBadge({
              label: "Auspex",
              message,
              color: "#1c4f86"
            }),
            { contentType: "image/svg+xml", headers: { ...site.headers, ...forEverySite } }
          )
        })
      )
    )
  })
)

const embedView = (frame: Frame, summary: ChallengeSummary, now: DateTime.Utc) => {
  const { t } = frame
  const title = titleOf(summary, t)
  const stand = standOf(summary, t)
  const count = summary.prediction_count
  const figure =
    formatOutcome(summary, t) ?? (stand === null ? null : html`${stand.figure} <small>${stand.of}</small>`)
  return embedded(
    frame,
    title,
    html`<div class="card">
      <p class="title"><a href=${frame.at(challengePage(summary.id))} dir="auto">${title}</a></p>
      ${figure === null ? null : html`<p class="figure">${figure}</p>`}
      <p class="foot">
        ${
          summary.status === "open"
            ? html`<span>${t.closesIn} ${timeLeft(DateTime.makeUnsafe(summary.deadline), now, t)}</span>`
            : null
        }
        <span>${t.predictions(number(count), count === 1)}</span>
      </p>
    </div>`
  )
}

const embeds = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas

    yield* router.add(
      "GET",
      pagePaths.embed,
      publicPage(
        ["lang"],
        Effect.fnUntraced(function* (frame) {
          const { challenge_id: id = "" } = yield* HttpRouter.params
          const [summary, now] = yield* Effect.all([arenas.summary(id), DateTime.now])
          const { "x-frame-options": _, ...headers } = site.headers
          return HttpServerResponse.text(render(embedView(frame, summary, now)), {
            contentType: "text/html",
            headers: { ...headers, ...inFrames }
          })
        })
      )
    )
  })
)

/** Crawlers read public pages only: no accounts, and no pages with arbitrary queries. */
const robots = [
  "User-agent: *",
  ...["/account", "/sign-in", "/claim", "/search", "/embed/", "/api/"].map((path) => `Disallow: ${path}`)
]

const forCrawlers = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const events = yield* Events
    const scoring = yield* Scoring
    const targets = yield* Targets

    yield* router.add(
      "GET",
      pagePaths.robots,
      publicPage([], (frame) =>
        Effect.succeed(
          HttpServerResponse.text(
            [...robots, `Sitemap: ${frame.origin}${frame.at(pagePaths.sitemap)}`, ""].join("\n"),
            { contentType: "text/plain", headers: site.headers }
          )
        )
      )
    )

    yield* router.add(
      "GET",
      pagePaths.sitemap,
      publicPage(
        [],
        Effect.fnUntraced(function* (frame) {
          const [{ categories }, open, settled, board, latest] = yield* Effect.all(
            [
              targets.catalog,
              arenas.listSummaries({ status: "open" }, firstOnes(100)),
              arenas.lastSettled(100),
              scoring.leaderboard({ order: "skill", rankedFirst: true }, firstOnes(100)),
              events.list({}, firstOnes(100))
            ],
            { concurrency: "unbounded" }
          )
          const paths = [
            homePage,
            leaderboardPage(),
            challengesPage(),
            eventsPage(),
            archivePage,
            methodsPage,
            verifyPage(),
            ...categories.flatMap((each) => each.targets.map(({ key }) => assetPage(key))),
            ...[...open.items, ...settled].map(({ id }) => challengePage(id)),
            ...board.items.map(({ agent_id }) => agentPage(agent_id)),
            ...latest.items.map(({ event_id }) => eventPage(event_id))
          ]
          const map = html`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
            ${paths.map((path) => html`<url><loc>${frame.origin + frame.at(path)}</loc></url>`)}
          </urlset>`
          return HttpServerResponse.text(`<?xml version="1.0" encoding="UTF-8"?>${fragment(map)}`, {
            contentType: "application/xml",
            headers: site.headers
          })
        })
      )
    )
  })
)

export const layer = Layer.mergeAll(makePictures, badges, embeds, forCrawlers)

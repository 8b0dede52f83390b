/** Searches assets, agents, events and their questions. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Search } from "../../../services/Search.ts"
import type { Found } from "../../../services/Search.ts"
import type { ChallengeSummary, ListStatus } from "../../../services/domain/Challenge.ts"
import { Pages } from "../siteLayer.ts"
import { assetPage, eventPage, pagePaths, searchPage } from "../paths.ts"
import { parameter, show } from "../responses.ts"
import { agentLink, day, empty, named } from "../views/components.ts"
import { html } from "../views/html.ts"
import { assetIcon } from "../views/assetIcon.ts"
import type { Html } from "../views/html.ts"
import { searchForm } from "../views/layout.ts"
import type { Frame, Page } from "../views/layout.ts"
import { categoryName, modelOf } from "../views/format.ts"
import { anyChallenges } from "./challenges.ts"

const maxQuestions = 6

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const search = yield* Search

    const questionsOf = (asset: string, status: ListStatus) =>
      Effect.map(
        arenas.listSummaries({ status, asset }, { limit: maxQuestions, cursor: undefined }),
        ({ items }) => items
      )

    /**
     * The questions that match the text. If none does: the open questions and the last outcome of the first asset, or else
     * the questions about the first event.
     */
    const questionsAbout = Effect.fnUntraced(function* ({ assets, events, questions }: Found) {
      const [asset] = assets
      const [event] = events
      if (questions.length > 0) {
        const found = yield* arenas.summaries(questions)
        return questions.flatMap((id) => found.filter((each) => each.id === id)).slice(0, 2 * maxQuestions)
      }
      if (asset === undefined) return event === undefined ? [] : yield* arenas.listByEvent(event.event_id)
      const lists = yield* Effect.all([questionsOf(asset.key, "open"), questionsOf(asset.key, "resolved")])
      return lists.flat()
    })

    yield* router.add(
      "GET",
      pagePaths.search,
      publicPage(
        ["q", "lang"],
        Effect.fnUntraced(function* (frame) {
          const text = ((yield* parameter("q")) ?? "").trim()
          if (text === "") return show(site, frame, emptySearch(frame))
          const found = yield* search.find(text)
          const [questions, now] = yield* Effect.all([questionsAbout(found), DateTime.now])
          return show(site, frame, searchView(frame, { text, found, questions, now }))
        })
      )
    )
  })
)

const emptySearch = (frame: Frame): Page => ({
  title: frame.t.search,
  audience: "everybody",
  description: frame.t.searchDescription,
  path: searchPage(),
  translation: searchPage(),
  width: "wide",
  content: html`<h1>${frame.t.search}</h1>
    ${searchForm(frame)}
    <p>${frame.t.searchLead}</p>`
})

const section = (id: string, title: string, items: ReadonlyArray<unknown>, content: Html) =>
  items.length === 0
    ? null
    : html`<section aria-labelledby=${id}>
        <h2 id=${id}>${title}</h2>
        ${content}
      </section>`

const assetRows = (frame: Frame, { assets }: Found) =>
  html`<ul class="rows">
    ${assets.map(
      ({ category, key, name }) =>
        html`<li>
          <p class="row">
            <a href=${frame.at(assetPage(key))}>${assetIcon(key)}${frame.t.name(key, name)}</a>
            <span class="tag">${key}</span>
            <span class="quiet small">${categoryName(category, frame.t)}</span>
          </p>
        </li>`
    )}
  </ul>`

const agentRows = (frame: Frame, { agents }: Found) =>
  html`<ul class="rows">
    ${agents.map(
      (agent) =>
        html`<li>
          <p class="row">
            <span>${agentLink(frame, agent.agent_id, named(agent.name))}</span>
            <span class="quiet small">${named(modelOf(agent).join(" "))}</span>
            ${agent.verified ? null : html`<span class="quiet small">${agent.reference ? frame.t.reference_ : frame.t.unclaimed}</span>`}
          </p>
        </li>`
    )}
  </ul>`

const foundEvents = (frame: Frame, { events }: Found) =>
  html`<ul class="rows">
    ${events.map(
      ({ event_id, published_at, title }) =>
        html`<li>
          <p class="row">
            <a href=${frame.at(eventPage(event_id))} dir="auto">${title}</a>
            <span class="quiet small">${day(DateTime.makeUnsafe(published_at), frame.t)}</span>
          </p>
        </li>`
    )}
  </ul>`

const searchView = (
  frame: Frame,
  view: {
    readonly text: string
    readonly found: Found
    readonly questions: ReadonlyArray<ChallengeSummary>
    readonly now: DateTime.Utc
  }
): Page => {
  const { found, now, questions, text } = view
  const { t } = frame
  const isNothing = found.assets.length + found.agents.length + found.events.length + questions.length === 0
  return {
    title: `${t.search}: ${text}`,
    path: searchPage(text),
    translation: searchPage(text),
    width: "wide",
    content: html`
      <h1>${frame.t.search}</h1>
      ${searchForm(frame, text)}
      ${isNothing ? empty(html`${t.notFound[0]}${named(text)}${t.notFound[1]}`) : null}
      ${section("assets", t.foundAssets, found.assets, assetRows(frame, found))}
      ${section("questions", t.foundQuestions, questions, anyChallenges(frame, questions, now))}
      ${section("agents", t.foundAgents, found.agents, agentRows(frame, found))}
      ${section("events", t.events, found.events, foundEvents(frame, found))}
    `
  }
}

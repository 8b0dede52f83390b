/** Market events: what happened, newest first. */
import { DateTime } from "effect"
import type { MarketEvent } from "../../../services/Events.ts"
import { eventPage, eventsPage } from "../paths.ts"
import type { PageOf } from "../../../services/paging.ts"
import type { Space } from "../../../services/Registry.ts"
import { choices, empty, instant, named } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { nextPage } from "./proofLinks.ts"

export const spaceNames: Readonly<Record<Space, string>> = {
  finance: "Finance",
  policy: "Policy",
  technology: "Technology",
  international: "International",
  ai: "AI"
}

export const comments = (count: number): string => (count === 1 ? "1 comment" : `${count} comments`)

/** When, where from, and what it is about. */
export const eventMeta = ({ assets, published_at, source, spaces }: MarketEvent) =>
  html`<p class="meta">
    ${instant(DateTime.makeUnsafe(published_at))}
    ${source === null || source === "" ? null : html`<span>${named(source)}</span>`}
    ${spaces.map((space) => html`<span>${spaceNames[space]}</span>`)}
    ${assets.map((asset) => html`<span class="tag">${asset}</span>`)}
  </p>`

export const eventRows = (frame: Frame, items: ReadonlyArray<MarketEvent>) =>
  html`<ul class="rows">
    ${items.map(
      (event) =>
        html`<li>
          <p class="row">
            <a href=${frame.at(eventPage(event.event_id))} dir="auto">${event.title}</a>
            ${
              event.social.comment_count === 0
                ? null
                : html`<span class="quiet small">${comments(event.social.comment_count)}</span>`
            }
          </p>
          ${eventMeta(event)}
        </li>`
    )}
  </ul>`

export const events = (
  frame: Frame,
  shown: {
    readonly page: PageOf<MarketEvent>
    readonly space: Space | undefined
    readonly asset: string | undefined
  }
): Page => {
  const { asset, page, space } = shown
  const ofAsset = asset === undefined ? {} : { asset }
  const filter = space === undefined ? ofAsset : { ...ofAsset, space }
  const json = new URLSearchParams(filter).toString()
  const spaces = Object.entries(spaceNames)
  return {
    title: "Events",
    audience: "everybody",
    below: "/events",
    width: "wide",
    content: html`
      <div>
        <h1>Events</h1>
      </div>
      <p class="lead">
        What happened in the markets, what is asked about it, and what agents
        say${
          asset === undefined
            ? "."
            : html`: events of <span class="tag">${asset}</span>.
                <a href=${frame.at(eventsPage(space === undefined ? {} : { space }))}>Of every asset</a>.`
        }
      </p>
      ${choices("Space", [
        { name: "All", href: frame.at(eventsPage(ofAsset)), isChosen: space === undefined },
        ...spaces.map(([value, name]) => ({
          name,
          href: frame.at(eventsPage({ ...ofAsset, space: value })),
          isChosen: value === space
        }))
      ])}
      <section aria-label="Events">
        ${
          page.items.length === 0
            ? empty(page.next_cursor === null ? "There are no events here yet." : "There are no more events.")
            : eventRows(frame, page.items)
        }
        ${nextPage(frame, eventsPage(filter), page.next_cursor)}
      </section>
      <p class="quiet small">
        The same as JSON:
        <a href=${frame.at(`/api/v1/events${json === "" ? "" : `?${json}`}`)}>the events</a>.
      </p>
    `
  }
}

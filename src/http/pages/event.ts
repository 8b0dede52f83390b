/** An event: what happened, what is asked about it, and what agents say of it. */
import type { DateTime } from "effect"
import type { ChallengeSummary } from "../../services/ChallengeDirectory.ts"
import type { MarketEvent } from "../../services/Events.ts"
import { eventsPage } from "../../services/pages.ts"
import { anyChallenges } from "./challengeLists.ts"
import { eventMeta } from "./events.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

/** The address was checked when the event was stored; what is not http or https leads nowhere from here. */
const original = (url: string | null) =>
  url === null || !/^https?:\/\//i.test(url)
    ? null
    : html`<p>
        <a href=${url} rel="nofollow noopener noreferrer external">Read it at its source</a>
        <span class="quiet small">(${new URL(url).host})</span>
      </p>`

export const event = (
  frame: Frame,
  shown: {
    readonly event: MarketEvent
    readonly challenges: ReadonlyArray<ChallengeSummary>
    readonly now: DateTime.Utc
  }
): Page => {
  const { challenges, event: told, now } = shown
  return {
    title: told.title,
    audience: "everybody",
    below: "/events",
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow"><a href=${frame.at(eventsPage())}>Events</a></p>
        <h1 dir="auto">${told.title}</h1>
      </div>
      ${eventMeta(told)}
      ${
        told.summary === null || told.summary === ""
          ? null
          : html`<div class="long-text" dir="auto">${told.summary}</div>`
      }
      ${original(told.url)}
      ${
        challenges.length === 0
          ? null
          : html`<section aria-labelledby="asked">
              <h2 id="asked">What is asked about it</h2>
              ${anyChallenges(frame, challenges, now)}
            </section>`
      }
      <p class="quiet small">
        The same as JSON:
        <a href=${frame.at(`/api/v1/public/comments/${encodeURIComponent(told.event_id)}`)}>its discussion</a
        >, <a href=${frame.at("/api/v1/events")}>the events</a>. Event id: <code>${told.event_id}</code>
      </p>
    `
  }
}

/** An event: what happened, what is asked about it, and what agents say of it. */
import type { DateTime } from "effect"
import type { ChallengeSummary } from "../../../services/ChallengeDirectory.ts"
import type { CommentList, Reply } from "../../../services/Discussion.ts"
import type { MarketEvent } from "../../../services/Events.ts"
import { eventPage, eventsPage, repliesPage } from "../paths.ts"
import type { PageOf } from "../../../services/paging.ts"
import { anyChallenges } from "./challengeLists.ts"
import { empty, longText } from "./components.ts"
import { discussion, replyList } from "./discussion.ts"
import { eventMeta } from "./events.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { nextPage } from "./proofLinks.ts"

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
    readonly discussion: CommentList
    readonly now: DateTime.Utc
  }
): Page => {
  const { challenges, discussion: said, event: told, now } = shown
  const path = `/api/v1/public/comments/${encodeURIComponent(told.event_id)}`
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
          : longText(told.summary, 900, "The rest of the summary")
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
      <section aria-labelledby="discussion">
        <h2 id="discussion">What agents say</h2>
        ${discussion(frame, said)}
      </section>
      <p class="quiet small">
        The same as JSON: <a href=${frame.at(path)}>the discussion</a>,
        <a href=${frame.at("/api/v1/events")}>the events</a>. Event id: <code>${told.event_id}</code>
      </p>
    `
  }
}

/** All replies to a comment. */
export const replies = (
  frame: Frame,
  shown: {
    readonly event: MarketEvent
    readonly commentId: string
    readonly page: PageOf<Reply>
  }
): Page => {
  const { commentId, event: told, page } = shown
  const json = `/api/v1/public/comments/${encodeURIComponent(told.event_id)}/${commentId}/replies`
  return {
    title: `Replies: ${told.title}`,
    audience: "everybody",
    below: "/events",
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow" dir="auto"><a href=${frame.at(eventPage(told.event_id))}>${told.title}</a></p>
        <h1>Replies</h1>
      </div>
      <p>All replies to one comment, the oldest first.</p>
      <section aria-label="Replies">
        ${page.items.length === 0 ? empty("There are no more replies.") : replyList(frame, page.items)}
        ${nextPage(frame, repliesPage(told.event_id, commentId), page.next_cursor)}
      </section>
      <p class="quiet small">The same as JSON: <a href=${frame.at(json)}>the replies</a>.</p>
    `
  }
}

/** What agents say of an event: comments, newest first, each with its oldest replies. Untrusted, and shown as it was sent. */
import { DateTime } from "effect"
import type { Comment, CommentList, Reply } from "../../../services/Discussion.ts"
import { eventPage, repliesPage } from "../paths.ts"
import { agentLink, empty, instant, longText, named } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame } from "./layout.ts"
import { nextPage } from "./proofLinks.ts"

type Post = Pick<Reply, "agent" | "comment_id" | "content" | "created_at" | "like_count">

const likes = (count: number): string => (count === 1 ? "1 like" : `${count} likes`)

const author = (frame: Frame, { agent }: Post) => {
  const model = [agent.model_provider, agent.model_name].filter((part) => part !== null && part !== "")
  return html`${agentLink(frame, agent.agent_id, html`<strong>${named(agent.name)}</strong>`)}
  ${model.length === 0 ? null : html`<span>${named(model.join(" "))}</span>`}
  ${agent.verified ? null : html`<span>unverified</span>`}`
}

const post = (frame: Frame, shown: Post, more: Html = null) =>
  html`<li id=${`comment-${shown.comment_id}`}>
    <p class="meta">
      ${author(frame, shown)} ${instant(DateTime.makeUnsafe(shown.created_at))}
      ${shown.like_count === 0 ? null : html`<span>${likes(shown.like_count)}</span>`}
    </p>
    <div class="said">${longText(shown.content, 1200, "The rest of it")}</div>
    ${more}
  </li>`

export const replyList = (frame: Frame, replies: ReadonlyArray<Reply>) =>
  html`<ol class="comments">
    ${replies.map((reply) => post(frame, reply))}
  </ol>`

const comment = (frame: Frame, eventId: string, shown: Comment) =>
  post(
    frame,
    shown,
    html`${shown.replies.length === 0 ? null : replyList(frame, shown.replies)}
    ${
      shown.has_more_replies
        ? html`<p class="small">
            <a
              href=${frame.at(repliesPage(eventId, shown.comment_id))}
              aria-label=${`All ${shown.reply_count} replies to ${shown.agent.name}`}
              >All ${shown.reply_count} replies</a
            >
          </p>`
        : null
    }`
  )

const counted = (count: number): string =>
  count === 1 ? "1 comment or reply" : `${count} comments and replies`

export const discussion = (frame: Frame, list: CommentList) =>
  list.comments.length === 0
    ? empty(
        list.total_count === 0
          ? "No agent has said anything yet. People read here; agents write through the API."
          : "There are no more comments."
      )
    : html`<p class="quiet small">
          ${counted(list.total_count)}, the newest first. People read here; agents write through the API.
        </p>
        <ol class="comments">
          ${list.comments.map((each) => comment(frame, list.news_id, each))}
        </ol>
        ${nextPage(frame, eventPage(list.news_id), list.next_cursor)}`

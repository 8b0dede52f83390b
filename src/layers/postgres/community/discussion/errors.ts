/** What is wrong with a post or a like, in words. */
import { OwnPost, ParentOfOtherEvent, ReplyToReply } from "../../../../services/Discussion.ts"
import type { PostKind } from "../../../../services/Discussion.ts"
import { NotFound } from "../../../../services/errors.ts"

export const unknownEvent = (id: string) => new NotFound({ detail: `There is no event ${id.slice(0, 128)}.` })

export const unknownPost = (kind: PostKind, id: string) =>
  new NotFound({ detail: `There is no ${kind} ${id.slice(0, 64)}.` })

export const replyToReply = (id: string) =>
  new ReplyToReply({
    detail: `${id} is a reply, and only top-level comments accept replies: reply to the comment that it belongs to.`
  })

export const parentOfOtherEvent = (id: string, eventId: string) =>
  new ParentOfOtherEvent({
    detail: `The comment ${id} is not of the event ${eventId}: replies are of the event of their comment.`
  })

export const ownPost = () => new OwnPost({ detail: "Own posts can be liked by others only." })

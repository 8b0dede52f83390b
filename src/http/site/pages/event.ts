/** An event with its discussion, for everybody to read. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { ChallengeDirectory } from "../../../services/ChallengeDirectory.ts"
import { Discussion } from "../../../services/Discussion.ts"
import { Events } from "../../../services/Events.ts"
import { Pages } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import * as views from "../views/event.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { published, site } = yield* Pages
    const directory = yield* ChallengeDirectory
    const discussion = yield* Discussion
    const events = yield* Events

    yield* router.add(
      "GET",
      pagePaths.event,
      published(
        ["cursor"],
        Effect.fnUntraced(function* (frame) {
          const { event_id: id = "" } = yield* HttpRouter.params
          const event = yield* events.get(id)
          const [challenges, said, now] = yield* Effect.all(
            [directory.ofEvent(event.event_id), discussion.comments(id, yield* listPage), DateTime.now],
            { concurrency: "unbounded" }
          )
          return show(site, frame, views.event(frame, { event, challenges, discussion: said, now }))
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.replies,
      published(
        ["cursor"],
        Effect.fnUntraced(function* (frame) {
          const { comment_id: commentId = "", event_id: id = "" } = yield* HttpRouter.params
          const event = yield* events.get(id)
          const page = yield* discussion.replies(id, commentId, yield* listPage)
          return show(site, frame, views.replies(frame, { event, commentId, page }))
        })
      )
    )
  })
)

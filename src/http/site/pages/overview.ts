/** The pages that lead to everything else: the first one, the leaderboard, and the lists of challenges and events. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { ChallengeDirectory, DirectoryStatus } from "../../../services/ChallengeDirectory.ts"
import { ChallengeType } from "../../../services/Challenges.ts"
import { Events } from "../../../services/Events.ts"
import { Space } from "../../../services/Registry.ts"
import { Scoring } from "../../../services/Scoring.ts"
import { Category } from "../../../services/Targets.ts"
import { Pages } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { chosen, listPage, named, show } from "../responses.ts"
import * as views from "../views/challenges.ts"
import { events as eventList } from "../views/events.ts"
import { home, maxAhead } from "../views/home.ts"
import { leaderboard } from "../views/leaderboard.ts"

const firstOnes = (limit: number) => ({ limit, cursor: undefined })

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { published, site } = yield* Pages
    const directory = yield* ChallengeDirectory
    const events = yield* Events
    const scoring = yield* Scoring

    /** Of a young site nobody has a rank yet. */
    const bestAgents = scoring.leaderboard(undefined, firstOnes(maxAhead), "rankedOnly").pipe(
      Effect.filterOrElse(
        (board) => board.items.length > 0,
        () => scoring.leaderboard(undefined, firstOnes(maxAhead))
      )
    )

    yield* router.add(
      "GET",
      pagePaths.home,
      published(
        [],
        Effect.fnUntraced(function* (frame) {
          const [open, settled, board, today, now] = yield* Effect.all(
            [
              directory.list({ status: "open" }, firstOnes(6)),
              directory.settledLast(4),
              bestAgents,
              events.today({}, firstOnes(6)),
              DateTime.now
            ],
            { concurrency: "unbounded" }
          )
          return show(site, frame, home(frame, { open: open.items, settled, board, today: today.items, now }))
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.leaderboard,
      published(
        ["category", "cursor"],
        Effect.fnUntraced(function* (frame) {
          const category = yield* chosen("category", Category)
          const board = yield* scoring.leaderboard(category, yield* listPage)
          return show(site, frame, leaderboard(frame, board, Category.literals))
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.challenges,
      published(
        ["status", "type", "cursor"],
        Effect.fnUntraced(function* (frame) {
          const status = (yield* chosen("status", DirectoryStatus)) ?? "open"
          const filter = { status, type: yield* chosen("type", ChallengeType) }
          const [page, now] = yield* Effect.all([directory.list(filter, yield* listPage), DateTime.now])
          return show(site, frame, views.challengeList(frame, { filter, page, now }))
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.events,
      published(
        ["space", "asset", "cursor"],
        Effect.fnUntraced(function* (frame) {
          const space = yield* chosen("space", Space)
          const asset = yield* named("asset")
          const page = yield* events.list({ space, asset }, yield* listPage)
          return show(site, frame, eventList(frame, { page, space, asset }))
        })
      )
    )
  })
)

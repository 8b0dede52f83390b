/** The archive for everybody to see. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Archive } from "../../../services/Archive.ts"
import { Pages } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import { archive as archivePage, tournament as tournamentPage } from "../views/archive.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { published, site } = yield* Pages
    const archive = yield* Archive

    yield* router.add(
      "GET",
      pagePaths.archive,
      published(
        ["cursor"],
        Effect.fnUntraced(function* (frame) {
          return show(site, frame, archivePage(frame, yield* archive.list(yield* listPage)))
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.tournament,
      published(
        ["cursor"],
        Effect.fnUntraced(function* (frame) {
          const { slug = "" } = yield* HttpRouter.params
          return show(site, frame, tournamentPage(frame, yield* archive.get(slug, yield* listPage)))
        })
      )
    )
  })
)

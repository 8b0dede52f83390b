/** Checking a proof in the browser: the server only says what the log's key is. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import { Pages } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { show, withScripts } from "../responses.ts"
import * as views from "../views/verify.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { published, site } = yield* Pages
    const log = yield* TransparencyLog

    yield* router.add(
      "GET",
      pagePaths.verify,
      published([], (frame) =>
        Effect.map(log.verifierKeys, (keys) =>
          show(site, frame, views.verify(frame, keys), { status: 200, headers: withScripts })
        )
      )
    )
  })
)

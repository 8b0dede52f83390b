/** What language models are given to read: made once, of the API and the settings, when it is first asked for. */
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Settings } from "../../services/Settings.ts"
import { readCalls } from "../guide/calls.ts"
import { llms, skill } from "../guide/skill.ts"
import { documents } from "../routes.ts"

/** New settings come with a new start; whoever cached the page has the new one soon. */
const headers = { "cache-control": "public, max-age=300" }

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    const page = yield* Effect.cached(Effect.sync(() => skill(settings, readCalls())))
    yield* router.add(
      "GET",
      documents.skill,
      Effect.map(page, (text) =>
        HttpServerResponse.text(text, { contentType: "text/markdown; charset=utf-8", headers })
      )
    )
    yield* router.add(
      "GET",
      documents.llms,
      HttpServerResponse.text(llms(settings), { contentType: "text/plain; charset=utf-8", headers })
    )
  })
)

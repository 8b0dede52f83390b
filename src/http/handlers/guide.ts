/** What language models are given to read: made once, of the API and the settings, when it is first asked for. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Settings } from "../../services/Settings.ts"
import { readCalls } from "../agentGuide/calls.ts"
import { llms, skill } from "../agentGuide/skill.ts"
import { documents } from "../routes.ts"
import { staticDocument, untilNextStart } from "../staticDocument.ts"

const text = (contentType: string, write: () => string) =>
  staticDocument(
    Effect.sync(() => ({
      bytes: Buffer.from(write()),
      contentType,
      headers: { "cache-control": untilNextStart }
    }))
  )

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    const skillPage = yield* text("text/markdown; charset=utf-8", () => skill(settings, readCalls()))
    const llmsPage = yield* text("text/plain; charset=utf-8", () => llms(settings))
    yield* router.add("GET", documents.skill, skillPage)
    yield* router.add("GET", documents.llms, llmsPage)
  })
)

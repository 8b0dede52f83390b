/** The documents beside the API: OpenAPI with its reference page, and the guide for agents. Each is made on its first request. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { OpenApi } from "effect/http-api"
import { Settings } from "../../services/Settings.ts"
import { makeGuide } from "../agentGuide/guide.ts"
import { llms } from "../agentGuide/skill.ts"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { errorResponse } from "../errors.ts"
import { refusedParameters } from "../unknownFields.ts"
import { forAgents, published } from "../api/document.ts"
import { documents } from "../routes.ts"
import { staticDocument, untilNextStart } from "../httpCaching.ts"
import { everybody, pageText, siteOf, withScripts } from "../site/responses.ts"
import type { Site } from "../site/responses.ts"
import { referenceView } from "../site/views/reference.ts"

type Published = ReturnType<typeof published>

const json = (write: () => object) =>
  staticDocument(
    Effect.sync(() => ({
      bytes: Buffer.from(JSON.stringify(write())),
      contentType: "application/json",
      headers: { "cache-control": untilNextStart }
    }))
  )

type Respond = Effect.Success<ReturnType<typeof staticDocument>>

/** A document that accepts these query parameters and no others. */
const taking =
  (names: ReadonlyArray<string>, respond: Respond): Respond =>
  (request) => {
    const refused = refusedParameters(request.url, names)
    return refused === undefined ? respond(request) : Effect.succeed(errorResponse(refused))
  }

/** `?for=agents` leaves out the endpoints of administrators. */
const openapi = Effect.fnUntraced(function* (api: Published) {
  const whole = yield* json(() => OpenApi.fromApi(api))
  const agents = yield* json(() => forAgents({ ...OpenApi.fromApi(api) }))
  return taking(["for"], (request) => {
    const [, ...query] = request.url.split("?")
    const readers = new URLSearchParams(query.join("?")).getAll("for")
    if (readers.length === 0) return whole(request)
    return readers.every((reader) => reader === "agents")
      ? agents(request)
      : Effect.succeed(
          errorResponse(InvalidRequest.of("for", 'Expected "agents", or nothing for the whole document'))
        )
  })
})

const reference = (api: Published, site: Site) =>
  staticDocument(
    Effect.sync(() => {
      const frame = everybody(site, "en")
      // JSON drops undefined members, as in the published document.
      const document: unknown = JSON.parse(JSON.stringify(OpenApi.fromApi(api)))
      return {
        bytes: Buffer.from(pageText(frame, referenceView(frame, document))),
        contentType: "text/html; charset=utf-8",
        headers: { ...site.headers, ...withScripts, "cache-control": untilNextStart }
      }
    })
  )

const text = (contentType: string, written: Effect.Effect<string>) =>
  staticDocument(
    Effect.map(written, (page) => ({
      bytes: Buffer.from(page),
      contentType,
      headers: { "cache-control": untilNextStart }
    }))
  )

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    const api = published(settings)
    yield* router.add("GET", documents.openapi, yield* openapi(api))
    yield* router.add("GET", documents.docs, yield* reference(api, siteOf(settings)))
    const { calls, guide } = yield* makeGuide
    const skillPage = yield* text("text/markdown; charset=utf-8", guide)
    const callsPage = yield* text("text/markdown; charset=utf-8", calls)
    const llmsPage = yield* text(
      "text/plain; charset=utf-8",
      Effect.sync(() => llms(settings))
    )
    yield* router.add("GET", documents.skill, taking([], skillPage))
    yield* router.add("GET", documents.calls, taking([], callsPage))
    yield* router.add("GET", documents.llms, taking([], llmsPage))
  })
)

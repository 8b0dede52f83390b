/** The documents beside the API: OpenAPI and its reference page, and the guide for agents. Each is made when first asked for. */
import { hash } from "node:crypto"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Gateway } from "../../services/Gateway.ts"
import { Settings } from "../../services/Settings.ts"
import { Targets } from "../../services/Targets.ts"
import { readCalls } from "../agentGuide/calls.ts"
import { llms, skill } from "../agentGuide/skill.ts"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { errorResponse } from "../errors.ts"
import { refusedParameters } from "../middleware/unknownFields.ts"
import { forAgents, published } from "../api/document.ts"
import { documents } from "../routes.ts"
import { staticDocument, untilNextStart } from "../httpCaching.ts"

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

/** A document that takes these query parameters and no others. */
const taking =
  (names: ReadonlyArray<string>, respond: Respond): Respond =>
  (request) => {
    const refused = refusedParameters(request.url, names)
    return refused === undefined ? respond(request) : Effect.succeed(errorResponse(refused))
  }

/** `?for=agents` leaves administration out. */
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

/**
 * Disables requests to other hosts (fonts, client, telemetry, sharing), and what a page without an origin cannot do.
 */
const scalar = {
  withDefaultFonts: false,
  hideClientButton: true,
  hideTestRequestButton: true,
  documentDownloadType: "none",
  showDeveloperTools: "never",
  telemetry: false
}

/** Scalar stores the colour mode in localStorage, which throws on a page without an origin. */
const storage = `<script>Object.defineProperty(window, "localStorage", { value: { getItem: () => null, setItem: () => {} } })</script>`

/** The page as Effect renders it. */
const rendered = Effect.fnUntraced(
  function* (api: Published) {
    const page = yield* HttpRouter.toHttpEffect(HttpApiScalar.layer(api, { path: documents.docs, scalar }))
    const { body } = yield* page.pipe(
      Effect.provideService(
        HttpServerRequest.HttpServerRequest,
        HttpServerRequest.fromWeb(new Request(new URL(documents.docs, "http://localhost")))
      )
    )
    return body._tag === "Uint8Array" ? Buffer.from(body.body).toString() : ""
  },
  Effect.scoped,
  Effect.orDie
)

/**
 * Operators are signed in on this origin, and the bundle is not ours: a sandbox without `allow-same-origin` takes the
 * origin from it. Browsers do not load a sandboxed page that also has Cross-Origin-Opener-Policy (HTML, "create
 * navigation params by fetching").
 */
const policyOf = (page: string): string => {
  const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(
    ([, text = ""]) => `'sha256-${hash("sha256", text, "base64")}'`
  )
  return [
    "default-src 'none'",
    `script-src ${scripts.join(" ")}`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "sandbox allow-scripts"
  ].join("; ")
}

const docs = (api: Published) =>
  staticDocument(
    Effect.map(rendered(api), (text) => {
      const page = text.replace("<script>", `${storage}<script>`)
      return {
        bytes: Buffer.from(page),
        contentType: "text/html; charset=utf-8",
        headers: {
          "cache-control": untilNextStart,
          "content-security-policy": policyOf(page),
          "x-frame-options": "DENY"
        }
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
    yield* router.add("GET", documents.docs, yield* docs(api))
    const gateway = yield* Gateway
    const targets = yield* Targets
    const guide = Effect.gen(function* () {
      const { categories } = yield* targets.catalog
      const models = yield* gateway.models
      return skill(settings, readCalls(OpenApi.fromApi(api)), {
        targets: categories.flatMap((category) => category.targets),
        hasGateway: models.length > 0
      })
    })
    const skillPage = yield* text("text/markdown; charset=utf-8", guide)
    const llmsPage = yield* text(
      "text/plain; charset=utf-8",
      Effect.sync(() => llms(settings))
    )
    yield* router.add("GET", documents.skill, taking([], skillPage))
    yield* router.add("GET", documents.llms, taking([], llmsPage))
  })
)

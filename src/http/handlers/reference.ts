/** The reference of the API: the OpenAPI document, and the page that Scalar makes of it for people. */
import { hash } from "node:crypto"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { documents } from "../routes.ts"
import { staticDocument, untilNextStart } from "../staticDocument.ts"

const openapi = staticDocument(
  Effect.sync(() => ({
    bytes: Buffer.from(JSON.stringify(OpenApi.fromApi(Api))),
    contentType: "application/json",
    headers: { "cache-control": untilNextStart }
  }))
)

/** Without what asks other hosts (fonts, the hosted client, telemetry, sharing), and what a page without an origin cannot do. */
const scalar = {
  withDefaultFonts: false,
  hideClientButton: true,
  hideTestRequestButton: true,
  documentDownloadType: "none",
  showDeveloperTools: "never",
  telemetry: false
}

/** Scalar keeps the choice of colours in the browser's storage, which a page without an origin has none of: it would stop there. */
const storage = `<script>Object.defineProperty(window, "localStorage", { value: { getItem: () => null, setItem: () => {} } })</script>`

/** The page as Effect writes it. */
const written = Effect.gen(function* () {
  const page = yield* HttpRouter.toHttpEffect(HttpApiScalar.layer(Api, { path: documents.docs, scalar }))
  const { body } = yield* page.pipe(
    Effect.provideService(
      HttpServerRequest.HttpServerRequest,
      HttpServerRequest.fromWeb(new Request(new URL(documents.docs, "http://localhost")))
    )
  )
  return body._tag === "Uint8Array" ? Buffer.from(body.body).toString() : ""
}).pipe(Effect.scoped, Effect.orDie)

/**
 * The bundle is not ours, and operators are signed in on this origin: in a sandbox without `allow-same-origin` it runs on none.
 * Browsers do not load a sandboxed page that also has Cross-Origin-Opener-Policy (HTML, "create navigation params by fetching").
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

const docs = staticDocument(
  Effect.map(written, (text) => {
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

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    yield* router.add("GET", documents.openapi, yield* openapi)
    yield* router.add("GET", documents.docs, yield* docs)
  })
)

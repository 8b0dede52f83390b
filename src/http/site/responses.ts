/** Pages as responses. */
import { Effect, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../services/errors.ts"
import type { Page as ListPage } from "../../services/paging.ts"
import { text } from "../../services/text.ts"
import { html, render } from "./views/html.ts"
import { document } from "./views/layout.ts"
import type { Frame, Page } from "./views/layout.ts"
import { refusal } from "./views/errorPage.ts"

/** No script, nothing from elsewhere, in nobody's frame; forms lead to us only. */
const rules = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'"
]

/** For a page with scripts of ours, in files of their own, which fetch nothing but from us and write no markup. */
export const withScripts = {
  "content-security-policy": [
    ...rules,
    "script-src 'self'",
    "connect-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'"
  ].join("; ")
}

/** For a page whose forms lead on to pages of another origin: browsers hold redirects to the rule, too. */
export const withFormsTo = (origin: string) => ({
  "content-security-policy": rules
    .map((rule) => (rule.startsWith("form-action") ? `${rule} ${origin}` : rule))
    .join("; ")
})

const headers = {
  "content-security-policy": rules.join("; "),
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "cache-control": "no-store"
}

/** How pages are linked and answered below a base URL. */
export interface Site {
  readonly at: (path: string) => string
  /** What goes with every answer, whether it shows something or leads on. */
  readonly headers: Readonly<Record<string, string>>
}

export const siteOf = (baseUrl: string): Site => {
  const below = new URL(baseUrl).pathname.replace(/\/$/, "")
  return {
    at: (path) => below + path,
    headers: baseUrl.startsWith("https:")
      ? { ...headers, "strict-transport-security": "max-age=31536000" }
      : headers
  }
}

export const show = (
  site: Site,
  frame: Frame,
  page: Page,
  options: { readonly status: number; readonly headers?: Readonly<Record<string, string>> } = { status: 200 }
) =>
  HttpServerResponse.text(render(html`${document(frame, page)}`), {
    status: options.status,
    contentType: "text/html",
    headers: { ...site.headers, ...options.headers }
  })

/** Leads on with a GET, also from a POST. */
export const goTo = (site: Site, location: string) =>
  HttpServerResponse.empty({ status: 303, headers: { ...site.headers, location } })

/** Says what is wrong; needs no session, so it can answer for any failure. `frame` is the operator's, once identified. */
export const refuse = (
  site: Site,
  options: {
    readonly status: number
    readonly detail: string
    readonly requestId: string
    readonly headers?: Readonly<Record<string, string>>
    readonly frame?: Frame
  }
) => {
  const nobody: Frame = { at: site.at, operator: null, formToken: "", providerName: null }
  return show(site, options.frame ?? nobody, refusal(options), options)
}

/** What stands behind the question mark of the address. */
export const query = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ url }) => new URLSearchParams(url.split("?").slice(1).join("?"))
)

/** What stands there once, or not at all. */
const parameter = Effect.fnUntraced(function* (name: string) {
  const [value, ...more] = (yield* query).getAll(name)
  return more.length > 0 ? yield* InvalidRequest.of(name, "Expected it once") : value
})

/** What a list is filtered by; nothing when it is left out. */
export const chosen = Effect.fnUntraced(function* <Value extends string>(
  name: string,
  values: Schema.Literals<ReadonlyArray<Value>>
) {
  const value = yield* parameter(name)
  if (value === undefined || value === "") return undefined
  const found = values.literals.find((each) => each === value)
  return found ?? (yield* InvalidRequest.of(name, `Expected one of ${values.literals.join(", ")}`))
})

const maxName = 20

const readName = Schema.decodeEffect(text({ minimum: 1, maximum: maxName }))

/** What a list is filtered by, of names that are not known beforehand; nothing when it is left out. */
export const named = Effect.fnUntraced(function* (name: string) {
  const value = yield* parameter(name)
  if (value === undefined || value === "") return undefined
  return yield* readName(value).pipe(
    Effect.catchTag("SchemaError", () =>
      InvalidRequest.of(name, `Expected text of at most ${maxName} characters`)
    )
  )
})

/** As many as a person looks through; the API has more in a page. */
const shownAtOnce = 50

/** The page of a list that the address asks for. */
export const listPage: Effect.Effect<ListPage, InvalidRequest, Effect.Services<typeof query>> = Effect.map(
  parameter("cursor"),
  (cursor) => ({ limit: shownAtOnce, cursor })
)

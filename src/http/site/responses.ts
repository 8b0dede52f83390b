/** Pages as responses, and the query parameters of lists. */
import { Effect, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../services/domain/errors.ts"
import type { Page as ListPage } from "../../services/domain/paging.ts"
import { text } from "../../services/domain/text.ts"
import { catalogues } from "./catalogue/catalogue.ts"
import { html, render } from "./views/html.ts"
import { challengesPage, eventsPage, leaderboardPage, pagePaths } from "./paths.ts"
import { document, searchForm } from "./views/layout.ts"
import type { Frame, Page } from "./views/layout.ts"

/** Of pages for one person: no scripts, nothing from other origins, no framing; forms post to this site only. */
const rules = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'"
]

/** Of pages for everybody, with our own script files, which fetch from this site only and write no markup. */
export const withScripts = {
  "content-security-policy": [
    ...rules,
    "script-src 'self'",
    "connect-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'"
  ].join("; ")
}

/** For a page whose forms redirect to another origin: browsers apply `form-action` to redirects. */
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

/** Links and headers for a base URL. */
export interface Site {
  readonly at: (path: string) => string
  readonly origin: string
  /** Headers of every page and redirect. */
  readonly headers: Readonly<Record<string, string>>
}

export const siteOf = (baseUrl: string): Site => {
  const { origin, pathname } = new URL(baseUrl)
  const below = pathname.replace(/\/$/, "")
  return {
    origin,
    at: (path) => below + path,
    headers: baseUrl.startsWith("https:")
      ? { ...headers, "strict-transport-security": "max-age=31536000" }
      : headers
  }
}

/** What whoever is not signed in sees. */
export const everybody = (site: Site): Frame => ({
  at: site.at,
  origin: site.origin,
  operator: null,
  formToken: "",
  providerName: null,
  say: catalogues.en,
  legal: []
})

export const pageText = (frame: Frame, page: Page): string => render(html`${document(frame, page)}`)

export const show = (
  site: Site,
  frame: Frame,
  page: Page,
  options: { readonly status: number; readonly headers?: Readonly<Record<string, string>> } = { status: 200 }
) =>
  HttpServerResponse.text(pageText(frame, page), {
    status: options.status,
    contentType: "text/html",
    headers: { ...site.headers, ...(page.audience === "everybody" && withScripts), ...options.headers }
  })

/** Redirects with a GET, also after a POST. */
export const goTo = (site: Site, location: string) =>
  HttpServerResponse.empty({ status: 303, headers: { ...site.headers, location } })

/** The page of any failure. It needs no session and no database, so it cannot fail itself. */
export const showError = (
  site: Site,
  options: {
    readonly status: number
    readonly detail: string
    readonly requestId: string
    readonly headers?: Readonly<Record<string, string>>
    readonly frame?: Frame
  }
) => {
  const frame = options.frame ?? everybody(site)
  return show(site, frame, errorView(frame, options), options)
}

export const query = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ url }) => new URLSearchParams(url.split("?").slice(1).join("?"))
)

/** A parameter of the query; undefined when absent. */
export const parameter = Effect.fnUntraced(function* (name: string) {
  const [value, ...more] = (yield* query).getAll(name)
  return more.length > 0 ? yield* InvalidRequest.of(name, "Expected it once") : value
})

/** A filter with known values; undefined when absent. */
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

/** A filter by any name; undefined when absent. */
export const named = Effect.fnUntraced(function* (name: string) {
  const value = yield* parameter(name)
  if (value === undefined || value === "") return undefined
  return yield* readName(value).pipe(
    Effect.catchTag("SchemaError", () =>
      InvalidRequest.of(name, `Expected text of at most ${maxName} characters`)
    )
  )
})

/** For reading; the API has more a page. */
const itemsPerPage = 50

/** The requested page of a list. */
export const listPage: Effect.Effect<ListPage, InvalidRequest, Effect.Services<typeof query>> = Effect.map(
  parameter("cursor"),
  (cursor) => ({ limit: itemsPerPage, cursor })
)

const titles: Readonly<Record<number, string>> = {
  400: "That did not work",
  403: "That was refused",
  404: "Page not found",
  405: "That did not work",
  410: "This has ended",
  413: "That was too much",
  415: "That did not work",
  429: "Too many requests",
  503: "Back in a moment"
}

const titleOf = (status: number): string => titles[status] ?? "Something went wrong"

/** `detail` says what is wrong and what would be right. Who found no page may look for it. */
const errorView = (
  frame: Frame,
  options: {
    readonly status: number
    readonly detail: string
    readonly requestId: string
  }
): Page => ({
  title: titleOf(options.status),
  content: html`
    <h1>${titleOf(options.status)}</h1>
    <p class="lead">${options.detail}</p>
    ${
      options.status === 404
        ? html`${searchForm(frame)}
            <p>
              Or see <a href=${frame.at(challengesPage())}>what is open</a>,
              <a href=${frame.at(leaderboardPage())}>the leaderboard</a>,
              <a href=${frame.at(eventsPage())}>events</a>, or
              <a href=${frame.at(pagePaths.howItWorks)}>how it works</a>.
            </p>`
        : null
    }
    <p class="quiet small">Reference for support: <code>${options.requestId}</code></p>
  `
})

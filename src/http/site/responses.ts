/** Pages as responses, and the query parameters of lists. */
import { Effect, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../services/domain/errors.ts"
import type { Page as ListPage } from "../../services/domain/paging.ts"
import { text } from "../../services/domain/text.ts"
import type { Settings } from "../../services/Settings.ts"
import { allMessages, languages } from "./messages/messages.ts"
import type { Language } from "./messages/messages.ts"
import { html, render } from "./views/html.ts"
import {
  challengesPage,
  eventsPage,
  isTranslated,
  leaderboardPage,
  pagePaths,
  withLanguage
} from "./paths.ts"
import { document, searchForm } from "./views/layout.ts"
import type { Frame, Page } from "./views/layout.ts"

/** The policy of personal pages: no scripts, nothing from other origins, no framing; forms post to this site only. */
const rules = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'"
]

/** The policy of public pages: our own script files, which fetch from this site only and write no markup. */
export const withScripts = {
  "content-security-policy": [
    ...rules,
    "script-src 'self'",
    "connect-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'"
  ].join("; ")
}

/** The policy of a page whose forms redirect to another origin: browsers apply `form-action` to redirects. */
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
  /** The language of readers who name none. */
  readonly language: Language
}

export const siteOf = ({ baseUrl, site }: Pick<Settings["Service"], "baseUrl" | "site">): Site => {
  const { origin, pathname } = new URL(baseUrl)
  const below = pathname.replace(/\/$/, "")
  return {
    origin,
    language: site === "cn" ? "zh" : "en",
    at: (path) => below + path,
    headers: baseUrl.startsWith("https:")
      ? { ...headers, "strict-transport-security": "max-age=31536000" }
      : headers
  }
}

/** The frame of a page for a reader who is not signed in. Links to translated pages keep the language of the page. */
export const everybody = (site: Site, language = site.language): Frame => ({
  at: (path) =>
    site.at(language !== site.language && isTranslated(path) ? withLanguage(path, language) : path),
  origin: site.origin,
  operator: null,
  formToken: "",
  providerName: null,
  t: allMessages[language],
  legal: []
})

/** The parameters of the query, in which a second question mark is text. */
export const parametersOf = (url: string): URLSearchParams =>
  new URLSearchParams(url.split("?").slice(1).join("?"))

/** The requested language, known or not. */
export const urlLanguage = (url: string): string | null => parametersOf(url).get("lang")

export const knownLanguage = (language: string | null | undefined): Language | undefined =>
  languages.find((each) => each === language)

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

/** Redirects with a GET, even after a POST. */
export const goTo = (site: Site, location: string) =>
  HttpServerResponse.empty({ status: 303, headers: { ...site.headers, location } })

/** The page of a failure. It needs no session and no database, so it cannot fail itself. */
export const showError = (
  site: Site,
  frame: Frame,
  options: {
    readonly status: number
    readonly detail: string
    readonly requestId: string
    readonly headers?: Readonly<Record<string, string>>
  }
) => show(site, frame, errorView(frame, options), options)

export const query = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => parametersOf(url))

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

/** A list on a page has fewer items than one of the API. */
const itemsPerPage = 50

/** The requested page of a list. */
export const listPage: Effect.Effect<ListPage, InvalidRequest, Effect.Services<typeof query>> = Effect.map(
  parameter("cursor"),
  (cursor) => ({ limit: itemsPerPage, cursor })
)

/** `detail` names the problem and its remedy in the words of the API. A 404 offers a search. */
const errorView = (
  frame: Frame,
  options: {
    readonly status: number
    readonly detail: string
    readonly requestId: string
  }
): Page => {
  const { forSupport, orSee, other, titles } = frame.t.doors.errors
  const title = titles[options.status] ?? other
  return {
    title,
    content: html`
      <h1>${title}</h1>
      <p class="lead" lang="en">${options.detail}</p>
      ${
        options.status === 404
          ? html`${searchForm(frame)}
              <p>
                ${orSee[0]}<a href=${frame.at(challengesPage())}>${orSee[1]}</a>${orSee[2]}<a
                  href=${frame.at(leaderboardPage())}
                  >${orSee[3]}</a
                >${orSee[4]}<a href=${frame.at(eventsPage())}>${orSee[5]}</a>${orSee[6]}<a
                  href=${frame.at(pagePaths.howItWorks)}
                  >${orSee[7]}</a
                >${orSee[8]}
              </p>`
          : null
      }
      <p class="quiet small">${forSupport}<code>${options.requestId}</code></p>
    `
  }
}

/** The layout of every page: document head, masthead and footer. */
import { accountPage } from "../../../services/Operators.ts"
import type { Operator } from "../../../services/Operators.ts"
import type { LegalName } from "../../../services/Settings.ts"
import { icon, stylesheet } from "../assets/assets.ts"
import { liveScript, sortingScript } from "../assets/scripts.ts"
import {
  archivePage,
  challengesPage,
  eventsPage,
  feedFormats,
  homePage,
  leaderboardPage,
  legalPage,
  pagePaths,
  pictureOf,
  searchPage,
  verifyPage,
  withLanguage
} from "../paths.ts"
import type { FeedLink } from "../paths.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"

/** The frame of a page depends on its request. */
export interface Frame {
  /** The link to a path: the service may live below a path of its host. */
  readonly at: (path: string) => string
  /** The origin of the service, for links that are read elsewhere. */
  readonly origin: string
  readonly operator: Operator | null
  /** The hidden field of every form; it proves that the form is ours. */
  readonly formToken: string
  /** The display name of the identity provider. */
  readonly providerName: string | null
  readonly t: Messages
  /** The path of a personal page, if it exists in the other language, too. */
  readonly translation?: string
  /** The names of the operator's texts that exist. */
  readonly legal: ReadonlyArray<LegalName>
}

export interface Page {
  /** The title without the service's name, which the layout appends. */
  readonly title: string
  readonly content: Html
  /** One sentence that describes the page in chats and search results. */
  readonly description?: string
  /** The canonical path: without cursors and filters. */
  readonly path?: string
  /** The path of the Open Graph image; by default that of the site. */
  readonly picture?: string
  /** The path of the page, if it exists in the other language, too. */
  readonly translation?: string
  /** Structured data of schema.org. */
  readonly about?: Readonly<Record<string, unknown>>
  /** Without it, the page asks search engines not to index it. */
  readonly audience?: "everybody"
  /** The menu entry of the page. */
  readonly below?: MenuPath
  /** Feeds with the same content. */
  readonly feeds?: ReadonlyArray<FeedLink>
  /** The source of live updates: a challenge by its id, or any public notice. */
  readonly live?: string
  /** The table has heads marked `data-sortable`. */
  readonly isSortable?: boolean
  /** The wide layout is for tables and charts; texts keep lines of a comfortable length. */
  readonly width?: "wide"
}

/** The public menu. */
const menu = [
  [challengesPage(), "challenges"],
  [leaderboardPage(), "leaderboard"],
  [eventsPage(), "events"],
  [archivePage, "archive"]
] as const
export type MenuPath = "/challenges" | "/leaderboard" | "/events" | "/archive"

/** The links of the footer. */
const about = [
  [pagePaths.howItWorks, "howItWorks"],
  [pagePaths.scoring, "scoring"],
  [pagePaths.start, "enter"],
  ["/docs", "reference"],
  [pagePaths.log, "log"],
  [verifyPage(), "check"],
  [pagePaths.status, "status"]
] as const

const stream = "/api/v1/public/notices/stream"

export const formTokenField = "form_token"

const mark = html`<svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
  <g fill="none" stroke="currentColor" stroke-width="2.25" stroke-linecap="round" stroke-linejoin="round">
    <circle cx="16" cy="16" r="14" />
    <path d="M7 15.5c3-3.4 6.9-3 9 1.3 2.1-4.3 6-4.7 9-1.3" />
  </g>
</svg>`

/** Keeps the language of a GET form: browsers drop the query of its action. */
export const languageField = (frame: Frame, path: string): Html => {
  const language = new URLSearchParams(frame.at(path).split("?")[1]).get("lang")
  return language === null ? null : html`<input type="hidden" name="lang" value=${language} />`
}

/** The search field, filled with the previous search. */
export const searchForm = (frame: Frame, text = "", where: "page" | "masthead" = "page") =>
  html`<form
    class="search"
    role="search"
    aria-label=${where === "page" ? frame.t.whatToFind : frame.t.site}
    method="get"
    action=${frame.at(searchPage())}
  >
    <label class="unseen" for=${`q-${where}`}>${frame.t.search}</label>
    <input
      id=${`q-${where}`}
      name="q"
      type="search"
      placeholder=${where === "page" ? undefined : frame.t.search}
      maxlength="100"
      value=${text}
    />
    ${languageField(frame, searchPage())}
    ${where === "page" ? html`<button>${frame.t.search}</button>` : null}
  </form>`

const accountMenu = (frame: Frame) =>
  frame.operator === null
    ? html`<nav class="account" aria-label=${frame.t.account}>
        <a href=${frame.at(accountPage)}>${frame.t.forOwners}</a>
      </nav>`
    : html`<nav class="account" aria-label=${frame.t.account}>
        <a href=${frame.at(accountPage)}>${frame.t.yourAgents}</a>
        <form class="inline" method="post" action=${frame.at("/sign-out")}>
          <input type="hidden" name=${formTokenField} value=${frame.formToken} />
          <button>${frame.t.signOut}</button>
        </form>
      </nav>`

/** Structured data for search engines. Browsers do not run it, and no text in it can end the element. */
const structured = (about: Readonly<Record<string, unknown>>) =>
  html`<script
    type="application/ld+json"
    dangerouslySetInnerHTML=${{
      __html: JSON.stringify({ "@context": "https://schema.org", ...about }).replaceAll("<", "\\u003c")
    }}
  />`

const otherLanguage = ({ tag }: Messages) => (tag === "en" ? "zh" : "en")

/** The data of link previews (OpenGraph), and the canonical address. */
const unfurling = (
  frame: Frame,
  title: string,
  {
    about,
    translation,
    description = frame.t.slogan,
    path,
    picture = pictureOf(homePage)
  }: Omit<Page, "title" | "content">
) => {
  const address = path === undefined ? undefined : frame.origin + frame.at(path)
  return html`<meta name="description" content=${description} />
    <meta property="og:type" content="website" />
    <meta property="og:site_name" content="Auspex" />
    <meta property="og:title" content=${title} />
    <meta property="og:description" content=${description} />
    <meta property="og:image" content=${frame.origin + frame.at(picture)} />
    <meta property="og:image:width" content="1200" />
    <meta property="og:image:height" content="630" />
    <meta name="twitter:card" content="summary_large_image" />
    ${about === undefined ? null : structured(about)}
    ${
      translation === undefined
        ? null
        : html`<link
            rel="alternate"
            hreflang=${frame.t.otherTag}
            href=${frame.origin + frame.at(translation)}
          />`
    }
    ${
      address === undefined
        ? null
        : html`<link rel="canonical" href=${address} /> <meta property="og:url" content=${address} />`
    }`
}

export const document = (
  frame: Frame,
  {
    audience,
    below,
    content,
    feeds = [],
    isSortable = false,
    live,
    title,
    translation = frame.translation,
    width,
    ...page
  }: Page
): Html => {
  const { t } = frame
  const other = translation === undefined ? undefined : withLanguage(translation, otherLanguage(t))
  return html`<html lang=${t.tag}>
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      ${audience === "everybody" ? null : html`<meta name="robots" content="noindex" />`}
      <title>${title} · Auspex</title>
      ${audience === "everybody" ? unfurling(frame, title, { ...page, ...(other !== undefined && { translation: other }) }) : null}
      <link rel="stylesheet" href=${frame.at(stylesheet.path)} />
      <link rel="icon" type="image/svg+xml" href=${frame.at(icon.path)} />
      ${audience === "everybody" ? html`<script type="module" src=${frame.at(liveScript)}></script>` : null}
      ${isSortable ? html`<script type="module" src=${frame.at(sortingScript)}></script>` : null}
      ${feeds.flatMap((feed) =>
        Object.entries(feedFormats).map(
          ([format, type]) =>
            html`<link
              rel="alternate"
              type=${type}
              title=${feed.title}
              href=${frame.at(`${feed.path}/${format}`)}
            />`
        )
      )}
    </head>
    <body class=${width}>
      <a class="skip" href="#content">${t.skip}</a>
      <header class="masthead">
        <div>
          <a class="wordmark" href=${frame.at(homePage)}>${mark}Auspex</a>
          <nav aria-label=${t.site}>
            ${menu.map(
              ([path, name]) =>
                html`<a href=${frame.at(path)} aria-current=${path === below ? "page" : undefined}
                  >${t[name]}</a
                >`
            )}
          </nav>
          ${searchForm(frame, "", "masthead")} ${accountMenu(frame)}
        </div>
      </header>
      <main id="content" data-live=${live} data-stream=${live === undefined ? undefined : frame.at(stream)}>
        ${content}
      </main>
      <p class="unseen" id="live" role="status"></p>
      <footer class="colophon">
        <div>
          <span>${t.slogan}</span>
          <nav aria-label=${t.about}>
            ${about.map(([path, name]) => html`<a href=${frame.at(path)}>${t[name]}</a>`)}
            ${frame.legal.map((name) => html`<a href=${frame.at(legalPage(name))}>${t[name]}</a>`)}
            ${
              other === undefined
                ? null
                : html`<a href=${frame.at(other)} lang=${t.otherTag} hreflang=${t.otherTag}>${t.other}</a>`
            }
          </nav>
        </div>
      </footer>
    </body>
  </html>`
}

/** A part of a page for a frame on another site: its links open in a window of their own. */
export const embedded = (frame: Frame, title: string, content: Html): Html => html`
  <html lang=${frame.t.tag}>
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="robots" content="noindex" />
      <title>${title} · Auspex</title>
      <base target="_blank" />
      <link rel="stylesheet" href=${frame.at(stylesheet.path)} />
    </head>
    <body class="embedded">
      ${content}
      <p class="quiet small"><a class="wordmark" href=${frame.at(homePage)}>${mark}Auspex</a></p>
    </body>
  </html>
`

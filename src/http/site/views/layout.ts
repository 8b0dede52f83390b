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

/** What a page needs to know of its request. */
export interface Frame {
  /** The link to a path: the service may live below a path of its host. */
  readonly at: (path: string) => string
  /** The host that it is served at, for links that are read elsewhere. */
  readonly origin: string
  readonly operator: Operator | null
  /** The hidden field of every form, which proves that it is ours. */
  readonly formToken: string
  /** The display name of the identity provider. */
  readonly providerName: string | null
  readonly t: Messages
  /** The path of a page for one person, which is in the other language, too. */
  readonly translation?: string
  /** The texts of the operator that there are. */
  readonly legal: ReadonlyArray<LegalName>
}

export interface Page {
  /** The browser appends the service's name. */
  readonly title: string
  readonly content: Html
  /** What a link to it says in a chat or a list of results, in a sentence. */
  readonly description?: string
  /** Its path without what only leafs or filters. */
  readonly path?: string
  /** The path of the picture beside links to it; else that of the site. */
  readonly picture?: string
  /** Its path, where it is in the other language, too. */
  readonly translation?: string
  /** What it is in the words of schema.org. */
  readonly about?: Readonly<Record<string, unknown>>
  /** Pages without it ask search engines not to index them. */
  readonly audience?: "everybody"
  /** The menu entry it belongs to. */
  readonly below?: MenuPath
  /** The feeds that tell the same. */
  readonly feeds?: ReadonlyArray<FeedLink>
  /** What brings it up to date: a challenge by its id, or any notice for everybody. */
  readonly live?: string
  /** Has heads of columns marked `data-sortable`. */
  readonly isSortable?: boolean
  /** For tables and charts; texts have lines of a comfortable length. */
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

/** Of the footer. */
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

/** Keeps the language of a form that leads to a page by GET: browsers drop the query of its action. */
export const languageField = (frame: Frame, path: string): Html => {
  const language = new URLSearchParams(frame.at(path).split("?")[1]).get("lang")
  return language === null ? null : html`<input type="hidden" name="lang" value=${language} />`
}

/** The text that was searched for is in the field again. */
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

/** Data for search engines, which no browser runs. No text in it ends the element. */
const structured = (about: Readonly<Record<string, unknown>>) =>
  html`<script
    type="application/ld+json"
    dangerouslySetInnerHTML=${{
      __html: JSON.stringify({ "@context": "https://schema.org", ...about }).replaceAll("<", "\\u003c")
    }}
  />`

const otherLanguage = ({ tag }: Messages) => (tag === "en" ? "zh" : "en")

/** What a link to the page shows elsewhere (OpenGraph), and the one address that it is to be found at. */
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

/** A part of a page, for a frame on another site: its links open a window of their own. */
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

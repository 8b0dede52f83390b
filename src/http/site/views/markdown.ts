/** Renders Markdown: texts of the service, of its operator, and of agents. HTML in them is escaped. */
import { hash } from "node:crypto"
import { micromark } from "micromark"
import { gfmTable, gfmTableHtml } from "micromark-extension-gfm-table"
import { html } from "./html.ts"
import type { Html } from "./html.ts"

/** Front matter at the start of a page for agents is not shown to people. */
const frontMatter = /^---\n[^]*?\n---\n/

/** A text of the service or of its operator; its headings start one level below the page's. `language` may differ from the page's. */
export const document = (text: string, language?: string): Html => {
  const markup = micromark(text.replace(frontMatter, ""), {
    extensions: [gfmTable()],
    htmlExtensions: [gfmTableHtml()]
  })
  const inPage = markup
    .replaceAll(/<(\/?)h([1-5])>/g, (_, end: string, level: string) => `<${end}h${Number(level) + 1}>`)
    .replaceAll("<pre>", '<pre tabindex="0">')
    // An empty head cell becomes a data cell.
    .replaceAll(/<th([^>]*)><\/th>/g, "<td$1></td>")
  return html`<div class="prose written" lang=${language} dangerouslySetInnerHTML=${{ __html: inPage }} />`
}

/** Images and headings would load resources or disturb the page's outline. HTML is never markup here, and finding its end is costly. */
const withheld = [
  "labelStartImage",
  "headingAtx",
  "setextUnderline",
  "thematicBreak",
  "definition",
  "htmlFlow",
  "htmlText"
]

/** Micromark's work grows with the square of the number of these marks: delimiters, list and quote markers, brackets, lines, indentation. */
const marks = /\*{1,2}|_{1,2}|`+|~+|[#=|]+|[-+](?=\s|$)|\d[.)](?=\s|$)|[[\]<>&\\!\n\r\t]| {2}/gm
const maxMarks = 250

const isSimple = (text: string): boolean => {
  let count = 0
  for (const _ of text.matchAll(marks)) {
    count += 1
    if (count > maxMarks) return false
  }
  return true
}

/** Rendered texts by the hash of their source. Above this many characters the oldest are dropped. */
const rendered = new Map<string, string>()
const maxRendered = 8 * 1024 * 1024
let renderedLength = 0

const markupOf = (text: string): string => {
  const key = hash("sha256", text, "base64")
  const known = rendered.get(key)
  if (known !== undefined) return known
  const markup = micromark(text, { extensions: [{ disable: { null: withheld } }] })
    .replaceAll('<a href=""', "<a")
    .replaceAll('<a href="', '<a rel="nofollow ugc noopener noreferrer" href="')
  rendered.set(key, markup)
  renderedLength += markup.length
  for (const [oldest, { length }] of rendered) {
    if (renderedLength <= maxRendered) break
    rendered.delete(oldest)
    renderedLength -= length
  }
  return markup
}

/**
 * A text of an agent. Micromark escapes HTML and drops addresses that are not http, https or mailto. Crawlers do not follow
 * its links, and browsers send no referrer with them. A text with too many marks is shown unrendered.
 */
export const userText = (text: string): Html =>
  isSimple(text)
    ? html`<div class="long-text" dir="auto" dangerouslySetInnerHTML=${{ __html: markupOf(text) }} />`
    : html`<div class="long-text" dir="auto">${text}</div>`

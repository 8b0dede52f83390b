/** Markdown as markup: texts of ours and of the operator, and what agents wrote. Neither may hold HTML. */
import { hash } from "node:crypto"
import { micromark } from "micromark"
import { gfmTable, gfmTableHtml } from "micromark-extension-gfm-table"
import { html } from "./html.ts"
import type { Html } from "./html.ts"

/** The block of names and values that a page for agents begins with is not for people. */
const frontMatter = /^---\n[^]*?\n---\n/

/** A text of the service or of its operator, whose headings begin below that of the page. `language` where it may be another than the page's. */
export const document = (text: string, language?: string): Html => {
  const markup = micromark(text.replace(frontMatter, ""), {
    extensions: [gfmTable()],
    htmlExtensions: [gfmTableHtml()]
  })
  const inPage = markup
    .replaceAll(/<(\/?)h([1-5])>/g, (_, end: string, level: string) => `<${end}h${Number(level) + 1}>`)
    .replaceAll("<pre>", '<pre tabindex="0">')
    // A header without a word is none.
    .replaceAll(/<th([^>]*)><\/th>/g, "<td$1></td>")
  return html`<div class="prose written" lang=${language} dangerouslySetInnerHTML=${{ __html: inPage }} />`
}

/** These would load something or stand in the order of the page; HTML is never markup here, and looking for its end costs much. */
const withheld = [
  "labelStartImage",
  "headingAtx",
  "setextUnderline",
  "thematicBreak",
  "definition",
  "htmlFlow",
  "htmlText"
]

/** Micromark's work grows with the square of these: delimiters, markers of lists and quotes, brackets, lines, indentation. */
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

/** Markup by the hash of its text; the oldest leave once the markup exceeds this many characters. */
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
 * A text that an agent wrote. Micromark escapes HTML and drops addresses that are not http, https or mailto. Crawlers do not follow
 * its links, which do not tell where a reader comes from. A text with very many marks is shown as it was written.
 */
export const userText = (text: string): Html =>
  isSimple(text)
    ? html`<div class="long-text" dir="auto" dangerouslySetInnerHTML=${{ __html: markupOf(text) }} />`
    : html`<div class="long-text" dir="auto">${text}</div>`

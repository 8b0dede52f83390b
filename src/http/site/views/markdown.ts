/** Markdown as markup: texts of ours and of the operator, and what agents wrote. Neither may hold HTML. */
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

/** What would load something, or stand in the order of the page. */
const withheld = ["labelStartImage", "headingAtx", "setextUnderline", "thematicBreak", "definition"]

/**
 * What somebody wrote. Micromark escapes HTML and drops addresses that are not http, https or mailto. Its links are not
 * followed by crawlers, and learn nothing of where a reader came from.
 */
export const userText = (text: string): Html => {
  const markup = micromark(text, { extensions: [{ disable: { null: withheld } }] })
  const marked = markup
    .replaceAll('<a href=""', "<a")
    .replaceAll('<a href="', '<a rel="nofollow ugc noopener noreferrer" href="')
  return html`<div class="long-text" dir="auto" dangerouslySetInnerHTML=${{ __html: marked }} />`
}

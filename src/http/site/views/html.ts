/**
 * Markup as templates: `` html`<p>${text}</p>` ``. Values in `${}` are escaped, as text or as attributes; null,
 * undefined and false render nothing. Parts of a page are plain functions that return `Html`.
 */
import { html as markup } from "htm/preact"
import { Fragment, h } from "preact"
import type { ComponentChildren } from "preact"
import { renderToString } from "preact-render-to-string"

export type Html = ComponentChildren

const templates = new WeakMap<TemplateStringsArray, TemplateStringsArray>()

/** htm drops white space around line breaks, as JSX does, while the formatter breaks lines where HTML allows it. */
const withSpaces = (strings: TemplateStringsArray): TemplateStringsArray => {
  const known = templates.get(strings)
  if (known !== undefined) return known
  const spaced = Object.assign(
    strings.map((text) => text.replaceAll(/\s+/g, " ")),
    { raw: strings.raw }
  )
  templates.set(strings, spaced)
  return spaced
}

/** White space has its HTML meaning; elements are closed as in JSX: `<br />`. */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<unknown>): Html =>
  markup(withSpaces(strings), ...values)

/** Code and values that are sent back stay unchanged. */
const verbatim =
  /(<(?:pre|code|textarea|script|style)\b[\s\S]*?<\/(?:pre|code|textarea|script|style)>|<(?:"[^"]*"|[^">])*>)/

/** A number and its sign or unit stay on one line: "54.5 %", "▲ Up", "3.1 ± 0.05". */
const withUnits = (page: string): string =>
  page
    .split(verbatim)
    .map((part, index) =>
      index % 2 === 1 ? part : part.replaceAll(/(?<=\d) (?=[%±])|(?<=[▲▼■±]) (?=\S)/g, "\u00A0")
    )
    .join("")

/** Markup by itself, such as a drawing. */
export const fragment = (content: Html): string => renderToString(h(Fragment, null, content))

export const render = (page: Html): string => `<!doctype html>${withUnits(fragment(page))}`

/** Characters that XML cannot represent (XML 1.0, 2.2). */
const notOfXml = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

/** The text without characters that XML cannot represent. */
export const xmlText = (text: string): string => text.replaceAll(notOfXml, "\ufffd")

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

/** White space means what it means in HTML; elements are closed as in JSX: `<br />`. */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<unknown>): Html =>
  markup(withSpaces(strings), ...values)

/** Markup by itself, such as a drawing. */
export const fragment = (content: Html): string => renderToString(h(Fragment, null, content))

export const render = (page: Html): string => `<!doctype html>${fragment(page)}`

/**
 * How pages are written: `` html`<p>${text}</p>` ``. Whatever stands in `${}` is escaped, as text or as an attribute's
 * value; null, undefined and false leave nothing. Parts of a page are plain functions that answer `Html`, so the type
 * checker sees what each of them needs.
 */
import { html as markup } from "htm/preact"
import { Fragment, h } from "preact"
import type { ComponentChildren } from "preact"
import { renderToString } from "preact-render-to-string"

/** A piece of a page, ready to stand in another one. */
export type Html = ComponentChildren

const templates = new WeakMap<TemplateStringsArray, TemplateStringsArray>()

/** htm would drop white space around line breaks, as JSX does; the formatter breaks lines as HTML allows it. */
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

/** Markup with its values escaped. White space means what it means in HTML; elements are closed as in JSX: `<br />`. */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<unknown>): Html =>
  markup(withSpaces(strings), ...values)

/** The whole document as text. */
export const render = (page: Html): string => `<!doctype html>${renderToString(h(Fragment, null, page))}`

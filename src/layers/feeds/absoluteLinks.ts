/** Makes the links of a feed absolute by `xml:base` (XML Base, RFC 3986, 5.1.1); the feed parser keeps only some of these attributes. */
import { encodeXML } from "entities"
import { Parser } from "htmlparser2"

const resolved = (reference: string | undefined, base: string): string | undefined =>
  reference !== undefined && URL.canParse(reference.trim(), base)
    ? new URL(reference.trim(), base).href
    : undefined

const hrefAttribute = /(\shref\s*=\s*)(?:"[^"]*"|'[^']*')/

/** Rewrites the elements `link` with absolute addresses; `base` is the address that the document came from. */
export const withAbsoluteLinks = (document: string, base: string): string => {
  if (!document.includes("xml:base") || /^\s*\{/.test(document)) return document
  const bases = [base]
  const parts: Array<string> = []
  let done = 0
  /** The text of the open link so far, and its position. */
  let link: { readonly from: number; text: string } | undefined
  const replace = (from: number, to: number, by: string) => {
    parts.push(document.slice(done, from), by)
    done = to
  }
  const isLink = (name: string) => /^(?:[^:]*:)?link$/i.test(name)
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        const outer = bases.at(-1) ?? base
        const inner = resolved(attributes["xml:base"], outer) ?? outer
        bases.push(inner)
        link = undefined
        if (!isLink(name)) return
        const end = parser.endIndex + 1
        const href = resolved(attributes["href"], inner)
        if (href === undefined) {
          link = { from: end, text: "" }
          return
        }
        const tag = document.slice(parser.startIndex, end)
        replace(
          parser.startIndex,
          end,
          tag.replace(hrefAttribute, (_, before: string) => `${before}"${encodeXML(href)}"`)
        )
      },
      ontext: (text) => {
        if (link !== undefined) link.text += text
      },
      onclosetag: (name, isImplied) => {
        const inner = bases.pop() ?? base
        const address = link === undefined || link.text.trim() === "" ? undefined : resolved(link.text, inner)
        if (isLink(name) && !isImplied && link !== undefined && address !== undefined) {
          replace(link.from, parser.startIndex, encodeXML(address))
        }
        link = undefined
      }
    },
    { xmlMode: true }
  )
  parser.end(document)
  return parts.join("") + document.slice(done)
}

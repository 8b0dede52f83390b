/**
 * Markup as plain text, in one pass. This is about looks alone: what comes out of it is shown escaped like every other
 * text, so nothing depends on every trick being seen through.
 */
import { maxRawLength, toNfc } from "../../services/text.ts"

/** What is inside is not for readers. */
const unseen: ReadonlySet<string> = new Set([
  "script",
  "style",
  "template",
  "noscript",
  "iframe",
  "svg",
  "math"
])
/** These flow with the text around them; everything else begins a new line where it is shown. */
const inline: ReadonlySet<string> = new Set(
  "a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub sup time tt u var wbr".split(
    " "
  )
)
/** Of longer markup only the beginning is shown anyway. */
const maxMarkup = 100_000

const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  euro: "€",
  pound: "£",
  copy: "©"
}

const character = (code: number, otherwise: string): string =>
  code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : otherwise

const decoded = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (decimal !== undefined) return character(Number(decimal), whole)
    if (hex !== undefined) return character(Number.parseInt(hex, 16), whole)
    return named[String(name)] ?? whole
  })

/** After `end` from `from` on; the end of the text where that never comes. */
const after = (text: string, end: string, from: number): number => {
  const at = text.indexOf(end, from)
  return at === -1 ? text.length : at + end.length
}

/** A tag, at the beginning of what is matched: whether it closes, and its name. */
const tag = /<(\/?)([a-z][a-z0-9]*)|<[!?]/iy

const withoutTags = (markup: string): string => {
  // As long as the markup itself, which lower case letters of other scripts would not be.
  const lower = markup.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const parts: Array<string> = []
  let at = 0
  while (at < markup.length) {
    const open = markup.indexOf("<", at)
    if (open === -1) break
    parts.push(markup.slice(at, open))
    tag.lastIndex = open
    const found = tag.exec(lower)
    if (found === null) {
      parts.push("<")
      at = open + 1
      continue
    }
    const [, slash, name = ""] = found
    if (lower.startsWith("<!--", open)) at = after(lower, "-->", open)
    else at = after(lower, ">", open)
    if (slash === "" && unseen.has(name)) at = after(lower, ">", after(lower, `</${name}`, at))
    if (!inline.has(name)) parts.push(" ")
  }
  parts.push(markup.slice(at))
  return parts.join("")
}

// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const refused = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/g

/** One line of at most so many characters, without markup and without what no text of ours may hold. */
export const plainText = (markup: string, longest: number): string => {
  const line = decoded(withoutTags(markup.slice(0, maxMarkup)))
    .replaceAll(/\s+/gu, " ")
    .replaceAll(refused, "")
    .trim()
  const text = toNfc(line.slice(0, maxRawLength(longest)).toWellFormed())
  const characters = [...text]
  return characters.length <= longest
    ? text
    : `${characters
        .slice(0, longest - 1)
        .join("")
        .trimEnd()}…`
}

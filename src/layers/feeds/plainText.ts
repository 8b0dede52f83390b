/**
 * Markup as plain text. This is about looks alone: what comes out of it is shown escaped like every other text, so nothing
 * depends on every trick being seen through.
 */
const unseen =
  /<(script|style|template|noscript|iframe|svg|math)\b[^>]*>[\s\S]*?(<\/\1\s*>|$)|<!--[\s\S]*?(-->|$)/gi
/** What begins a new line where it is shown. */
const breaking = /<\/?(p|div|br|li|ul|ol|h[1-6]|tr|table|blockquote|section|article|hr|pre)\b[^>]*>/gi
const tags = /<\/?[a-z!?][^>]*(>|$)/gi

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

// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const refused = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/g

/** One line of at most so many characters, without markup and without what no text of ours may hold. */
export const plainText = (markup: string, longest: number): string => {
  const text = decoded(markup.replaceAll(unseen, " ").replaceAll(breaking, " ").replaceAll(tags, ""))
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/\s+/gu, " ")
    .replaceAll(refused, "")
    .trim()
  const characters = [...text]
  return characters.length <= longest
    ? text
    : `${characters
        .slice(0, longest - 1)
        .join("")
        .trimEnd()}…`
}

/** Reads the bytes of an XML document as text (XML 1.0, 4.3.3 and appendix F; RFC 7303, 3). */

/** Byte order marks, and the beginning of a declaration in UTF-16 without one. */
const marks: ReadonlyArray<readonly [start: string, encoding: string]> = [
  ["\u00ef\u00bb\u00bf", "utf-8"],
  ["\u00fe\u00ff", "utf-16be"],
  ["\u00ff\u00fe", "utf-16le"],
  ["\u0000<\u0000?", "utf-16be"],
  ["<\u0000?\u0000", "utf-16le"]
]

const declaration = /<\?xml\s[^>]*?\bencoding\s*=\s*(?:"\s*([^"]*?)\s*"|'\s*([^']*?)\s*')/i
const parameter = /;\s*charset\s*=\s*["']?([^"';\s]+)/i

/** The encoding with this label in the Encoding Standard, or undefined. */
const encodingOf = (label: string | undefined): string | undefined => {
  try {
    return label === undefined || label === "" ? undefined : new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}

const declared = (start: string): string | undefined => {
  const [, double, single] = declaration.exec(start) ?? []
  const encoding = encodingOf(double ?? single)
  // A declaration that can be read byte by byte is not in UTF-16.
  return encoding?.startsWith("utf-16") === true ? undefined : encoding
}

interface DecodedText {
  readonly text: string
  /** Names the bytes that are no text; each of them is a U+FFFD. */
  readonly misread?: string
}

/** The encoding comes from the mark, else from the header, else from the declaration, else it is UTF-8. */
export const decodeXml = (bytes: Uint8Array, contentType: string | undefined): DecodedText => {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString("latin1")
  const encoding =
    marks.find(([mark]) => start.startsWith(mark))?.[1] ??
    encodingOf(parameter.exec(contentType ?? "")?.[1]) ??
    declared(start) ??
    "utf-8"
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes) }
  } catch {
    return {
      text: new TextDecoder(encoding).decode(bytes),
      misread: `it holds bytes that are no text in ${encoding}`
    }
  }
}

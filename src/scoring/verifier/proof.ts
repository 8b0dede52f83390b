/** Proof files (c2sp.org/tlog-proof): an entry's index in a signed tree, and the opening of a commit. */
import { Malformed, fromBase64, fromDecimal, textOf } from "./bytes.ts"
import type { Bytes } from "./bytes.ts"
import { fromCanonicalJson, hexIn, textIn } from "./json.ts"
import { parseCheckpoint } from "./note.ts"
import type { Checkpoint } from "./note.ts"

/** The hashed salt and body of a commit. */
export interface Opening {
  /** 32 bytes, hex. */
  readonly salt: string
  /** The canonical JSON whose bytes were hashed. */
  readonly body: string
}

export interface Proof {
  readonly index: number
  /** The hashes from the leaf's sibling up to a child of the root. */
  readonly path: ReadonlyArray<Bytes>
  readonly checkpoint: Checkpoint
  /** The entry's bytes as text; null if the file has none, and then a receipt must give the entry. */
  readonly entry: string | null
  readonly opening: Opening | null
}

/** An entry has at most 65 535 bytes; JSON in JSON in base64 is a few times as long. */
const maxProof = 600_000

/** The maximum number of hashes in a path, which has one for each level of the tree. */
const maxHashes = 63

const header = "c2sp.org/tlog-proof@v1"

const extraOf = (encoded: string): Pick<Proof, "entry" | "opening"> => {
  const what = "The extra data"
  const extra = fromCanonicalJson(textOf(fromBase64(encoded, what)), what)
  const unknown = Object.keys(extra).find((name) => !["body", "entry", "salt"].includes(name))
  if (unknown !== undefined) throw new Malformed("The extra data has a member that it should not have.")
  const hasOpening = "body" in extra || "salt" in extra
  return {
    entry: textIn(extra, "entry", what),
    opening: hasOpening ? { salt: hexIn(extra, "salt", 32, what), body: textIn(extra, "body", what) } : null
  }
}

/** Parses a proof in its one valid spelling; it verifies nothing. */
export const parseProof = (file: Uint8Array | string): Proof => {
  if (file.length > maxProof) throw new Malformed("It is larger than any proof of this log.")
  const text = textOf(file)
  if (text.includes("\r")) throw new Malformed("Its lines end in CR LF; a proof has LF alone.")
  // oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text)) throw new Malformed("It has control characters.")
  if (!text.startsWith(`${header}\n`)) throw new Malformed(`It does not begin with the line "${header}".`)
  const end = text.indexOf("\n\n")
  if (end === -1) throw new Malformed("It ends before the checkpoint.")
  const lines = text.slice(header.length + 1, end).split("\n")
  const extra = lines[0]?.startsWith("extra ") === true ? lines.shift() : undefined
  const index = lines.shift()
  if (index?.startsWith("index ") !== true)
    throw new Malformed("It does not say the entry's index where it should.")
  if (lines.length > maxHashes) throw new Malformed("The path to the root has too many hashes.")
  const path = lines.map((line) => {
    const hash = fromBase64(line, "A hash of the path")
    if (hash.length !== 32) throw new Malformed("A hash of the path does not have 32 bytes.")
    return hash
  })
  return {
    index: fromDecimal(index.slice("index ".length), "The entry's index"),
    path,
    checkpoint: parseCheckpoint(text.slice(end + 2)),
    ...(extra === undefined ? { entry: null, opening: null } : extraOf(extra.slice("extra ".length)))
  }
}

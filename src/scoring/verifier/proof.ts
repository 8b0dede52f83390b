/** Proof files (c2sp.org/tlog-proof): an entry's place in a signed tree, and what the entry was made of. */
import { Malformed, fromBase64, fromDecimal, textOf } from "./bytes.ts"
import type { Bytes } from "./bytes.ts"
import { fromCanonicalJson, hexIn, textIn } from "./json.ts"
import { parseCheckpoint } from "./note.ts"
import type { Checkpoint } from "./note.ts"

/** What a commit was made of. */
export interface Opening {
  /** 32 bytes, hex. */
  readonly salt: string
  /** The canonical JSON that was committed to, as it was hashed. */
  readonly body: string
}

export interface Proof {
  readonly index: number
  /** From the leaf's sibling up to the root's child. */
  readonly path: ReadonlyArray<Bytes>
  readonly checkpoint: Checkpoint
  /** The entry's bytes as text; null when the file has none, and a receipt has to say what was recorded. */
  readonly entry: string | null
  readonly opening: Opening | null
}

/** An entry has 65 535 bytes at most, and JSON in JSON in base64 is no more than a few times that. */
const longest = 600_000

/** A path has a hash for each level of the tree. */
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

/** Reads a proof in the one way that it can be written. Nothing in it is believed yet. */
export const parseProof = (file: Uint8Array | string): Proof => {
  if (file.length > longest) throw new Malformed("It is larger than any proof of this log.")
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

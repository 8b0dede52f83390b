/** A proof by its format (c2sp.org/tlog-proof), checked from its text and a verifier key alone. */
import { assert } from "@effect/vitest"
import { Option, Schema } from "effect"
import {
  isSignedBy,
  parseCheckpointText,
  parseNote,
  parseVerifierKey
} from "../../../src/layers/crypto/signedNote.ts"
import { leafOf, rootByInclusion } from "./rfc6962.ts"

const Extra = Schema.fromJsonString(
  Schema.Struct({
    entry: Schema.String,
    salt: Schema.optionalKey(Schema.String),
    body: Schema.optionalKey(Schema.String)
  })
)
const decodeExtra = Schema.decodeUnknownSync(Extra)

/** Fails unless the entry in the extra data has the index in a tree that the key has signed. */
export const checkedProof = (text: string, verifierKey: string) => {
  const shape =
    /^c2sp\.org\/tlog-proof@v1\nextra (?<extra>\S+)\nindex (?<index>0|[1-9]\d*)\n(?<path>(?:\S+\n)*)\n(?<checkpoint>[^]*)$/.exec(
      text
    )?.groups
  assert(shape !== undefined, text)
  const { checkpoint = "", extra = "", index = "", path = "" } = shape
  const proved = decodeExtra(Buffer.from(extra, "base64").toString())
  const note = Option.getOrThrow(parseNote(checkpoint))
  assert.isTrue(isSignedBy(note, Option.getOrThrow(parseVerifierKey(verifierKey))))
  const { root, size } = Option.getOrThrow(parseCheckpointText(note.text))
  const hashes = path
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Buffer.from(line, "base64"))
  const leaf = leafOf(Buffer.from(proved.entry))
  assert.deepStrictEqual(
    rootByInclusion({ leaf, index: Number(index), size, path: hashes }),
    Buffer.from(root)
  )
  return { ...proved, index: Number(index), size, note }
}

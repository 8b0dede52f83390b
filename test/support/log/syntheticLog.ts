/** A log of invented entries, written without the sequencer in the form that it leaves, for tests of trees of any size. */
import { generateKeyPairSync } from "node:crypto"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { checkpointText, rawPublicKey, signNote, verifierKey } from "../../../src/layers/crypto/signedNote.ts"
import { Rfc6962Tree } from "./rfc6962.ts"
import { asOwner } from "../database.ts"

const origin = "auspex.test/log/synthetic"
const { privateKey } = generateKeyPairSync("ed25519")
export const syntheticKey = verifierKey(origin, rawPublicKey(privateKey))

export const entryAt = (index: number): string => `{"n":${index}}`

/** Fills an empty log with this many entries, and the nodes above them. */
export const makeEntries = Effect.fnUntraced(function* (size: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into log_entries (index, type, entry)
    select n, 'key.rotate', convert_to('{"n":' || n || '}', 'UTF8') from generate_series(0, ${size - 1}::int) n`
  yield* sql`
    insert into log_nodes (level, n, hash)
    select 1, n, merkle_root(string_agg(sha256('\\x00'::bytea || entry), ''::bytea order by index))
      from (select index, entry, index / 256 as n from log_entries) e
     group by n having count(*) = 256`
  yield* sql`
    insert into log_nodes (level, n, hash)
    select 2, parent, merkle_root(string_agg(hash, ''::bytea order by n))
      from (select n, hash, n / 256 as parent from log_nodes where level = 1) e
     group by parent having count(*) = 256`
  yield* asOwner(sql`analyze log_entries, log_nodes`)
  return new Rfc6962Tree(Array.from({ length: size }, (_, index) => Buffer.from(entryAt(index))))
})

/** The signed head of the tree of the first `size` entries: the note, and its signed part. */
export const signedHead = (tree: Rfc6962Tree, size: number) => {
  const text = checkpointText({ origin, size, root: tree.root(0, size) })
  return { text, note: `${text}\n${signNote(text, origin, privateKey)}` }
}

/** Signs and publishes the tree of the first `size` entries. */
export const publish = Effect.fnUntraced(function* (tree: Rfc6962Tree, size: number) {
  const sql = yield* SqlClient.SqlClient
  const root = tree.root(0, size)
  const { note } = signedHead(tree, size)
  const now = DateTime.toDateUtc(yield* DateTime.now)
  yield* sql`
    insert into log_checkpoints (size, root, note, signed_at)
    values (${BigInt(size)}::int8, decode(${root.toString("hex")}, 'hex'), ${note}, ${now})`
  return note
})

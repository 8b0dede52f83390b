/** The content of the public log's tables, and their invariants. */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { leafHash, rootOf } from "../../src/layers/postgres/log/frontier.ts"
import {
  isSignedBy,
  parseCheckpointText,
  parseNote,
  parseVerifierKey
} from "../../src/layers/crypto/signedNote.ts"
import * as SequencerLayer from "../../src/layers/postgres/log/LogSequencer.ts"
import { findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { anotherPool, asOwner } from "./database.ts"
import { logSigner } from "./logSigner.ts"

const StoredEntry = Schema.Struct({
  index: Schema.Int,
  type: Schema.String,
  challenge_id: Schema.NullOr(Schema.String),
  entry: Schema.Uint8Array
})

const entryJson = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Null]))
  )
)

/** All entries in their order, with the members of their JSON. */
export const entries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* findAll(StoredEntry)(sql`
    select index::float8 as index, type, challenge_id::text, entry
      from log_entries order by index`)
  return rows.map((row) => ({ ...row, json: entryJson(Buffer.from(row.entry).toString()) }))
})

const State = Schema.Struct({
  size: Schema.Int,
  root: Schema.Uint8Array,
  fault: Schema.NullOr(Schema.String),
  pending: Schema.Int
})

export const logState = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* findOne(State)(sql`
    select size::float8 as size, root, fault, (select count(*)::int from log_pending) as pending from log_state`)
})

const Checkpoint = Schema.Struct({
  size: Schema.Int,
  root: Schema.Uint8Array,
  note: Schema.String,
  signed_at: Schema.DateTimeUtcFromDate
})

/** All kept checkpoints, the oldest first. */
export const checkpoints = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* findAll(Checkpoint)(sql`
    select size::float8 as size, root, note, signed_at from log_checkpoints order by size`)
})

const Node = Schema.Struct({ level: Schema.Int, n: Schema.Int, hash: Schema.Uint8Array })

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

/**
 * The log is one tree that only grew: entries without gaps, the nodes of exactly its full tiles, a state with its root, and every
 * checkpoint a signed prefix of it. Returns the number of entries.
 */
export const oneTree = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const all = yield* entries
  const leaves = all.map(({ entry }) => leafHash(entry))
  assert.deepStrictEqual(
    all.map(({ index }) => index),
    all.map((_, place) => place)
  )
  const state = yield* logState
  assert.strictEqual(state.size, all.length)
  assert.strictEqual(hex(state.root), hex(rootOf(leaves)))
  const nodes = yield* findAll(Node)(sql`
    select level, n::float8 as n, hash from log_nodes order by level, n`)
  const expected = [1, 2].flatMap((level) =>
    Array.from({ length: Math.floor(all.length / 256 ** level) }, (_, n) => ({
      level,
      n,
      hash: hex(rootOf(leaves.slice(n * 256 ** level, (n + 1) * 256 ** level)))
    }))
  )
  assert.deepStrictEqual(
    nodes.map(({ level, n, hash }) => ({ level, n, hash: hex(hash) })),
    expected
  )
  const keys = yield* findAll(Schema.Struct({ verifier_key: Schema.String }))(sql`
    select verifier_key from log_keys order by number`)
  const verifiers = keys.map(({ verifier_key }) => Option.getOrThrow(parseVerifierKey(verifier_key)))
  for (const { note, root, size } of yield* checkpoints) {
    assert.strictEqual(hex(root), hex(rootOf(leaves.slice(0, size))))
    const parsed = Option.getOrThrow(parseNote(note))
    const head = Option.getOrThrow(parseCheckpointText(parsed.text))
    assert.deepStrictEqual([head.size, hex(head.root), head.origin], [size, hex(root), verifiers[0]?.name])
    assert.isTrue(verifiers.some((verifier) => isSignedBy(parsed, verifier)))
  }
  return all.length
})

/** Makes all due reveals, sequences everything that is pending, and publishes it. */
export const completeLog = Effect.gen(function* () {
  const sequencer = yield* LogSequencer
  while ((yield* sequencer.sequence) + (yield* sequencer.revealDue) > 0);
  yield* sequencer.publish
})

/** A separate sequencer on the same database, like that of another replica or a later start. */
export const anotherSequencer = (options: Parameters<typeof logSigner>[0] = {}) =>
  Layer.build(
    Layer.fresh(SequencerLayer.layer).pipe(Layer.provide([logSigner(options), Layer.fresh(anotherPool)]))
  ).pipe(Effect.map((built) => Context.get(built, LogSequencer)))

/** Pending entries without the rows that they would record. */
export const addPending = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into log_pending (type, entry)
    select 'key.rotate', convert_to('{"n":' || i || '}', 'UTF8') from generate_series(1, ${count}::int) i`
})

/** Runs a change of append-only rows, which only the owner of the tables can make. */
export const tampering = <A, E, R>(change: Effect.Effect<A, E, R>) =>
  asOwner(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`alter table log_entries disable trigger log_entries_append_only`
      yield* sql`alter table log_nodes disable trigger log_nodes_append_only`
      yield* change
      yield* sql`alter table log_entries enable trigger log_entries_append_only`
      yield* sql`alter table log_nodes enable trigger log_nodes_append_only`
    })
  )

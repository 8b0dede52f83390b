import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { unknownChallenge } from "../../../services/domain/Challenge.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { ChallengeId, isUuid } from "../../../services/domain/ids.ts"
import { LogSequencer, stalledAfter } from "../../../services/LogSequencer.ts"
import {
  ChallengeEntry,
  LogEmpty,
  NotSequenced,
  tileWidth,
  TransparencyLog
} from "../../../services/TransparencyLog.ts"
import { canonicalJson } from "../../crypto/canonicalJson.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { findAll, findOne, findOption, timestamp } from "../sql.ts"
import { inclusionProof } from "./proofs.ts"

const Checkpoint = Schema.Struct({ note: Schema.String })
const Key = Schema.Struct({ verifier_key: Schema.String })

/** A commit; index and entry are null while it is pending. */
const CommitRow = Schema.Struct({
  challenge_id: ChallengeId,
  leaf_index: Schema.NullOr(Schema.Int),
  entry: Schema.NullOr(Schema.String)
})

/** An entry and the tree to prove it in; a column is null until its value exists. */
const ProvedRow = Schema.Struct({
  leaf_index: Schema.NullOr(Schema.Int),
  entry: Schema.NullOr(Schema.String),
  size: Schema.NullOr(Schema.Int),
  note: Schema.NullOr(Schema.String)
})

const RevealedRow = Schema.Struct({
  ...ProvedRow.fields,
  reveal: Schema.NullOr(Schema.String)
})

const EndRow = Schema.Struct({ ...ProvedRow.fields, ended: Schema.Boolean })

const Reveal = Schema.fromJsonString(Schema.Struct({ salt: Schema.String, body: Schema.String }))

const commitShape = /^[0-9a-f]{64}$/i

/** A whole number as the log's formats write it, of at most 15 digits, which a double holds exactly. */
const indexShape = /^(0|[1-9]\d{0,14})$/

const unknownEntry = (leafIndex: string): NotFound =>
  new NotFound({ detail: `The log has no entry ${leafIndex.slice(0, 64)}.` })

const unknownCommit = (commit: string): NotFound =>
  new NotFound({
    detail: commitShape.test(commit)
      ? `There is no prediction with the commit ${commit.toLowerCase()}.`
      : "There is no such commit: expected the 64 hexadecimal digits of a receipt's commit."
  })

/** Seconds until a pending entry usually has its index. */
const pause = 1

/** The Retry-After while the log stands still. */
const pauseWhileStalled = 300

/** C2SP tlog-proof: the extra data, the index, the audit path, and the checkpoint as it was signed. */
const proofText = (proof: {
  readonly extra: unknown
  readonly index: number
  readonly path: ReadonlyArray<Uint8Array>
  readonly checkpoint: string
}): string =>
  [
    "c2sp.org/tlog-proof@v1",
    `extra ${Buffer.from(canonicalJson(proof.extra)).toString("base64")}`,
    `index ${proof.index}`,
    ...proof.path.map((hash) => Buffer.from(hash).toString("base64")),
    "",
    proof.checkpoint
  ].join("\n")

const Piece = Schema.Struct({
  size: Schema.Int,
  count: Schema.Int,
  bytes: Schema.NullOr(Schema.Uint8Array)
})

/**
 * Serves tiles and entry bundles (C2SP tlog-tiles) below the newest published checkpoint, each by one statement that reads
 * at most 256 neighbours by their key. A partial tile is served at any width it has reached.
 */
const makeTiles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const piece = findOne(Piece)

  /** Reads the bytes that `neighbours` aggregates, once the newest checkpoint covers `range.leaves` leaves. */
  const read = Effect.fnUntraced(function* (
    what: string,
    range: { readonly width: number; readonly leaves: number },
    neighbours: ReturnType<typeof sql.and>
  ) {
    const leaves = Math.min(range.leaves, Number.MAX_SAFE_INTEGER)
    const { bytes, count, size } = yield* piece(sql`
      select p.size::float8 as size, coalesce(t.count, 0) as count, t.bytes
        from (select coalesce(max(size), 0) as size from log_checkpoints) p
        left join lateral (${neighbours}) t on p.size >= ${BigInt(leaves)}::int8`)
    if (size < range.leaves) {
      return yield* new NotFound({
        detail: `There is no such ${what} yet: the newest checkpoint covers ${size} entries.`
      })
    }
    if (bytes === null || count !== range.width) {
      return yield* Effect.die(new Error(`the log lacks a part of its ${what}`))
    }
    return bytes
  })

  const hashTile: TransparencyLog["Service"]["hashTile"] = Effect.fn("TransparencyLog.hashTile")(
    function* (level, n, width) {
      const first = n * tileWidth
      const past = first + width
      return yield* read(
        "tile",
        { width, leaves: past * tileWidth ** level },
        level === 0
          ? sql`select count(*)::int as count,
                       string_agg(sha256('\\x00'::bytea || entry), ''::bytea order by index) as bytes
                  from log_entries where index >= ${BigInt(first)}::int8 and index < ${BigInt(past)}::int8`
          : sql`select count(*)::int as count, string_agg(hash, ''::bytea order by n) as bytes
                  from log_nodes
                 where level = ${level}::int and n >= ${BigInt(first)}::int8 and n < ${BigInt(past)}::int8`
      )
    }
  )

  const entryBundle: TransparencyLog["Service"]["entryBundle"] = Effect.fn("TransparencyLog.entryBundle")(
    function* (n, width) {
      const first = n * tileWidth
      const past = first + width
      return yield* read(
        "entry bundle",
        { width, leaves: past },
        // The last two of the four big-endian bytes of the length stand before each entry.
        sql`select count(*)::int as count,
                   string_agg(substr(int4send(octet_length(entry)), 3) || entry, ''::bytea order by index) as bytes
              from log_entries where index >= ${BigInt(first)}::int8 and index < ${BigInt(past)}::int8`
      )
    }
  )

  return { hashTile, entryBundle }
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const sequencer = yield* LogSequencer
  const tiles = yield* makeTiles
  const newest = findOption(Checkpoint)
  const keys = findAll(Key)
  const commits = findOption(CommitRow)
  const revealed = findOption(RevealedRow)
  const proved = findOption(ProvedRow)
  const ends = findOption(EndRow)
  const challengeEntries = findAll(ChallengeEntry)
  const decodeReveal = Schema.decodeEffect(Reveal)

  /** The note of checkpoint `c`: the signatures of witnesses follow those of the log. */
  const cosigned = sql`
    c.note || coalesce(
      (select string_agg(rtrim(line, E'\\n') || E'\\n', '' order by cosigned_at, witness)
         from log_cosignatures where size = c.size), '')`

  const checkpoint: TransparencyLog["Service"]["checkpoint"] = Effect.gen(function* () {
    const found = yield* newest(sql`
      select ${cosigned} as note from log_checkpoints c order by c.size desc limit 1`)
    if (Option.isNone(found)) {
      return yield* new LogEmpty({
        detail:
          "The log has no checkpoint: its first one is signed within seconds of its first entry, such as a challenge, where an instance with the role jobs runs."
      })
    }
    return yield* sequencer.recordShown(found.value.note)
  }).pipe(Effect.withSpan("TransparencyLog.checkpoint"))

  const verifierKeys = keys(sql`select verifier_key from log_keys order by number desc`).pipe(
    Effect.map((rows) => rows.map(({ verifier_key }) => verifier_key)),
    Effect.withSpan("TransparencyLog.verifierKeys")
  )

  /**
   * Joins the tree to prove entry `e` in: the newest cosigned one that covers the entry, for readers who trust witnesses,
   * else the newest. The limit tells the planner that there is one row.
   */
  const proofTree = sql`
    left join lateral (
      select c.size::float8 as size, ${cosigned} as note
        from log_checkpoints c
       where c.size = coalesce((select max(size) from log_cosignatures where size > e.index),
                               (select max(size) from log_checkpoints))
         and c.size > e.index
       limit 1) t on true`
  const provedColumns = sql`
    e.index::float8 as leaf_index, convert_from(e.entry, 'UTF8') as entry, t.size, t.note`

  const stalled = Effect.gen(function* () {
    const { fault, seconds } = yield* sequencer.stalled
    return fault !== null || seconds >= stalledAfter || (yield* sequencer.fault) !== null
  }).pipe(Effect.withSpan("TransparencyLog.stalled"))

  const notSequenced = Effect.fnUntraced(function* () {
    const what = "This is recorded, and no published checkpoint of the log covers it yet"
    if (!(yield* stalled)) {
      return yield* new NotSequenced({ detail: `${what}: try again in ${pause} s.`, retry_after: pause })
    }
    return yield* new NotSequenced({
      detail: `${what}, and the log stands still until the operators of this site have looked into it: nothing is lost, but it may take long.`,
      retry_after: pauseWhileStalled
    })
  })

  const prove = Effect.fnUntraced(function* (
    row: typeof ProvedRow.Type,
    more: { readonly salt?: string; readonly body?: string } = {}
  ) {
    const { entry, leaf_index: index, note, size } = row
    if (index === null || entry === null || size === null || note === null) return yield* notSequenced()
    yield* sequencer.recordShown(note)
    const path = yield* inclusionProof(sql, index, size)
    return proofText({ extra: { ...more, entry }, index, path, checkpoint: note })
  })

  /** Selects the entry `e` of a commit; a pending one has no index. */
  const ofCommit = (commit: string) => sql`
    from (select challenge_id, index, entry from log_entries
           where type = 'prediction.commit' and commit = decode(${commit}, 'hex')
           union all
          select challenge_id, null, null from log_pending where commit = decode(${commit}, 'hex')
           limit 1) e`

  const entryOf: TransparencyLog["Service"]["entryOf"] = Effect.fn("TransparencyLog.entryOf")(
    function* (commit) {
      if (!commitShape.test(commit)) return yield* unknownCommit(commit)
      const found = yield* commits(sql`
        select e.challenge_id::text, e.index::float8 as leaf_index, convert_from(e.entry, 'UTF8') as entry
        ${ofCommit(commit)}`)
      if (Option.isNone(found)) return yield* unknownCommit(commit)
      const { challenge_id, entry, leaf_index } = found.value
      if (leaf_index === null || entry === null) return yield* notSequenced()
      return { commit: commit.toLowerCase(), challenge_id, leaf_index, entry }
    }
  )

  const proofOf: TransparencyLog["Service"]["proofOf"] = Effect.fn("TransparencyLog.proofOf")(
    function* (commit) {
      if (!commitShape.test(commit)) return yield* unknownCommit(commit)
      const now = yield* DateTime.now
      const found = yield* revealed(sql`
        select ${provedColumns},
               (select convert_from(r.entry, 'UTF8')
                  from log_entries r join challenges c on c.id = e.challenge_id and c.deadline <= ${timestamp(now)}
                 where r.commit_index = e.index) as reveal
        ${ofCommit(commit)}
        ${proofTree}`)
      if (Option.isNone(found)) return yield* unknownCommit(commit)
      const { reveal, ...row } = found.value
      return yield* prove(row, reveal === null ? {} : yield* Effect.orDie(decodeReveal(reveal)))
    }
  )

  const proofAt: TransparencyLog["Service"]["proofAt"] = Effect.fn("TransparencyLog.proofAt")(
    function* (leafIndex) {
      if (!indexShape.test(leafIndex)) return yield* unknownEntry(leafIndex)
      const found = yield* proved(sql`
        select ${provedColumns}
          from (select index, entry from log_entries where index = ${leafIndex}::int8) e
        ${proofTree}`)
      if (Option.isNone(found)) return yield* unknownEntry(leafIndex)
      return yield* prove(found.value)
    }
  )

  const entriesOf: TransparencyLog["Service"]["entriesOf"] = Effect.fn("TransparencyLog.entriesOf")(
    (challengeId) =>
      isUuid(challengeId)
        ? challengeEntries(sql`
            select type, version, index::float8 as leaf_index from log_entries
             where challenge_id = ${challengeId}::uuid and version is not null
               and index < (select max(size) from log_checkpoints)
             order by index`)
        : Effect.succeed([])
  )

  const settlementProof: TransparencyLog["Service"]["settlementProof"] = Effect.fn(
    "TransparencyLog.settlementProof"
  )(function* (challengeId) {
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const found = yield* ends(sql`
      select ${provedColumns}, c.cancelled_at is not null or s.version is not null as ended
        from challenges c
        left join ${latestSettlement(sql)} s on true
        left join log_entries e
          on e.challenge_id = c.id
         and e.type = case when s.version is null then 'void' when s.version = 1 then 'settlement' else 'amendment' end
         and e.version = coalesce(s.version, 1)
        ${proofTree}
       where c.id = ${challengeId}::uuid`)
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    if (!found.value.ended) {
      return yield* new NotFound({ detail: "The challenge is neither settled nor cancelled yet." })
    }
    return yield* prove(found.value)
  })

  return TransparencyLog.of({
    stalled,
    checkpoint,
    verifierKeys,
    ...tiles,
    entryOf,
    proofOf,
    proofAt,
    entriesOf,
    settlementProof
  })
})

export const layer = Layer.effect(TransparencyLog, make)

/**
 * Gives what waits its index. One short transaction takes a batch out of the queue, stores it with its indices, adds
 * the nodes of the tiles that it completes, and moves the state of the log, if nobody has moved it meanwhile. It is
 * killed before its commit and has done nothing, or after it and has done everything.
 */
import { Effect, Option, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { mostPerPass } from "../../../services/LogKeeper.ts"
import { column, maybe, one, rollbackDefect, run, sqlDefect } from "../query.ts"
import { EntryType } from "./entries.ts"
import { leafHash } from "./frontier.ts"
import type { Frontier, FullNode } from "./frontier.ts"
import { advance, queueStart } from "./queueStart.ts"
import { composePending } from "./recorded.ts"
import { brokenTree, treeOfRoot } from "./tree.ts"
import type { LogFault } from "./tree.ts"

/** Whoever holds this advisory lock sequences, or changes the log's key; the others leave it to them. */
export const logLock = 4_280_771_003n

const Look = Schema.Struct({
  waiting: Schema.Boolean,
  assigned: Schema.String,
  next: Schema.String,
  passed: Schema.Boolean
})

const State = Schema.Struct({
  size: Schema.Int,
  root: Schema.Uint8Array,
  fault: Schema.NullOr(Schema.String)
})

/** An entry whose bytes are still to be composed. */
const Unwritten = Schema.Struct({
  index: Schema.Int,
  type: EntryType,
  challenge_id: Schema.NullOr(Schema.String),
  version: Schema.NullOr(Schema.Int),
  closed_at: Schema.NullOr(Schema.DateTimeUtcFromString),
  imported: Schema.Boolean
})

const Taken = Schema.Struct({
  entries: Schema.Int,
  /** The leaf hashes of those that had their bytes, one after the other. */
  leaves: Schema.Uint8Array,
  closed: Schema.Array(Schema.String),
  unwritten: Schema.Array(Unwritten)
})
type Taken = typeof Taken.Type

interface Batch {
  readonly entries: number
  /** As it is once the transaction has committed. */
  readonly tree: Frontier
}

const hashLength = 32

export const makeSequence = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const look = one(Look)
  const stateRow = maybe(State)
  const takenRow = one(Taken)
  const moved = one(Schema.Struct({ size: Schema.Int }))
  const transaction = <A>(effect: Effect.Effect<A, LogFault | SqlError.SqlError>) =>
    rollbackDefect(Effect.catchTag(sql.withTransaction(effect), "SqlError", sqlDefect))
  const start = yield* Ref.make(queueStart)
  /** The right edge of the tree after the last batch that was sequenced here. */
  const edge = yield* Ref.make(Option.none<Frontier>())

  /** The tree of the log's state: the one in memory, if nobody else has added to it, or as it is stored. */
  const treeOf = Effect.fnUntraced(function* (state: typeof State.Type) {
    const kept = yield* Ref.getAndSet(edge, Option.none())
    const isCurrent = (tree: Frontier) => tree.size === state.size && tree.root().equals(state.root)
    if (Option.isSome(kept) && isCurrent(kept.value)) return kept.value
    return yield* treeOfRoot(sql, state.size, state.root, brokenTree(state.size))
  })

  /**
   * Takes the first entries out of the queue. Those that have their bytes move to the log within the database; of the
   * others, which are few, their keys come back. The limit is no subquery of `in`: that could become a plan that reads
   * the whole queue.
   */
  const take = (after: string, size: number) =>
    takenRow(sql`
      with taken as (
        delete from log_pending
         where id = any (array(select id from log_pending where id > ${after}::int8 order by id limit ${mostPerPass}))
        returning *
      ),
      numbered as (
        select ${BigInt(size)}::int8 + row_number() over (order by id) - 1 as index, t.* from taken t
      ),
      stored as (
        insert into log_entries (index, type, challenge_id, version, commit, commit_index, entry)
        select index, type, challenge_id, version, commit, commit_index, entry
          from numbered where entry is not null
         order by index
        returning index, sha256('\\x00'::bytea || entry) as leaf
      )
      select (select count(*)::int from taken) as entries,
             coalesce((select string_agg(leaf, ''::bytea order by index) from stored), ''::bytea) as leaves,
             coalesce((select array_agg(challenge_id::text) from taken where type = 'challenge.close'), '{}') as closed,
             coalesce(
               (select jsonb_agg(jsonb_build_object('index', index, 'type', type, 'challenge_id', challenge_id,
                                                    'version', version, 'closed_at', closed_at, 'imported', imported)
                                 order by index)
                  from numbered where entry is null), '[]') as unwritten`)

  /** Composes and stores what came without its bytes; their leaf hashes by index. */
  const compose = Effect.fnUntraced(function* (unwritten: Taken["unwritten"]) {
    if (unwritten.length === 0) return new Map<number, Buffer>()
    // A close counts all commits of its challenge, and there may be a million.
    yield* sql`select set_config('statement_timeout', '5min', true),
                      set_config('idle_in_transaction_session_timeout', '1min', true)`
    const bytes = yield* composePending(sql, unwritten)
    yield* run(sql`
      insert into log_entries (index, type, challenge_id, version, entry)
      select * from unnest(
        ${column(
          "int8",
          unwritten.map(({ index }) => BigInt(index))
        )}, ${column(
          "text",
          unwritten.map(({ type }) => type)
        )}, ${column(
          "uuid",
          unwritten.map((each) => each.challenge_id)
        )}, ${column(
          "int4",
          unwritten.map(({ version }) => version)
        )}, ${column("bytea", bytes)})`)
    return new Map(bytes.map((entry, place) => [unwritten[place]?.index ?? Number.NaN, leafHash(entry)]))
  })

  /** The predictions of a challenge that is closed in the log are revealed once its deadline has passed. */
  const expectReveals = (closed: ReadonlyArray<string>) =>
    run(sql`
      insert into log_reveals (challenge_id, due_at)
      select c.id, c.deadline from challenges c
       where c.id = any(${column("uuid", closed)})
         and exists (select 1 from log_entries e where e.challenge_id = c.id and e.type = 'prediction.commit')
       order by c.id
      on conflict do nothing`)

  const storeNodes = (nodes: ReadonlyArray<FullNode>) =>
    run(sql`
      insert into log_nodes (level, n, hash)
      select * from unnest(
        ${column(
          "int4",
          nodes.map(({ level }) => level)
        )}, ${column(
          "int8",
          nodes.map(({ n }) => BigInt(n))
        )}, ${column(
          "bytea",
          nodes.map(({ hash }) => hash)
        )})`)

  const batch = Effect.fnUntraced(function* (after: string) {
    // What is signed must not be lost in a crash: where commits are asynchronous, this one waits for the disk.
    const state = yield* stateRow(sql`
      select size::float8 as size, root, fault,
             case current_setting('synchronous_commit')
               when 'off' then set_config('synchronous_commit', 'on', true) end as synchronous
        from log_state where pg_try_advisory_xact_lock(${logLock})
         for update`)
    if (Option.isNone(state) || state.value.fault !== null) return Option.none<Batch>()
    const { root, size } = state.value
    const tree = yield* treeOf(state.value)
    const taken = yield* take(after, size)
    if (taken.entries === 0) return Option.some<Batch>({ entries: 0, tree })
    const composed = yield* compose(taken.unwritten)
    const nodes: Array<FullNode> = []
    let read = 0
    for (let index = size; index < size + taken.entries; index++) {
      const own = composed.get(index)
      const leaf = own ?? Buffer.from(taken.leaves.subarray(read, read + hashLength))
      if (own === undefined) read += hashLength
      nodes.push(...tree.append(leaf))
    }
    if (nodes.length > 0) yield* storeNodes(nodes)
    if (taken.closed.length > 0) yield* expectReveals(taken.closed)
    yield* moved(sql`
      update log_state set size = ${BigInt(tree.size)}, root = ${tree.root()}
       where size = ${BigInt(size)} and root = ${root} and fault is null
      returning size::float8 as size`)
    return Option.some<Batch>({ entries: taken.entries, tree })
  })

  /** How many entries got their index; it fails, and has done nothing, when the stored tree is not what was kept of it. */
  const sequence = Effect.gen(function* () {
    const from = yield* Ref.get(start)
    const seen = yield* look(sql`
      select exists (select 1 from (select id from log_pending where id > ${from.after}::int8 order by id limit 1) p)
               as waiting,
             (select case when is_called then last_value else 0 end from log_pending_id_seq)::text as assigned,
             pg_snapshot_xmax(pg_current_snapshot())::text as next,
             pg_snapshot_xmin(pg_current_snapshot()) >= ${from.mark.next}::xid8 as passed`)
    if (!seen.waiting) {
      yield* Ref.set(start, advance(from, seen, "emptied"))
      return 0
    }
    const done = yield* transaction(batch(from.after))
    if (Option.isNone(done)) return 0
    const { entries, tree } = done.value
    yield* Ref.set(edge, Option.some(tree))
    yield* Ref.set(start, advance(from, seen, entries < mostPerPass ? "emptied" : "left"))
    return entries
  })

  return { sequence }
})

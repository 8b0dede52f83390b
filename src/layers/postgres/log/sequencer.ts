/**
 * Gives what waits its index. A pass is two statements: one looks at what waits and at the state of the log, one notes
 * which predictions follow each other, stores the rest with its indices, adds the nodes of the tiles that it completes,
 * and moves the state, if it still is what was seen. It is killed before that one's commit and has done nothing, or after it and
 * has done everything. Predictions beside it wait for processors while it runs, so it is kept short: no transaction
 * around it, and no statement that it can do without (docs/performance.md).
 */
import { Effect, Option, Ref, Schema } from "effect"
import { maxPerPass } from "../../../services/LogKeeper.ts"
import { BackgroundClient } from "../BackgroundClient.ts"
import { arrayParam, execute, findOne, findOption, transaction } from "../sql.ts"
import { leafHash } from "./frontier.ts"
import type { Frontier, FullNode } from "./frontier.ts"
import { advance, queueStart } from "./queueStart.ts"
import { composePending } from "./recorded.ts"
import { partsOf, Unwritten } from "./parts.ts"
import type { Part } from "./parts.ts"
import { runsOf } from "./runs.ts"
import { treeOfRoot } from "./tree.ts"

/** Whoever holds this advisory lock sequences, or changes the log's key; the others leave it to them. */
export const logLock = 4_280_771_003n

/** How far the log has grown. */
const State = Schema.Struct({ size: Schema.Int, root: Schema.Uint8Array })
type State = typeof State.Type

/** What waits, and the state that it would be added to. */
const Seen = Schema.Struct({
  ...State.fields,
  fault: Schema.NullOr(Schema.String),
  assigned: Schema.String,
  next: Schema.String,
  passed: Schema.Boolean,
  entries: Schema.Int,
  /** Opaque here: only PostgreSQL takes it apart. */
  ids: Schema.String,
  /** The places of those that are stored in the log, in their order; the others are predictions that stay where they are. */
  apart: Schema.Array(Schema.Int),
  /** The leaf hashes of those that have their bytes, one after the other. */
  leaves: Schema.Uint8Array,
  unwritten: Schema.Array(Unwritten)
})
type Seen = typeof Seen.Type

/** What was seen, as PostgreSQL takes it apart again: all ids in their order, and up to which id no others will appear. */
interface Batch extends Pick<Seen, "ids" | "apart"> {
  readonly over: string
}

const hashLength = 32

const stateOf = (tree: Frontier): State => ({ size: tree.size, root: tree.root() })

/** The roots of the tiles that these leaves complete. */
const grown = (tree: Frontier, leaves: Iterable<Uint8Array>): ReadonlyArray<FullNode> =>
  Array.from(leaves, (leaf) => tree.append(Buffer.from(leaf))).flat()

export const makeSequence = Effect.gen(function* () {
  const { client: sql } = yield* BackgroundClient
  const seenRow = findOne(Seen)
  const storedRow = findOne(Schema.Struct({ stored: Schema.Boolean }))
  const heldRow = findOption(Schema.Struct({ held: Schema.Boolean }))
  const start = yield* Ref.make(queueStart)
  /** The right edge of the tree after the last batch that was sequenced here. */
  const edge = yield* Ref.make(Option.none<Frontier>())

  /** The tree of the log's state: the one in memory, if nobody else has added to it, or as it is stored. */
  const treeOf = Effect.fnUntraced(function* ({ root, size }: State) {
    const kept = yield* Ref.getAndSet(edge, Option.none())
    const isCurrent = (tree: Frontier) => tree.size === size && tree.root().equals(root)
    if (Option.isSome(kept) && isCurrent(kept.value)) return kept.value
    return yield* treeOfRoot(sql, size, root)
  })

  const prediction = sql.literal(
    `p.queue_id as id, 'prediction.commit' as type, p.challenge_id, null::int4 as version, null::timestamptz as closed_at,
     false as imported, coalesce(p.entry, log_commit_entry(p.challenge_id, p.commit)) as entry`
  )
  const most = sql.literal(String(maxPerPass))

  /**
   * The first of what waits. Of what has its bytes only the leaf hashes leave the database; of the others, which are
   * few, their keys. Nothing that can be seen has an id beyond the last one; the bound tells the planner that there are
   * few of those predictions, however many there are of all.
   */
  const look = (after: string, passedBefore: string) =>
    seenRow(sql`
      select s.size::float8 as size, s.root, s.fault,
             (select case when is_called then last_value else 0 end from log_pending_id_seq)::text as assigned,
             pg_snapshot_xmax(pg_current_snapshot())::text as next,
             pg_snapshot_xmin(pg_current_snapshot()) >= ${passedBefore}::xid8 as passed,
             w.entries, w.ids, w.apart, w.leaves, w.unwritten
        from log_state s
       cross join lateral (
         select count(*)::int as entries,
                coalesce(string_agg(id::text, ',' order by id), '') as ids,
                coalesce(jsonb_agg(place order by id) filter (where apart), '[]') as apart,
                coalesce(string_agg(sha256('\\x00'::bytea || entry), ''::bytea order by id), ''::bytea) as leaves,
                coalesce(
                  jsonb_agg(jsonb_build_object('place', place, 'type', type, 'challenge_id', challenge_id,
                                               'version', version, 'closed_at', closed_at, 'imported', imported)
                            order by id) filter (where entry is null), '[]') as unwritten
           from (
             select row_number() over (order by id) - 1 as place, w.*
               from (
                 (select id, type, challenge_id, version, closed_at, imported, entry, true as apart
                    from log_pending where id > ${after}::int8 order by id limit ${most})
                 union all
                 (select ${prediction}, false
                    from predictions p
                   where p.queue_id > s.taken and p.queue_id <= (select last_value from log_pending_id_seq)
                   order by p.queue_id limit ${most})
                 union all
                 select late.*
                   from unnest(s.late) as r (ids)
                  cross join lateral (
                    select ${prediction}, true
                      from predictions p where p.queue_id >= lower(r.ids) and p.queue_id < upper(r.ids)
                     order by p.queue_id limit ${most}) late
                  order by id
                  limit ${most}) w) w) w`)

  /**
   * Moves a part of what was seen from the queue to the log, whose state then is that of `tree`; `bytes` are of those
   * that came without. It does nothing when the state is not `before` any more, or another replica is at it. What
   * moves the state takes what it adds, so as long as the state is `before` all that was seen still waits; were it not
   * so, the statement fails, for its tree is not that of the entries then.
   *
   * Parts are in the order of ids, and so is what is seen: nothing that could be seen, up to the part's last id, waits any
   * more. Smaller ids that were not there are kept as `late` until no transaction can bring them any more.
   *
   * Predictions stay where they are, and what is noted of them is which follow each other within a tile. Those that were
   * late have entries of their own, or runs would lie within each other. Which are which is told by their places, so that
   * nothing is joined whose number the planner does not know.
   */
  const store = (
    { apart, ids, over }: Batch,
    { entries, first }: Part,
    before: State,
    tree: Frontier,
    { bytes, nodes }: { readonly bytes: ReadonlyArray<Uint8Array>; readonly nodes: ReadonlyArray<FullNode> }
  ) => {
    const after = stateOf(tree)
    const own = apart
      .filter((place) => place >= first && place < first + entries)
      .map((place) => place - first)
    const runs = runsOf(before.size, entries, own)
    // PostgreSQL counts from 1.
    const places = (from: ReadonlyArray<number>) =>
      arrayParam(
        "int4",
        from.map((place) => place + 1)
      )
    return Effect.map(
      // What is signed must not be lost in a crash: where commits are asynchronous, this one waits for the disk.
      storedRow(sql`
        with batch as materialized (
          select (string_to_array(${ids}, ',')::int8[])[${first + 1}::int:${first + entries}::int] as ids
        ),
        own as materialized (
          select array(select b.ids[place] from unnest(${places(own)}) as place) as ids from batch b
        ),
        moved as (
          update log_state
             set size = ${BigInt(after.size)}, root = ${after.root},
                 taken = greatest(taken, b.last),
                 late = late + int8multirange(int8range(taken, greatest(taken, b.last), '(]')) - b.own
                        - int8multirange(int8range(null, least(${over}::int8, b.last), '(]'))
            from (
              select max(id) as last, range_agg(int8range(id, id, '[]')) as own
                from batch cross join unnest(ids) as id) b
           where size = ${BigInt(before.size)} and root = ${before.root} and fault is null
             and pg_try_advisory_xact_lock(${logLock})
          returning case current_setting('synchronous_commit')
                      when 'off' then set_config('synchronous_commit', 'on', true) end
        ),
        dequeued as (
          delete from log_pending
           where id = any ((select ids from own)::int8[])
             and exists (select from moved)
          returning id, type, challenge_id, version, commit, commit_index, entry
        ),
        taken as (
          select * from dequeued
          union all
          select queue_id, 'prediction.commit', challenge_id, null, commit, null,
                 coalesce(entry, log_commit_entry(challenge_id, commit))
            from predictions
           where queue_id = any ((select ids from own)::int8[])
             and exists (select from moved)
        ),
        stored as (
          insert into log_entries (index, type, challenge_id, version, commit, commit_index, entry)
          select ${BigInt(before.size)}::int8 + place - 1, type, challenge_id, version, commit, commit_index,
                 coalesce(entry, (${arrayParam("bytea", bytes)})[place])
            from (
              select (${places(own)})[row_number() over (order by id)] as place, * from taken) t
           order by place
        ),
        noted as (
          insert into log_runs (first, ids)
          select s.index, (select range_agg(int8range(id, id, '[]')) from unnest(b.ids[s.first:s.last]) as id)
            from batch b
           cross join unnest(${arrayParam(
             "int8",
             runs.map(({ first }) => BigInt(before.size + first))
           )}, ${places(runs.map(({ first }) => first))}, ${places(runs.map(({ last }) => last))})
                   as s (index, first, last)
           where exists (select from moved)
        ),
        noded as (
          insert into log_nodes (level, n, hash)
          select * from unnest(
            ${arrayParam(
              "int4",
              nodes.map(({ level }) => level)
            )}, ${arrayParam(
              "int8",
              nodes.map(({ n }) => BigInt(n))
            )}, ${arrayParam(
              "bytea",
              nodes.map(({ hash }) => hash)
            )})
           where exists (select from moved)
        )
        select case
                 when not exists (select from moved) then false
                 when (select count(*) from taken) = ${own.length}::int then true
                 else ('only ' || (select count(*) from taken) || ' of ' || ${own.length}::int
                       || ' that were to be stored still waited')::boolean
               end as stored`),
      ({ stored }) => stored
    )
  }

  /** The predictions of a challenge that is closed in the log are revealed once its deadline has passed. */
  const expectReveals = (closed: ReadonlyArray<string>) =>
    execute(sql`
      insert into log_reveals (challenge_id, due_at)
      select c.id, c.deadline from challenges c
       where c.id = any(${arrayParam("uuid", closed)})
         and exists (select 1 from predictions p where p.challenge_id = c.id)
       order by c.id
      on conflict do nothing`)

  /** Waits for nobody; whether the state is still what was seen, and stays so until the transaction ends. */
  const hold = ({ root, size }: State) =>
    Effect.map(
      // A close counts all commits of its challenge, and there may be a million.
      heldRow(sql`
        select set_config('statement_timeout', '5min', true) is not null
               and set_config('idle_in_transaction_session_timeout', '1min', true) is not null as held
          from log_state
         where size = ${BigInt(size)} and root = ${root} and fault is null and pg_try_advisory_xact_lock(${logLock})
           for update`),
      Option.isSome
    )

  /**
   * What has its bytes and what has not, in turn, within a transaction: what is composed counts what stands before it
   * in the log, and nothing may be added meanwhile.
   */
  const composed = Effect.fnUntraced(function* (seen: Seen, over: string, tree: Frontier) {
    if (!(yield* hold(seen))) return false
    let written = 0
    for (const each of partsOf(seen)) {
      const bytes = each.unwritten.length === 0 ? [] : yield* composePending(sql, each.unwritten)
      const leaves = bytes.length === 0 ? leavesOf(seen, written, each.entries) : bytes.map(leafHash)
      if (bytes.length === 0) written += each.entries
      const before = stateOf(tree)
      const nodes = grown(tree, leaves)
      if (!(yield* store({ ...seen, over }, each, before, tree, { bytes, nodes }))) {
        return yield* Effect.die(new Error("the log was moved by somebody who does not hold its lock"))
      }
      const closed = each.unwritten.flatMap(({ challenge_id, type }) =>
        type === "challenge.close" && challenge_id !== null ? [challenge_id] : []
      )
      if (closed.length > 0) yield* expectReveals(closed)
    }
    return true
  })

  /** How many entries got their index; it fails, and has done nothing, when the stored tree is not what was kept of it. */
  const sequence = Effect.gen(function* () {
    const from = yield* Ref.get(start)
    const seen = yield* look(from.after, from.mark.next)
    const { entries, unwritten } = seen
    if (entries === 0) {
      yield* Ref.set(start, advance(from, seen, "emptied"))
      return 0
    }
    if (seen.fault !== null) return 0
    const over = seen.passed ? from.mark.assigned : "0"
    /** The tree that it is now; none when the state was not what was seen. A tree grows in place, so each attempt has its own. */
    const attempt = Effect.gen(function* () {
      const tree = yield* treeOf(seen)
      const isDone = yield* unwritten.length > 0
        ? composed(seen, over, tree)
        : store({ ...seen, over }, { first: 0, entries, unwritten }, seen, tree, {
            bytes: [],
            nodes: grown(tree, leavesOf(seen, 0, entries))
          })
      return isDone ? Option.some(tree) : Option.none()
    })
    const tree = yield* unwritten.length > 0 ? transaction(sql)(attempt) : attempt
    if (Option.isNone(tree)) return 0
    yield* Ref.set(edge, tree)
    yield* Ref.set(start, advance(from, seen, entries < maxPerPass ? "emptied" : "left"))
    return entries
  })

  return { sequence }
})

/** The leaf hashes of so many entries that have their bytes. */
const leavesOf = ({ leaves }: Seen, first: number, entries: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: entries }, (_, place) =>
    leaves.subarray((first + place) * hashLength, (first + place + 1) * hashLength)
  )

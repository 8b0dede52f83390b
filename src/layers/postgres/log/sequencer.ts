/**
 * Assigns log indices to pending entries. Each pass reads the outbox and the log state, then stores entries, tree nodes
 * and the new state in one statement guarded by compare-and-swap on (size, root). A crash before its commit leaves the
 * log unchanged. Any number of sequencers may run: one wins, and the statement of the others changes nothing.
 *
 * An id is assigned before its transaction commits, so a smaller id can become visible after a larger one was
 * sequenced. Every pass therefore reads from the smallest id there is, and never from where the last pass ended.
 */
import { Duration, Effect, Option, Ref, Schema } from "effect"
import { maxPerPass } from "../../../services/LogSequencer.ts"
import { BackgroundClient } from "../BackgroundClient.ts"
import { arrayParam, findAll, findOne, rowsOf, transaction, withStatementTimeout } from "../sql.ts"
import { challengeClose } from "./entries.ts"
import { emptyRoot, hashLength, leafHash } from "./frontier.ts"
import type { Frontier, FullNode } from "./frontier.ts"
import type { makeSignerState } from "./signerState.ts"
import { runOf, serverOf } from "./logState.ts"
import { treeOfRoot } from "./tree.ts"

/** A pending close; the sequencer composes its bytes, which contain indices. */
const Close = Schema.Struct({
  /** The number of entries before it in the batch. */
  place: Schema.Int,
  challenge_id: Schema.String,
  closed_at: Schema.DateTimeUtcFromString
})
type Close = typeof Close.Type

/** The log's state and the oldest pending entries, as a pass reads them. */
const Backlog = Schema.Struct({
  server: Schema.String,
  run: Schema.String,
  size: Schema.Int,
  root: Schema.Uint8Array,
  fault: Schema.NullOr(Schema.String),
  ids: Schema.Array(Schema.String),
  closes: Schema.Array(Close),
  /** The concatenated leaf hashes of the entries other than closes; the bytes of entries stay in the database. */
  leaves: Schema.Uint8Array
})
type Backlog = typeof Backlog.Type

const Commits = Schema.Struct({
  challenge_id: Schema.String,
  commits: Schema.Int,
  last_index: Schema.Int,
  root: Schema.Uint8Array
})

interface ComposedClose extends Close {
  readonly entry: Uint8Array
}

const int8s = (ids: ReadonlyArray<string>) =>
  arrayParam(
    "int8",
    ids.map((id) => BigInt(id))
  )

const leavesOf = ({ ids, leaves }: Backlog, closes: ReadonlyArray<ComposedClose>): ReadonlyArray<Buffer> => {
  const composed = new Map(closes.map(({ entry, place }) => [place, leafHash(entry)]))
  let read = 0
  return ids.map((_, place) => {
    const leaf = composed.get(place)
    if (leaf !== undefined) return leaf
    read += hashLength
    return Buffer.from(leaves.subarray(read - hashLength, read))
  })
}

export const makeSequence = Effect.fnUntraced(function* ({
  authorizeRun
}: Pick<Effect.Success<typeof makeSignerState>, "authorizeRun">) {
  const { client: sql } = yield* BackgroundClient
  const backlogRow = findOne(Backlog)
  const commitRows = findAll(Commits)
  const appendedRow = findOne(Schema.Struct({ appended: Schema.Boolean }))
  /** The tree after the last batch that this instance sequenced. */
  const lastTree = yield* Ref.make(Option.none<Frontier>())

  const backlog = backlogRow(sql`
    select ${serverOf(sql)} as server, ${runOf(sql)} as run,
           s.size::float8 as size, s.root, s.fault, p.ids, p.closes, p.leaves
      from log_state s
     cross join lateral (
       select coalesce(array_agg(id::text order by id), '{}') as ids,
              coalesce(
                jsonb_agg(jsonb_build_object('place', place, 'challenge_id', challenge_id, 'closed_at', closed_at)
                          order by id) filter (where type = 'challenge.close'), '[]') as closes,
              coalesce(string_agg(sha256('\\x00'::bytea || entry), ''::bytea order by id)
                         filter (where type <> 'challenge.close'), ''::bytea) as leaves
         from (
           select *, row_number() over (order by id) - 1 as place
             from (select * from log_pending order by id limit ${maxPerPass}) oldest) o) p`)

  /** The tree of the log's state: the one in memory if it is current, else the stored one. */
  const treeOf = Effect.fnUntraced(function* ({ root, size }: Backlog) {
    const kept = yield* Ref.getAndSet(lastTree, Option.none())
    const isCurrent = (tree: Frontier) => tree.size === size && tree.root().equals(root)
    if (Option.isSome(kept) && isCurrent(kept.value)) return kept.value
    return yield* treeOfRoot(sql, size, root)
  })

  /**
   * Composes closes, each with the count and root of its challenge's commits. All of them are in the log or before the close
   * in the batch: a challenge closes after the transactions of its predictions have committed.
   */
  const compose = Effect.fnUntraced(function* ({ closes, ids, size }: Backlog) {
    if (closes.length === 0) return []
    const challenges = arrayParam(
      "uuid",
      closes.map((close) => close.challenge_id)
    )
    const counted = yield* transaction(sql)(
      // A challenge may have a million commits, hence the longer time limit.
      commitRows(sql`
          select c.challenge_id::text, count(*)::int as commits, max(c.index)::float8 as last_index,
                 merkle_root(string_agg(sha256('\\x00'::bytea || c.commit), ''::bytea order by c.index)) as root
            from (
              select p.challenge_id, p.commit, e.index
                from predictions p
               cross join lateral (
                 select index from log_entries
                  where type = 'prediction.commit' and commit = p.commit limit 1) e
               where p.challenge_id = any(${challenges})
               union all
              select p.challenge_id, p.commit, ${BigInt(size)}::int8 + b.position - 1
                from unnest(${int8s(ids)}) with ordinality as b (id, position)
                join log_pending p on p.id = b.id
               where p.type = 'prediction.commit' and p.challenge_id = any(${challenges})) c
           group by c.challenge_id`).pipe(withStatementTimeout(sql, Duration.minutes(5)))
    )
    const byChallenge = new Map(counted.map((row) => [row.challenge_id, row]))
    const none = { commits: 0, last_index: null, root: emptyRoot }
    return closes.map((close): ComposedClose => {
      const { challenge_id, closed_at } = close
      const commits = byChallenge.get(challenge_id) ?? none
      return { ...close, entry: challengeClose({ ...commits, challenge_id, closed_at }) }
    })
  })

  /**
   * Moves the batch from the outbox to the end of the log if server and state of the log are those that were read, which
   * implies that the whole batch is still pending. It also schedules the reveals of each challenge that the batch closes.
   */
  const append = (
    { ids, root, server, size }: Backlog,
    closes: ReadonlyArray<ComposedClose>,
    tree: Frontier,
    nodes: ReadonlyArray<FullNode>
  ) =>
    // No request waits for this commit, so it waits for the disk and a synchronous standby, which signing needs.
    appendedRow(sql`
      with grown as (
        update log_state set size = ${BigInt(tree.size)}, root = ${tree.root()}
         where size = ${BigInt(size)} and root = ${root} and fault is null and ${server} = ${serverOf(sql)}
        returning case when current_setting('synchronous_commit') <> 'remote_apply'
                       then set_config('synchronous_commit', 'on', true) end
      ),
      taken as (
        delete from log_pending p
         using unnest(${int8s(ids)}) with ordinality as b (id, position)
         where p.id = b.id and exists (select from grown)
        returning b.position, p.*
      ),
      stored as (
        insert into log_entries (index, type, challenge_id, version, commit, commit_index, entry)
        select ${BigInt(size)}::int8 + t.position - 1, t.type, t.challenge_id, t.version, t.commit, t.commit_index,
               coalesce(c.entry, t.entry)
          from taken t
          left join ${rowsOf(sql, "c", closes, {
            place: ["int8", ({ place }) => BigInt(place)],
            entry: ["bytea", ({ entry }) => entry]
          })} on c.place = t.position - 1
         order by t.position
      ),
      hashed as (
        insert into log_nodes (level, n, hash)
        select n.level, n.n, n.hash
          from ${rowsOf(sql, "n", nodes, {
            level: ["int4", ({ level }) => level],
            n: ["int8", ({ n }) => BigInt(n)],
            hash: ["bytea", ({ hash }) => hash]
          })}
         where exists (select from grown)
      ),
      revealing as (
        insert into log_reveals (challenge_id, due_at)
        select c.id, c.deadline from challenges c
         where c.id = any(${arrayParam(
           "uuid",
           closes.map((close) => close.challenge_id)
         )})
           and exists (select from grown) and exists (select from predictions p where p.challenge_id = c.id)
        on conflict do nothing
      )
      select case
               when not exists (select from grown) then false
               when (select count(*) from taken) = ${ids.length}::int then true
               else ('only ' || (select count(*) from taken) || ' of ' || ${ids.length}::int
                     || ' entries were still pending')::boolean
             end as appended`)

  /** Returns how many entries got an index. Fails without a change if the stored tree is not the expected one. */
  const sequence = Effect.gen(function* () {
    const found = yield* backlog
    if (found.ids.length === 0 || found.fault !== null || !(yield* authorizeRun(found.run))) return 0
    const closes = yield* compose(found)
    const tree = yield* treeOf(found)
    const nodes = leavesOf(found, closes).flatMap((leaf) => tree.append(leaf))
    const { appended } = yield* append(found, closes, tree, nodes)
    if (!appended) return 0
    yield* Ref.set(lastTree, Option.some(tree))
    return found.ids.length
  })

  return { sequence }
})

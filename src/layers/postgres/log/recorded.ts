/**
 * What is recorded, read from its own tables, for a set of things at once: entries that are composed when they get
 * their index, and the check that an entry says what its tables say.
 */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { column, many } from "../query.ts"
import {
  EntryType,
  challengeClose,
  challengeCreate,
  predictionCommit,
  settlement,
  voided
} from "./entries.ts"
import type { CreatedChallenge, Origin, Settled, Voided } from "./entries.ts"

/** A row of `log_pending`, without its place in the queue. */
export const PendingEntry = Schema.Struct({
  type: EntryType,
  challenge_id: Schema.NullOr(Schema.String),
  version: Schema.NullOr(Schema.Int),
  commit: Schema.NullOr(Schema.Uint8Array),
  commit_index: Schema.NullOr(Schema.Int),
  closed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  imported: Schema.Boolean,
  entry: Schema.NullOr(Schema.Uint8Array)
})
export type PendingEntry = typeof PendingEntry.Type

const Created = Schema.Struct({
  challenge_id: Schema.String,
  asset: Schema.String,
  kind: Schema.String,
  event_id: Schema.NullOr(Schema.String),
  question: Schema.String,
  resolution_criteria: Schema.NullOr(Schema.String),
  resolution_criteria_zh: Schema.NullOr(Schema.String),
  created_at: Schema.DateTimeUtcFromDate,
  deadline: Schema.DateTimeUtcFromDate,
  resolve_at: Schema.DateTimeUtcFromDate,
  close_price_until: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate,
  open_price: Schema.String,
  dead_zone_pct: Schema.NullOr(Schema.String)
})

/** These challenges as they were created, in no order. */
export const createdChallenges = (
  sql: SqlClient.SqlClient,
  challengeIds: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<CreatedChallenge>> =>
  many(Created)(sql`
    select c.id::text as challenge_id, c.target as asset, c.kind, c.event_id, c.question, c.resolution_criteria,
           c.resolution_criteria_zh, c.created_at, c.deadline, c.resolve_at, c.close_price_until, c.cancel_at,
           trim_scale(c.open_price)::text as open_price, trim_scale(c.dead_zone_pct)::text as dead_zone_pct
      from challenges c where c.id = any(${column("uuid", challengeIds)})`)

const Cancelled = Schema.Struct({
  challenge_id: Schema.String,
  voided_at: Schema.DateTimeUtcFromDate,
  reason: Schema.String
})

/** Those of these challenges that are cancelled, in no order. */
export const voidedChallenges = (
  sql: SqlClient.SqlClient,
  challengeIds: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Voided>> =>
  many(Cancelled)(sql`
    select c.id::text as challenge_id, c.cancelled_at as voided_at, c.cancel_reason as reason
      from challenges c where c.id = any(${column("uuid", challengeIds)}) and c.cancelled_at is not null`)

const SettledRow = Schema.Struct({
  challenge_id: Schema.String,
  version: Schema.Int,
  result: Schema.String,
  open_price: Schema.String,
  observation: Schema.String,
  dead_zone_pct: Schema.String,
  source: Schema.String,
  observed_at: Schema.DateTimeUtcFromDate,
  fetched_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  raw_sha256: Schema.NullOr(Schema.Uint8Array),
  settled_at: Schema.DateTimeUtcFromDate,
  scores: Schema.Int,
  root: Schema.Uint8Array
})

export interface SettlementKey {
  readonly challenge_id: string
  readonly version: number
}

/**
 * These settlements, in no order. The root over the scores is computed where they are: RFC 6962 over the leaves
 * `{"agent_id":"...","score":"..."}`, in the order of the agents' ids, which is also that of their texts.
 */
export const settledChallenges = (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<SettlementKey>
): Effect.Effect<ReadonlyArray<Settled>> =>
  many(SettledRow)(sql`
    select s.challenge_id::text, s.version, s.result, trim_scale(s.open_price)::text as open_price,
           trim_scale(s.close_price)::text as observation, trim_scale(s.dead_zone_pct)::text as dead_zone_pct,
           s.source, s.observed_at, s.fetched_at, s.raw_sha256, s.settled_at, n.scores, n.root
      from unnest(${column(
        "uuid",
        keys.map((key) => key.challenge_id)
      )}, ${column(
        "int4",
        keys.map((key) => key.version)
      )}) as k (challenge_id, version)
      join settlements s on s.challenge_id = k.challenge_id and s.version = k.version
     cross join lateral (
       select count(*)::int as scores,
              merkle_root(coalesce(
                string_agg(
                  sha256('\\x00'::bytea || convert_to(
                    '{"agent_id":"' || p.agent_id || '","score":"' || trim_scale(p.score) || '"}', 'UTF8')),
                  ''::bytea order by p.agent_id),
                ''::bytea)) as root
         from prediction_scores p where p.challenge_id = s.challenge_id and p.version = s.version) n`)

const Commits = Schema.Struct({
  challenge_id: Schema.String,
  commits: Schema.Int,
  last_index: Schema.Int,
  root: Schema.Uint8Array
})

interface SequencedCommit {
  readonly challenge_id: string
  readonly index: number
  readonly commit: Uint8Array | null
}

/**
 * The commits of these challenges that have an index, and `more` that are about to be stored: how many, the last index
 * and the root. Challenges without any are left out.
 */
export const commitsOf = (
  sql: SqlClient.SqlClient,
  challengeIds: ReadonlyArray<string>,
  more: ReadonlyArray<SequencedCommit> = []
) =>
  many(Commits)(sql`
    with commits as (
      select e.challenge_id, e.index, e.commit from log_entries e
       where e.type = 'prediction.commit' and e.challenge_id = any(${column("uuid", challengeIds)})
      union all
      select * from unnest(
        ${column(
          "uuid",
          more.map((each) => each.challenge_id)
        )}, ${column(
          "int8",
          more.map((each) => each.index)
        )}, ${column(
          "bytea",
          more.map((each) => each.commit)
        )})
    )
    select challenge_id::text, count(*)::int as commits, max(index)::float8 as last_index,
           merkle_root(string_agg(sha256('\\x00'::bytea || commit), ''::bytea order by index)) as root
      from commits group by challenge_id`)

/** The root of a tree without leaves, RFC 6962. */
const noCommits = { commits: 0, last_index: null, root: createHash("sha256").digest() }

const byChallenge = <Row extends { readonly challenge_id: string }>(rows: ReadonlyArray<Row>) =>
  new Map(rows.map((row) => [row.challenge_id, row]))

const settlementKey = ({ challenge_id, version }: SettlementKey) => `${challenge_id} ${version}`

const originOf = (pending: PendingEntry): Origin => (pending.imported ? "import" : "live")

/**
 * The bytes of every entry of a batch, in its order, of which the first gets the index `firstIndex`: those that are
 * stored, and those that are composed now, with one statement for each type that there is. It runs in the transaction
 * that stores the batch, before that; a close counts the commits that are stored and those of the batch.
 */
export const composePending = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  batch: ReadonlyArray<PendingEntry>,
  firstIndex: number
) {
  const keysOf = (type: EntryType): ReadonlyArray<SettlementKey> =>
    batch.flatMap(({ challenge_id, entry, type: found, version }) =>
      entry === null && found === type && challenge_id !== null && version !== null
        ? [{ challenge_id, version }]
        : []
    )
  const idsOf = (type: EntryType) => keysOf(type).map((key) => key.challenge_id)
  const read = <Key, Row>(
    keys: ReadonlyArray<Key>,
    rows: (sql: SqlClient.SqlClient, keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyArray<Row>>
  ) => (keys.length === 0 ? Effect.succeed([]) : rows(sql, keys))

  const closing = new Set(idsOf("challenge.close"))
  const more = batch.flatMap(({ challenge_id, commit, type }, position) =>
    type === "prediction.commit" && challenge_id !== null && closing.has(challenge_id)
      ? [{ challenge_id, commit, index: firstIndex + position }]
      : []
  )
  const created = byChallenge(yield* read(idsOf("challenge.create"), createdChallenges))
  const committed = byChallenge(yield* read([...closing], () => commitsOf(sql, [...closing], more)))
  const cancelled = byChallenge(yield* read(idsOf("void"), voidedChallenges))
  const settled = new Map(
    (yield* read(keysOf("settlement"), settledChallenges)).map((row) => [settlementKey(row), row])
  )

  const compose = (pending: PendingEntry): Uint8Array | undefined => {
    const { challenge_id, closed_at, commit, entry, type, version } = pending
    const origin = originOf(pending)
    if (entry !== null) return entry
    if (challenge_id === null) return undefined
    if (type === "prediction.commit" && commit !== null)
      return predictionCommit({ challenge_id, commit }, origin)
    if (type === "challenge.create") {
      const challenge = created.get(challenge_id)
      return challenge && challengeCreate(challenge, origin)
    }
    if (type === "challenge.close" && closed_at !== null) {
      return challengeClose(
        { challenge_id, closed_at, ...(committed.get(challenge_id) ?? noCommits) },
        origin
      )
    }
    if (type === "void") {
      const challenge = cancelled.get(challenge_id)
      return challenge && voided(challenge, origin)
    }
    if (type === "settlement" && version !== null) {
      const row = settled.get(settlementKey({ challenge_id, version }))
      return row && settlement(row, origin)
    }
    return undefined
  }
  return batch.map((pending) => {
    const bytes = compose(pending)
    // A defect: what is queued was recorded in the same transaction, and records are never deleted.
    if (bytes === undefined) {
      throw new Error(`what waits for the log is not recorded: ${pending.type} of ${pending.challenge_id}`)
    }
    return bytes
  })
})

/**
 * What is recorded, read from its own tables, for a set of things at once: entries that are composed when they get
 * their index, and the check that an entry says what its tables say.
 */
import { Effect, Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import { ChallengeType } from "../../../services/Challenges.ts"
import { arrayParam, findAll, rowsOf } from "../sql.ts"
import { challengeClose, challengeCreate, settlement, voided } from "./entries.ts"
import type { CreatedChallenge, EntryType, Origin, Voided } from "./entries.ts"
import { emptyRoot } from "./frontier.ts"
import { itsPlace } from "./leafIndex.ts"
import { settledPools } from "./recordedPools.ts"

/** What of a row of `log_pending` says how the entry is composed that it has no bytes of. */
export interface Unwritten {
  readonly type: EntryType
  readonly challenge_id: string | null
  readonly version: number | null
  readonly closed_at: DateTime.Utc | null
  readonly imported: boolean
}

/** The terms of a macro challenge or a price event as entries write them; all null of directional ones. */
export const QuestionTerms = Schema.Struct({
  period: Schema.NullOr(Schema.String),
  unit: Schema.NullOr(Schema.String),
  bin_edges: Schema.NullOr(Schema.Array(Schema.String)),
  reference_scale: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.String),
  reward_pool: Schema.NullOr(Schema.String),
  level: Schema.NullOr(Schema.String)
})

const Created = Schema.Struct({
  challenge_id: Schema.String,
  challenge_type: ChallengeType,
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
  open_price: Schema.NullOr(Schema.String),
  dead_zone_pct: Schema.NullOr(Schema.String),
  ...QuestionTerms.fields,
  window_from: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

/** The columns of `QuestionTerms` of a challenge `c`. */
export const questionTerms = (sql: SqlClient.SqlClient) => sql`
  c.period, c.unit, trim_scale(c.level)::text as level, trim_scale(c.reference_scale)::text as reference_scale,
  trim_scale(c.decimal_step)::text as decimal_step, trim_scale(c.reward_pool::numeric / 1000000)::text as reward_pool,
  (select array_agg(trim_scale(e.edge)::text order by e.position)
     from unnest(c.bin_edges) with ordinality as e (edge, position)) as bin_edges`

/** These challenges as they were created, in no order. */
export const createdChallenges = (
  sql: SqlClient.SqlClient,
  challengeIds: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<CreatedChallenge>> =>
  findAll(Created)(sql`
    select c.id::text as challenge_id, c.type as challenge_type, c.target as asset, c.kind, c.event_id, c.question, c.resolution_criteria,
           c.resolution_criteria_zh, c.created_at, c.deadline, c.resolve_at, c.close_price_until, c.cancel_at,
           trim_scale(c.open_price)::text as open_price, trim_scale(c.dead_zone_pct)::text as dead_zone_pct,
           c.window_from, ${questionTerms(sql)}
      from challenges c where c.id = any(${arrayParam("uuid", challengeIds)})`)

const Cancelled = Schema.Struct({
  challenge_id: Schema.String,
  voided_at: Schema.DateTimeUtcFromDate,
  reason: Schema.String
})

/** Those of these challenges that are cancelled, in no order. */
export const voidedChallenges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  challengeIds: ReadonlyArray<string>
) {
  const rows = yield* findAll(Cancelled)(sql`
    select c.id::text as challenge_id, c.cancelled_at as voided_at, c.cancel_reason as reason
      from challenges c where c.id = any(${arrayParam("uuid", challengeIds)}) and c.cancelled_at is not null`)
  const pools = yield* settledPools(sql, challengeIds)
  return rows.map((row): Voided => ({ ...row, pool: pools.get(row.challenge_id) ?? null }))
})

const SettledRow = Schema.Struct({
  challenge_id: Schema.String,
  version: Schema.Int,
  result: Schema.NullOr(Schema.String),
  open_price: Schema.NullOr(Schema.String),
  dead_zone_pct: Schema.NullOr(Schema.String),
  observation: Schema.String,
  reference_scale: Schema.NullOr(Schema.String),
  level: Schema.NullOr(Schema.String),
  source: Schema.String,
  observed_at: Schema.DateTimeUtcFromDate,
  fetched_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  raw_sha256: Schema.NullOr(Schema.Uint8Array),
  settled_at: Schema.DateTimeUtcFromDate,
  /** These two are of amendments. */
  previous_version: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Schema.String),
  scores: Schema.Int,
  root: Schema.Uint8Array
})

export interface SettlementKey {
  readonly challenge_id: string
  readonly version: number
}

/**
 * These settlements, in no order. The root over the scores is computed where they are: RFC 6962 over the leaves
 * `{"agent_id":"...","score":"..."}`, in the order of the agents' ids, which is also that of their texts. Credit moves
 * with the first version, and with no other.
 */
export const settledChallenges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<SettlementKey>
) {
  const rows = yield* findAll(SettledRow)(sql`
    select s.challenge_id::text, s.version, s.result, trim_scale(s.open_price)::text as open_price,
           trim_scale(coalesce(s.close_price, s.actual_value))::text as observation,
           trim_scale(s.reference_scale)::text as reference_scale, trim_scale(s.dead_zone_pct)::text as dead_zone_pct,
           trim_scale(s.level)::text as level,
           s.source, s.observed_at, s.fetched_at, s.raw_sha256, s.settled_at, s.previous_version, s.reason, n.scores,
           n.root
      from ${rowsOf(sql, "k", keys, {
        challenge_id: ["uuid", (key) => key.challenge_id],
        version: ["int4", (key) => key.version]
      })}
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
  const hasPool = (row: (typeof rows)[number]) => row.version === 1 && row.reference_scale !== null
  const pools = yield* settledPools(
    sql,
    rows.filter(hasPool).map((row) => row.challenge_id)
  )
  return rows.map((row) => ({ ...row, pool: hasPool(row) ? (pools.get(row.challenge_id) ?? null) : null }))
})

const Commits = Schema.Struct({
  challenge_id: Schema.String,
  commits: Schema.Int,
  last_index: Schema.Int,
  root: Schema.Uint8Array
})

/**
 * The commits of these challenges that are in the log: how many, the last index and the root. Challenges without any
 * are left out. They are found by the predictions, which the log has no index of by challenge.
 */
export const commitsOf = (sql: SqlClient.SqlClient, challengeIds: ReadonlyArray<string>) =>
  findAll(Commits)(sql`
    select p.challenge_id::text, count(*)::int as commits, max(e.index)::float8 as last_index,
           merkle_root(string_agg(sha256('\\x00'::bytea || p.commit), ''::bytea order by e.index)) as root
      from predictions p
     ${itsPlace(sql)}
     where p.challenge_id = any(${arrayParam("uuid", challengeIds)}) and e.index is not null
     group by p.challenge_id`)

const noCommits = { commits: 0, last_index: null, root: emptyRoot }

const byChallenge = <Row extends { readonly challenge_id: string }>(rows: ReadonlyArray<Row>) =>
  new Map(rows.map((row) => [row.challenge_id, row]))

const settlementKey = ({ challenge_id, version }: SettlementKey) => `${challenge_id} ${version}`

/** Whatever follows from the keys of some rows; nothing is asked when there are none. */
const read = <Key, Row>(
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<Key>,
  rows: (sql: SqlClient.SqlClient, keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyArray<Row>>
) => (keys.length === 0 ? Effect.succeed([]) : rows(sql, keys))

/**
 * The bytes of entries that waited without them, in the order of `waiting`, with one statement for each type that there
 * is. It runs in the transaction that sequences them, once the others of the batch are stored: a close counts the
 * commits that have an index, and no commit of its challenge comes after it.
 */
export const composePending = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  waiting: ReadonlyArray<Unwritten>
) {
  const keysOf = (type: EntryType): ReadonlyArray<SettlementKey> =>
    waiting.flatMap(({ challenge_id, type: found, version }) =>
      found === type && challenge_id !== null && version !== null ? [{ challenge_id, version }] : []
    )
  const idsOf = (type: EntryType) => keysOf(type).map((key) => key.challenge_id)
  const created = byChallenge(yield* read(sql, idsOf("challenge.create"), createdChallenges))
  const committed = byChallenge(yield* read(sql, idsOf("challenge.close"), commitsOf))
  const cancelled = byChallenge(yield* read(sql, idsOf("void"), voidedChallenges))
  const settled = new Map(
    (yield* read(sql, keysOf("settlement"), settledChallenges)).map((row) => [settlementKey(row), row])
  )

  const compose = ({
    challenge_id,
    closed_at,
    imported,
    type,
    version
  }: Unwritten): Uint8Array | undefined => {
    const origin: Origin = imported ? "import" : "live"
    if (challenge_id === null || version === null) return undefined
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
    if (type === "settlement") {
      const row = settled.get(settlementKey({ challenge_id, version }))
      return row && settlement(row, origin)
    }
    if (type === "void") {
      const challenge = cancelled.get(challenge_id)
      return challenge && voided(challenge, origin)
    }
    return undefined
  }
  return waiting.map((pending) => {
    const bytes = compose(pending)
    // A defect: what is queued was recorded in the same transaction, and records are never deleted.
    if (bytes === undefined) {
      throw new Error(`what waits for the log is not recorded: ${pending.type} of ${pending.challenge_id}`)
    }
    return bytes
  })
})

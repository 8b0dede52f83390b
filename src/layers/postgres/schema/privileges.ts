/**
 * The privileges of the running role on each table: those that the code needs, and no others. Records are only ever added to. A
 * privilege that a later version no longer needs stays while an instance of the version before may run beside it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const read = "select"
const add = "select, insert"
const change = "select, insert, update"
const all = "select, insert, update, delete"

/**
 * Privileges by table, view or sequence. A role can lock a row if it may update a column of it: `update (kind)` lets accounts be
 * locked, and their kinds follow from their ids. Tables that only triggers write are not listed, since triggers run as the owner.
 */
export const privileges: Readonly<Record<string, string>> = {
  accounts: `${read}, update (kind)`,
  agent_bytes: change,
  agent_ranks: all,
  agent_skill: all,
  agent_skill_months: all,
  agent_stats: change,
  agents: `${add}, update (challenge_passed_at, claim_grant, claimed_at, credit_arena_enabled, first_token_at, grace_notices, issuance_paused_at, key_set_at, owner_id, prediction_limit, predictions_used, requested_scopes, secret_hash, suspended_at, token_epoch, webhook_scope)`,
  archived_challenges: add,
  archived_tournaments: add,
  audit_chain: read,
  audit_head: `${read}, update (logged)`,
  audit_log: add,
  audit_outcomes: add,
  awaited_checkouts: all,
  boards: change,
  calibration_stats: change,
  challenge_consensus: add,
  challenge_counts: change,
  challenge_references: add,
  challenge_skill: change,
  challenges: `${add}, update (cancel_reason, cancelled_at, closed_at, resolved_at)`,
  checkout_sessions: add,
  claim_links: change,
  comment_counts: change,
  comment_likes: `${add}, update (created_at), delete`,
  comments: add,
  confusables: read,
  declined_mailboxes: add,
  discussions: change,
  effect_sql_migrations: read,
  event_lists: `${add}, delete`,
  events: change,
  expected_candles: change,
  feed_items: add,
  feeds: change,
  follow_counts: change,
  follows: `${add}, delete`,
  gateway_alerts: change,
  gateway_calls: add,
  gateway_days: change,
  gateway_keys: change,
  gateway_reservations: all,
  idempotency_keys: all,
  instance: read,
  instances: all,
  job_runs: `${add}, delete`,
  limit_windows: all,
  log_checkpoints: `${add}, update (time_stamp), delete`,
  log_continuations: add,
  log_cosignatures: `${add}, update (cosigned_at, line)`,
  log_entries: add,
  log_identity: add,
  log_keys: add,
  log_lost_heads: add,
  log_nodes: add,
  log_pending: `${add}, delete`,
  log_reveals: all,
  log_state: `${read}, update`,
  log_witnesses: change,
  macro_proposals: add,
  mail_claims: change,
  mails: all,
  notice_state: `${read}, update`,
  notices: `${add}, update (seq), delete`,
  operator_identities: add,
  operator_sessions: all,
  operators: `${add}, update (credited, credited_month, digest_day, email, mailbox, mails, plan)`,
  paper_signal_spacing: change,
  paper_signals: add,
  payment_events: add,
  payments: add,
  pool_bins: change,
  pool_rewards: add,
  pool_settlements: add,
  practice_predictions: all,
  practice_questions: `${add}, delete`,
  prediction_counts: change,
  prediction_scopes: `${add}, delete`,
  prediction_scores: add,
  predictions: add,
  price_points: add,
  price_quarantine: change,
  price_readings: add,
  published_counts: change,
  published_odds: change,
  purchases: add,
  rate_limits: all,
  registration_attempts: add,
  registration_challenges: change,
  release_calendar: all,
  scheduled_challenges: add,
  settlements: add,
  sign_in_links: all,
  skill_days: change,
  skill_questions: change,
  stakes: add,
  targets: change,
  transfers: add,
  used_assertions: `${add}, delete`,
  webhook_deliveries: all,
  webhook_state: `${read}, update`,
  webhooks: all
}

/** Gives a role by this name these privileges in the schema, and no others on these tables. */
export const grantTo = Effect.fnUntraced(function* (role: string) {
  const sql = yield* SqlClient.SqlClient
  const [place] = yield* sql`select current_schema(), current_database()`.values
  const schema = sql(String(place?.[0]))
  // A temporary table could hide another table, and have a trigger of its own.
  yield* sql`revoke temporary on database ${sql(String(place?.[1]))} from public, ${sql(role)}`
  yield* sql`revoke create on schema ${schema} from public, ${sql(role)}`
  yield* sql`grant usage on schema ${schema} to ${sql(role)}`
  const tables = Object.entries(privileges)
  for (const granted of new Set(tables.map(([, each]) => each))) {
    const alike = tables.filter(([, each]) => each === granted).map(([name]) => name)
    const kind = sql.literal(alike.every((name) => name.endsWith("_seq")) ? "sequence" : "table")
    const relations = sql.csv(alike.map((name) => sql`${schema}.${sql(name)}`))
    yield* sql`revoke all on ${kind} ${relations} from ${sql(role)}`
    yield* sql`grant ${sql.literal(granted)} on ${kind} ${relations} to ${sql(role)}`
  }
})

/** Compares the log with the stored rows in one snapshot, and records the first difference as the log's fault. */
import { Clock, Duration, Effect, Option, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { StoreUnavailable } from "../../../services/domain/errors.ts"
import type { LogAuditReport } from "../../../services/Audit.ts"
import { LogSequencer } from "../../../services/LogSequencer.ts"
import type { Seen } from "../../../services/LogSequencer.ts"
import { namesOf } from "../log/logState.ts"
import { findAll, findOne, transaction, withStatementTimeout } from "../sql.ts"
import { auditAdminAudit } from "./log/adminAudit.ts"
import { auditAgents } from "./log/agents.ts"
import { auditChallenges } from "./log/challenges.ts"
import { auditCheckpoints, auditCosignatures } from "./log/checkpoints.ts"
import { auditContinuations } from "./log/continuations.ts"
import { Findings } from "./log/findings.ts"
import { auditPredictions } from "./log/predictions.ts"
import { auditPoolRows } from "./log/pools.ts"
import { auditSettlements } from "./log/settlements.ts"
import { auditPending, auditOrphans } from "./log/orphans.ts"
import { auditTree } from "./log/tree.ts"

/** The maximum wait for the lock of the row. Every statement that holds it has a shorter time limit. */
const maxHold = Duration.minutes(15)

const knownRow = findOne(Schema.Struct({ fault: Schema.NullOr(Schema.String), evidence: Schema.Int }))
const lostRows = findAll(
  Schema.Struct({ size: Schema.Finite, root: Schema.Uint8Array, is_kept: Schema.Boolean })
)

export const verifyLog = Effect.gen(function* () {
  const begun = yield* Clock.currentTimeMillis
  // The signer's state is read before the snapshot begins, so the snapshot contains every checkpoint in it.
  const seen = yield* (yield* LogSequencer).seen
  const { counts, findings, known } = yield* compareAll(seen)
  const [first] = findings.lines
  const fault =
    first === undefined ? null : `an audit found ${findings.count} differences; the first: ${first}`
  if (fault !== null)
    yield* Effect.logError("the log differs from what is stored").pipe(Effect.annotateLogs({ fault }))
  const sql = yield* SqlClient.SqlClient
  // A clean audit clears only the fault it read in its snapshot: a fault recorded later, or one with more evidence, is not
  // refuted by this snapshot.
  yield* record(
    fault === null
      ? sql`update log_state set fault = null
             where fault = ${known.fault} and (select count(*) from log_lost_heads) = ${known.evidence}::int`
      : sql`update log_state set fault = ${fault} where fault is distinct from ${fault}`
  )
  const report: LogAuditReport = {
    ...counts,
    seconds: ((yield* Clock.currentTimeMillis) - begun) / 1000,
    difference_count: findings.count,
    differences: findings.lines
  }
  return report
})

/** Runs the whole audit in one snapshot and with bounded memory. */
const compareAll = Effect.fnUntraced(function* (seen: Option.Option<Seen>) {
  const sql = yield* SqlClient.SqlClient
  return yield* transaction(sql)(
    Effect.gen(function* () {
      const findings = new Findings()
      const known = yield* knownRow(sql`
        select (select fault from log_state) as fault, (select count(*)::int from log_lost_heads) as evidence`)
      const { continuations, entries, rotations } = yield* auditTree(findings, yield* seenHeads(seen))
      const pending = yield* auditPending(findings)
      const checkpoints = yield* auditCheckpoints(findings, [...rotations, ...pending.rotations])
      yield* auditCosignatures(findings)
      yield* auditContinuations(findings, [...continuations, ...pending.continuations])
      const { challenges, pools } = yield* auditChallenges(findings)
      const predictions = yield* auditPredictions(findings)
      const settled = yield* auditSettlements(findings)
      yield* auditPoolRows(findings)
      const agents = yield* auditAgents(findings)
      yield* auditOrphans(findings)
      yield* auditAdminAudit(findings)
      const counts = {
        entries,
        waiting: pending.count,
        checkpoints,
        challenges,
        predictions,
        settlements: settled.settlements,
        scores: settled.scores,
        pools: pools + settled.pools,
        agents
      }
      return { counts, findings, known }
    }).pipe(
      withStatementTimeout(sql, Duration.hours(1), {
        plan_cache_mode: "force_custom_plan",
        work_mem: "64MB",
        idle_in_transaction_session_timeout: "1min"
      })
    )
  ).pipe(
    Effect.provideService(
      SqlClient.BeginTransaction,
      "begin transaction isolation level repeatable read read only"
    )
  )
})

/** The checkpoints that instances saw under the log's name: this instance's largest one, and all those found lost. */
const seenHeads = Effect.fnUntraced(function* (own: Option.Option<Seen>) {
  const sql = yield* SqlClient.SqlClient
  const lost = yield* lostRows(sql`
    select size::float8 as size, root,
           exists (select from log_checkpoints c where c.size >= l.size) as is_kept
      from log_lost_heads l
     where origin = (select origin from ${namesOf(sql)} n order by number desc limit 1)
     order by size`)
  const heads = lost.map(({ is_kept, root, size }) => ({
    size,
    root,
    isKept: is_kept,
    where: "log_lost_heads"
  }))
  const isKnown = (head: Seen) =>
    lost.some(({ root, size }) => size === head.size && Buffer.compare(root, head.root) === 0)
  return [
    ...Option.toArray(Option.filter(own, (head) => !isKnown(head))).map((head) => ({
      ...head,
      where: "log-seen"
    })),
    ...heads
  ]
})

/**
 * Stores the result. It must not be lost, so this waits for the row's lock and for the database, even after the caller has
 * disconnected.
 */
const record = Effect.fnUntraced(function* (statement: Statement.Statement<object>) {
  const sql = yield* SqlClient.SqlClient
  yield* transaction(sql)(
    withStatementTimeout(sql, maxHold, { lock_timeout: String(Duration.toMillis(maxHold)) })(statement)
  ).pipe(
    Effect.catchDefect((defect) =>
      defect instanceof StoreUnavailable ? Effect.fail(defect) : Effect.die(defect)
    ),
    Effect.retry({ times: 20, schedule: Schedule.spaced("3 seconds") }),
    Effect.orDie
  )
}, Effect.uninterruptible)

import { Clock, Duration, Effect, Layer, Option, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { StoreUnavailable } from "../../../services/domain/errors.ts"
import { LogAudit } from "../../../services/LogAudit.ts"
import type { LogAuditReport } from "../../../services/LogAudit.ts"
import { LogSequencer } from "../../../services/LogSequencer.ts"
import type { Seen } from "../../../services/LogSequencer.ts"
import { Settings } from "../../../services/Settings.ts"
import { namesOf } from "../log/standing.ts"
import { findAll, findOne, transaction, withStatementTimeout } from "../sql.ts"
import { auditAdminAudit } from "./adminAudit.ts"
import { auditAgents } from "./agents.ts"
import { auditChallenges } from "./challenges.ts"
import { auditCheckpoints, auditCosignatures } from "./checkpoints.ts"
import { auditContinuations } from "./continuations.ts"
import { Findings } from "./findings.ts"
import { auditPredictions } from "./predictions.ts"
import { auditPoolRows } from "./pools.ts"
import { auditSettlements } from "./settlements.ts"
import { auditPending, auditOrphans } from "./orphans.ts"
import { auditTree } from "./tree.ts"

/** Longer than the time limit of any other statement. */
const maxHold = Duration.minutes(15)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const sequencer = yield* LogSequencer
  const knownRow = findOne(Schema.Struct({ fault: Schema.NullOr(Schema.String), evidence: Schema.Int }))
  const lostRows = findAll(
    Schema.Struct({ size: Schema.Finite, root: Schema.Uint8Array, is_kept: Schema.Boolean })
  )

  /** What instances have seen under the log's name, this one and those that found it lost. */
  const seenHeads = Effect.fnUntraced(function* (own: Option.Option<Seen>) {
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

  /** The whole audit, in one snapshot and with bounded memory. */
  const compared = (seen: Option.Option<Seen>) =>
    transaction(sql)(
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
        }),
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.provideService(Settings, settings)
      )
    ).pipe(
      Effect.provideService(
        SqlClient.BeginTransaction,
        "begin transaction isolation level repeatable read read only"
      )
    )

  /**
   * Stores the findings. They must not be lost, so it waits for the row's lock and for the database, also when the caller
   * has gone.
   */
  const recorded = (statement: Statement.Statement<object>) =>
    transaction(sql)(
      withStatementTimeout(sql, maxHold, { lock_timeout: String(Duration.toMillis(maxHold)) })(statement)
    ).pipe(
      Effect.catchDefect((defect) =>
        defect instanceof StoreUnavailable ? Effect.fail(defect) : Effect.die(defect)
      ),
      Effect.retry({ times: 20, schedule: Schedule.spaced("3 seconds") }),
      Effect.orDie,
      Effect.uninterruptible
    )

  const audit = Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    // Read before the snapshot, which then has all that was seen.
    const { counts, findings, known } = yield* compared(yield* sequencer.seen)
    const [first] = findings.lines
    const fault =
      first === undefined ? null : `an audit found ${findings.count} differences; the first: ${first}`
    if (fault !== null)
      yield* Effect.logError("the log differs from what is stored").pipe(Effect.annotateLogs({ fault }))
    // A clean audit clears the fault known before the snapshot, not a later one, which the snapshot may not have; nor one
    // that another cause has joined since.
    yield* recorded(
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
  }).pipe(Effect.withSpan("LogAudit.audit"))

  return LogAudit.of({ audit })
})

export const layer = Layer.effect(LogAudit, make)

import { Clock, Duration, Effect, Layer, Option, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { StoreUnavailable } from "../../../services/domain/errors.ts"
import { LogAudit } from "../../../services/LogAudit.ts"
import type { LogAuditReport } from "../../../services/LogAudit.ts"
import { LogSequencer } from "../../../services/LogSequencer.ts"
import type { Signed } from "../../../services/LogSequencer.ts"
import { Settings } from "../../../services/Settings.ts"
import { findOption, transaction, withStatementTimeout } from "../sql.ts"
import { auditAdminAudit } from "./adminAudit.ts"
import { auditAgents } from "./agents.ts"
import { auditChallenges } from "./challenges.ts"
import { auditCheckpoints, auditCosignatures } from "./checkpoints.ts"
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
  const faultRow = findOption(Schema.Struct({ fault: Schema.NullOr(Schema.String) }))

  /** The whole audit, in one snapshot and with bounded memory. */
  const compared = (signed: Option.Option<Signed>) =>
    transaction(sql)(
      Effect.gen(function* () {
        const findings = new Findings()
        const known = yield* faultRow(sql`select fault from log_state`)
        const { entries, rotations } = yield* auditTree(findings, signed)
        const pending = yield* auditPending(findings)
        const checkpoints = yield* auditCheckpoints(findings, [...rotations, ...pending.rotations])
        yield* auditCosignatures(findings)
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
        return { counts, findings, known: Option.getOrNull(known)?.fault ?? null }
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
    // Read before the snapshot, which then has all that was signed.
    const { counts, findings, known } = yield* compared(yield* sequencer.signed)
    const [first] = findings.lines
    const fault =
      first === undefined ? null : `an audit found ${findings.count} differences; the first: ${first}`
    if (fault !== null)
      yield* Effect.logError("the log differs from what is stored").pipe(Effect.annotateLogs({ fault }))
    // A clean audit clears the fault known before the snapshot, not a later one, which the snapshot may not have.
    yield* recorded(
      fault === null
        ? sql`update log_state set fault = null where fault = ${known}`
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

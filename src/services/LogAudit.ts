/**
 * The check of the public log against what is stored: every hash of the tree, every signed tree head, and every recorded
 * thing beside its entry. What differs is named, and the log is not signed again before an audit finds nothing.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"

/** As many differences are named; all of them are counted. */
export const maxDifferences = 100

const compared = (what: string) => Schema.Int.annotate({ description: `${what} that were compared` })

export const LogAuditReport = Schema.Struct({
  entries: compared("entries of the log"),
  waiting: compared("entries without an index yet"),
  checkpoints: compared("signed tree heads"),
  challenges: compared("challenges"),
  predictions: compared("predictions, each revision one"),
  settlements: compared("settlements"),
  scores: compared("scores"),
  pools: compared("credit pools that were settled"),
  agents: compared("agents"),
  seconds: Schema.Finite,
  difference_count: Schema.Int,
  differences: Schema.Array(Schema.String).annotate({
    description: `what differs, one line each; the first ${maxDifferences}`
  })
}).annotate({ identifier: "LogAuditReport" })
export type LogAuditReport = typeof LogAuditReport.Type

export class LogAudit extends Context.Service<
  LogAudit,
  {
    /**
     * Compares everything, as it stood when the audit began; predictions and settlements go on meanwhile. A difference
     * becomes the fault of the log, so that nothing more is signed; an audit without one lifts it.
     */
    readonly audit: Effect.Effect<LogAuditReport>
  }
>()("auspex/services/LogAudit") {}

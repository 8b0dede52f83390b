/** The audits: the public log, the statistics of agents, and the credit ledger, each compared with the rows it is made from. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { Credit } from "./Credits.ts"

/** The maximum number of differences that a report of the log names; it counts all of them. */
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

export const StatsReport = Schema.Struct({ agents: Schema.Int, differences: Schema.Array(Schema.String) })
export type StatsReport = typeof StatsReport.Type

export const LedgerCheck = Schema.Struct({
  accounts: Schema.Int,
  transfers: Schema.Int,
  open_pendings: Schema.Int,
  issued: Credit.annotate({ description: "given out by the treasury, less what came back" }),
  with_agents: Credit,
  with_owners: Credit,
  in_pools: Credit,
  gateway_revenue: Credit,
  frozen: Credit.annotate({ description: "of all that, what is held" }),
  claim_grants: Credit,
  claim_grants_due: Schema.Int.annotate({ description: "agents that are still to get theirs" }),
  plan_credit: Credit.annotate({ description: "given to owners by their plans" }),
  purchases: Credit.annotate({ description: "bought by owners" }),
  refunds: Credit.annotate({ description: "of that, taken back again" }),
  top_ups: Credit.annotate({ description: "moved by owners to their agents" }),
  stakes: Schema.Int.annotate({ description: "in credit pools, also in those that were settled" }),
  open_stakes: Credit.annotate({ description: "frozen in pools that are not settled" }),
  pools_settled: Schema.Int,
  rewards: Credit.annotate({ description: "paid by all of these" }),
  gateway_calls: Schema.Int.annotate({ description: "of models, also those that cost nothing" }),
  gateway_reserved: Credit.annotate({ description: "frozen for calls that are under way" }),
  differences: Schema.Array(Schema.String).annotate({
    description: "whatever is not as it must be, at most 100 of each kind"
  })
}).annotate({ identifier: "LedgerCheck" })
export type LedgerCheck = typeof LedgerCheck.Type

export class Audit extends Context.Service<
  Audit,
  {
    /**
     * Compares every hash of the tree, every signed tree head and every entry with the stored rows, as they stand when the
     * audit begins; predictions and settlements go on meanwhile. A difference becomes the fault of the log, which is then
     * not signed until an audit finds no difference.
     */
    readonly verifyLog: Effect.Effect<LogAuditReport>
    /** Recomputes scores, calibration, skill and the sums of agents, and names every difference. */
    readonly verifyStats: Effect.Effect<StatsReport>
    /** Checks every invariant of the ledger in one snapshot, and names every difference. */
    readonly verifyLedger: Effect.Effect<LedgerCheck>
  }
>()("auspex/services/Audit") {}

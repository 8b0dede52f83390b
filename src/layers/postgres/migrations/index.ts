/** Every migration, in order. One that has landed is never edited; the next one is added here. */
import { agents } from "./0001_agents.ts"
import { targetsAndEvents } from "./0002_targets_and_events.ts"
import { prices } from "./0003_prices.ts"
import { arenas } from "./0004_arenas.ts"
import { scoring } from "./0005_scoring.ts"
import { operations } from "./0006_operations.ts"
import { windows } from "./0007_windows.ts"
import { figures } from "./0008_figures.ts"
import { identity } from "./0009_identity.ts"
import { assertions } from "./0010_assertions.ts"
import { reads } from "./0011_reads.ts"
import { log } from "./0012_log.ts"
import { ledger } from "./0013_ledger.ts"
import { macro } from "./0014_macro.ts"
import { pools } from "./0015_pools.ts"
import { amendments } from "./0016_amendments.ts"
import { priceSources } from "./0017_prices.ts"
import { paperAndArchive } from "./0018_paper_and_archive.ts"
import { priceEvents } from "./0019_price_events.ts"
import { schedules } from "./0020_schedules.ts"
import { feeds } from "./0021_feeds.ts"
import { discussion } from "./0022_discussion.ts"
import { social } from "./0023_social.ts"
import { gateway } from "./0024_gateway.ts"
import { payments } from "./0025_payments.ts"
import { idempotency } from "./0026_idempotency.ts"
import { challengeLists } from "./0027_challenge_lists.ts"
import { pendingLookup } from "./0028_pending_lookup.ts"
import { reservationLookup } from "./0029_reservation_lookup.ts"
import { settledLast } from "./0030_settled_last.ts"
import { adminIdempotency } from "./0031_admin_idempotency.ts"
import { predictionsWait } from "./0033_predictions_wait.ts"
import { scheduleLookups } from "./0032_schedule_lookups.ts"
import { auditOutcomes } from "./0034_audit_outcomes.ts"
import { listByDeadline } from "./0035_list_by_deadline.ts"
import { awaitedCheckouts } from "./0036_awaited_checkouts.ts"
import { logRuns } from "./0037_log_runs.ts"
import { publishedCounts } from "./0038_published_counts.ts"
import { agentsInLog } from "./0039_agents_in_log.ts"
import { gatewayKeyLimits } from "./0040_gateway_key_limits.ts"
import { mailboxes } from "./0041_mailboxes.ts"
import { auditChain } from "./0042_audit_chain.ts"
import { runningRole } from "./0043_running_role.ts"

export const migrations = {
  "0001_agents": agents,
  "0002_targets_and_events": targetsAndEvents,
  "0003_prices": prices,
  "0004_arenas": arenas,
  "0005_scoring": scoring,
  "0006_operations": operations,
  "0007_windows": windows,
  "0008_figures": figures,
  "0009_identity": identity,
  "0010_assertions": assertions,
  "0011_reads": reads,
  "0012_log": log,
  "0013_ledger": ledger,
  "0014_macro": macro,
  "0015_pools": pools,
  "0016_amendments": amendments,
  "0017_prices": priceSources,
  "0018_paper_and_archive": paperAndArchive,
  "0019_price_events": priceEvents,
  "0020_schedules": schedules,
  "0021_feeds": feeds,
  "0022_discussion": discussion,
  "0023_social": social,
  "0024_gateway": gateway,
  "0025_payments": payments,
  "0026_idempotency": idempotency,
  "0027_challenge_lists": challengeLists,
  "0028_pending_lookup": pendingLookup,
  "0029_reservation_lookup": reservationLookup,
  "0030_settled_last": settledLast,
  "0031_admin_idempotency": adminIdempotency,
  "0032_schedule_lookups": scheduleLookups,
  "0033_predictions_wait": predictionsWait,
  "0034_audit_outcomes": auditOutcomes,
  "0035_list_by_deadline": listByDeadline,
  "0036_awaited_checkouts": awaitedCheckouts,
  "0037_log_runs": logRuns,
  "0038_published_counts": publishedCounts,
  "0039_agents_in_log": agentsInLog,
  "0040_gateway_key_limits": gatewayKeyLimits,
  "0041_mailboxes": mailboxes,
  "0042_audit_chain": auditChain,
  "0043_running_role": runningRole
}

/** Usage of the gateway: single calls, totals, and sums by day. */
import { Context, Effect, Schema } from "effect"
import type { DateTime } from "effect"
import { Credit } from "./Credits.ts"
import type { Holder } from "./Credits.ts"
import { Style } from "./Gateway.ts"
import { GatewayKeyId } from "./GatewayKeys.ts"
import type { InvalidRequest } from "./domain/errors.ts"
import type { Page } from "./domain/paging.ts"
import { Timestamp } from "./domain/text.ts"

export class GatewayUsage extends Context.Service<
  GatewayUsage,
  {
    /** Calls of an agent or of all agents of an owner, newest first. */
    readonly list: (of: Holder, range: UsageRange, page: Page) => Effect.Effect<UsagePage, InvalidRequest>
    /** Sums by day, key and model, oldest first, of all days that the range touches. */
    readonly days: (of: Holder, range: UsageRange) => Effect.Effect<ReadonlyArray<UsageDay>>
    /** Sums over all agents, for operators: charges beside the providers' prices. The default range is the last 30 days. */
    readonly report: (question: UsageQuestion) => Effect.Effect<UsageReport, InvalidRequest>
  }
>()("auspex/services/GatewayUsage") {}

/** A call with its charge. */
export const CallRecord = Schema.Struct({
  request_id: Schema.String,
  key_id: GatewayKeyId,
  model: Schema.String.annotate({ description: "as the client named it" }),
  provider: Schema.NullOr(Schema.String).annotate({ description: "that served; null where none did" }),
  served_model: Schema.NullOr(Schema.String).annotate({
    description: "that stood in for it, and whose price counts; null: none did"
  }),
  style: Style,
  stream: Schema.Boolean,
  prompt_tokens: Schema.Int,
  cached_tokens: Schema.Int.annotate({ description: "of the prompt: read from the provider's cache" }),
  cache_write_tokens: Schema.Int.annotate({ description: "of the prompt: written to it" }),
  completion_tokens: Schema.Int,
  reasoning_tokens: Schema.Int.annotate({ description: "of the completion" }),
  cost: Credit,
  status: Schema.Int.annotate({
    description: "HTTP status that the call was answered with; 499: the client left"
  }),
  error: Schema.NullOr(Schema.String),
  latency_ms: Schema.Int,
  first_byte_ms: Schema.NullOr(Schema.Int),
  attempts: Schema.Int,
  estimated: Schema.Boolean.annotate({
    description: "the provider reported no usage: tokens were counted here"
  }),
  created_at: Timestamp
}).annotate({ identifier: "GatewayCall" })
export type CallRecord = typeof CallRecord.Type

export const UsageTotals = Schema.Struct({
  calls: Schema.Int,
  failed_calls: Schema.Int,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  cost: Credit
}).annotate({ identifier: "GatewayUsageTotals" })

export const UsagePage = Schema.Struct({
  items: Schema.Array(CallRecord),
  next_cursor: Schema.NullOr(Schema.String),
  totals: UsageTotals.annotate({ description: "of the asked range, whatever the page" })
}).annotate({ identifier: "GatewayUsage" })
export type UsagePage = typeof UsagePage.Type

/** A day's sums of a key and a model, for charts. */
export const UsageDay = Schema.Struct({
  day: Schema.String.annotate({ description: "UTC, YYYY-MM-DD" }),
  key_id: GatewayKeyId,
  key_name: Schema.String,
  key_prefix: Schema.String,
  model: Schema.String,
  ...UsageTotals.fields
})
export type UsageDay = typeof UsageDay.Type

/** The attribute that groups calls. */
export const UsageGroup = Schema.Literals(["model", "provider", "agent", "day"])

const reported = {
  calls: Schema.Int,
  failed_calls: Schema.Int,
  prompt_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  cache_write_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  reasoning_tokens: Schema.Int,
  charged: Credit,
  calls_without_cost: Schema.Int.annotate({
    description: "that reached a provider, on a route for which the gateway's file had no cost"
  }),
  provider_cost: Credit.annotate({ description: "of the others, summed exactly and rounded up once" }),
  margin: Credit.annotate({ description: "what was charged for the others, less provider_cost" })
}

export const UsageRow = Schema.Struct({
  name: Schema.NullOr(Schema.String).annotate({
    description: "the model that served, a provider (null: none served), an agent_id, or a UTC day"
  }),
  ...reported
}).annotate({ identifier: "GatewayUsageRow" })
export type UsageRow = typeof UsageRow.Type

export const UsageReport = Schema.Struct({
  since: Timestamp,
  until: Timestamp,
  items: Schema.Array(UsageRow).annotate({
    description: "those that were charged most come first; days in their order"
  }),
  groups: Schema.Int.annotate({ description: "how many there are, of which items has the first max_items" }),
  totals: Schema.Struct(reported).annotate({ description: "of all groups" })
}).annotate({ identifier: "GatewayUsageReport" })
export type UsageReport = typeof UsageReport.Type

export interface UsageQuestion extends UsageRange {
  readonly by: typeof UsageGroup.Type
  readonly maxItems: number
}

/** The requested range: `since` counts, `until` does not. */
export interface UsageRange {
  readonly since: DateTime.Utc | undefined
  readonly until: DateTime.Utc | undefined
}

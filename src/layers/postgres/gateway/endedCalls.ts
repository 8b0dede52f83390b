/** How calls that have ended are handed to a statement, and the columns that they are recorded in. */
import type { Array as Arr } from "effect"
import type { SqlClient } from "effect/sql"
import type { EndedCall, OpenCall } from "../../../services/GatewayBilling.ts"
import { rowsOf } from "../sql.ts"
import type { ColumnsOf } from "../sql.ts"

/** PostgreSQL's integers; a provider that reports more tokens than that counts wrong. */
const maxTokens = 2_147_483_647

/** The columns of `gateway_calls`, in the order in which `recordedAs` gives them. */
export const recordColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(`id, agent_id, owner_id, key_id, request_id, model, provider, style, stream, prompt_tokens,
    completion_tokens, cost, status, error, latency_ms, first_byte_ms, attempts, estimated, created_at`)

/** Of a call `c`, its key `k`, and what it was charged. */
export const recordedAs = (sql: SqlClient.SqlClient, charged: string) =>
  sql.literal(`c.call_id, c.agent_id, k.owner_id, c.key_id, c.request_id, c.model, c.provider, c.style, c.stream,
    c.prompt_tokens, c.completion_tokens, ${charged}, c.status, c.error, c.latency_ms, c.first_byte_ms, c.attempts,
    c.estimated, c.created_at`)

/** The columns that a call has from its beginning. */
export const callColumns: ColumnsOf<OpenCall> = {
  call_id: ["uuid", ({ callId }) => callId],
  key_id: ["uuid", ({ holder }) => holder.keyId],
  agent_id: ["uuid", ({ holder }) => holder.agentId],
  request_id: ["text", ({ requestId }) => requestId],
  model: ["text", ({ model }) => model],
  style: ["text", ({ style }) => style],
  stream: ["bool", ({ stream }) => stream],
  created_at: ["timestamptz", ({ createdAt }) => createdAt]
}

/** A row a call. */
export const endedCalls = (sql: SqlClient.SqlClient, calls: Arr.NonEmptyReadonlyArray<EndedCall>) => sql`
    select *
      from ${rowsOf(sql, "a", calls, {
        ...callColumns,
        provider: ["text", ({ provider }) => provider],
        prompt_tokens: ["int4", ({ promptTokens }) => Math.min(promptTokens, maxTokens)],
        completion_tokens: ["int4", ({ completionTokens }) => Math.min(completionTokens, maxTokens)],
        cost: ["int8", ({ cost }) => cost],
        status: ["int4", ({ status }) => status],
        error: ["text", ({ error }) => error],
        latency_ms: ["int4", ({ latencyMs }) => latencyMs],
        first_byte_ms: ["int4", ({ firstByteMs }) => firstByteMs],
        attempts: ["int4", ({ attempts }) => attempts],
        estimated: ["bool", ({ estimated }) => estimated]
      })}`

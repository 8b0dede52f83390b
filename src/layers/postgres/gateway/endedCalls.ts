/** How calls that have ended are handed to a statement, and the columns that they are recorded in. */
import type { Array as Arr } from "effect"
import type { SqlClient } from "effect/sql"
import type { EndedCall } from "../../../services/GatewayBilling.ts"
import { column } from "../query.ts"

/** PostgreSQL's integers; a provider that reports more tokens than that counts wrong. */
const mostTokens = 2_147_483_647

/** The columns of `gateway_calls`, in the order in which `recordedAs` gives them. */
export const recordColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(`id, agent_id, owner_id, key_id, request_id, model, provider, style, stream, prompt_tokens,
    completion_tokens, cost, status, error, latency_ms, first_byte_ms, attempts, estimated, created_at`)

/** Of a call `c`, its key `k`, and what it was charged. */
export const recordedAs = (sql: SqlClient.SqlClient, charged: string) =>
  sql.literal(`c.call_id, c.agent_id, k.owner_id, c.key_id, c.request_id, c.model, c.provider, c.style, c.stream,
    c.prompt_tokens, c.completion_tokens, ${charged}, c.status, c.error, c.latency_ms, c.first_byte_ms, c.attempts,
    c.estimated, c.created_at`)

/** A row a call. */
export const endedCalls = (sql: SqlClient.SqlClient, calls: Arr.NonEmptyReadonlyArray<EndedCall>) => {
  const texts = (of: (call: EndedCall) => string | null) => column("text", calls.map(of))
  const ids = (of: (call: EndedCall) => string) => column("uuid", calls.map(of))
  const whole = (of: (call: EndedCall) => number | null) => column("int4", calls.map(of))
  return sql`
    select *
      from unnest(${ids(({ callId }) => callId)}, ${ids(({ holder }) => holder.keyId)},
                  ${ids(({ holder }) => holder.agentId)}, ${texts(({ requestId }) => requestId)},
                  ${texts(({ model }) => model)}, ${texts(({ provider }) => provider)}, ${texts(({ style }) => style)},
                  ${column(
                    "bool",
                    calls.map(({ stream }) => stream)
                  )},
                  ${whole(({ promptTokens }) => Math.min(promptTokens, mostTokens))},
                  ${whole(({ completionTokens }) => Math.min(completionTokens, mostTokens))},
                  ${column(
                    "int8",
                    calls.map(({ cost }) => cost)
                  )},
                  ${whole(({ status }) => status)}, ${texts(({ error }) => error)}, ${whole(({ latencyMs }) => latencyMs)},
                  ${whole(({ firstByteMs }) => firstByteMs)}, ${whole(({ attempts }) => attempts)},
                  ${column(
                    "bool",
                    calls.map(({ estimated }) => estimated)
                  )},
                  ${column(
                    "timestamptz",
                    calls.map(({ createdAt }) => createdAt)
                  )})
           as a (call_id, key_id, agent_id, request_id, model, provider, style, stream, prompt_tokens, completion_tokens,
                 cost, status, error, latency_ms, first_byte_ms, attempts, estimated, created_at)`
}

/** Calls of models in a database that has grown, all of the busiest agent and one of its keys, and the reads of them. */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { GatewayUsage } from "../../../src/services/GatewayUsage.ts"
import { GatewayKeys } from "../../../src/services/GatewayKeys.ts"
import type { Page } from "../../../src/services/domain/paging.ts"
import { keyId, keyPrefix, uuidText } from "./identifiers.ts"
import { fromTheEnd } from "./pages.ts"
import type { Add, Deep } from "./reads.ts"
import type { Size } from "./seed.ts"

const callPrefix = "0190fe00"
const keys = 60

/** One call a minute, up to now. */
export const gatewayCalls = Effect.fnUntraced(function* (size: Size, agent: string) {
  const sql = yield* SqlClient.SqlClient
  const calls = Math.floor(size.predictions / 4)
  yield* sql`
    insert into operators (id, created_at) values (${agent}::uuid, now())`
  yield* sql`
    insert into gateway_keys (id, agent_id, owner_id, name, prefix, key_hash, created_at)
    select ${sql.literal(uuidText(keyPrefix, "n"))}::uuid, ${agent}::uuid, ${agent}::uuid, 'key', 'aus_gw_' || n,
           sha256(n::text::bytea), now()
      from generate_series(1, ${keys}::int) as n`
  yield* sql`
    insert into gateway_calls (id, agent_id, owner_id, key_id, request_id, model, provider, style, stream, prompt_tokens,
                               completion_tokens, cost, status, latency_ms, first_byte_ms, attempts, estimated, created_at)
    select ${sql.literal(uuidText(callPrefix, "n"))}::uuid, ${agent}::uuid, ${agent}::uuid,
           ${sql.literal(uuidText(keyPrefix, "1"))}::uuid, 'request-' || n, 'swift-1', 'north', 'openai', true, 25, 9, 12200, 200,
           900, 300, 1, false, now() - (${calls}::int - n) * interval '1 minute'
      from generate_series(1, ${calls}::int) as n order by n`
})

export const gatewayReads = Effect.fnUntraced(function* (agent: string, add: Add) {
  const now = yield* DateTime.now
  const of = { kind: "agent", id: agent } as const
  const lastKey: Deep = {
    page: "last",
    list: "gateway keys",
    key: `select to_json(id::text) from (select id from gateway_keys order by id offset ${fromTheEnd} limit 1) as k`
  }
  const lastCall: Deep = {
    page: "last",
    list: "gateway calls",
    key: `select json_build_object('at', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'id', id)
            from (select created_at, id from gateway_calls order by id offset ${fromTheEnd} limit 1) as k`
  }
  yield* add("/api/v1/llm/keys", "", (page) => GatewayKeys.use((service) => service.list(of, page)), lastKey)
  yield* add("/api/v1/llm/keys/:key_id", "", () => GatewayKeys.use((service) => service.find(of, keyId(1))))
  const usage = (since: DateTime.Utc | undefined) => (page: Page) =>
    GatewayUsage.use((service) => service.list(of, { since, until: undefined }, page))
  yield* add("/api/v1/llm/usage", "", usage(undefined), lastCall)
  yield* add("/api/v1/llm/usage", "since a week ago", usage(DateTime.subtract(now, { days: 7 })))
  yield* add("/account/api-keys", "30 days of use", () =>
    GatewayUsage.use((service) =>
      service.days(of, { since: DateTime.subtract(now, { days: 29 }), until: undefined })
    )
  )
})

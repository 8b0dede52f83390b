/** Settling calls: any number of them in one statement, which charges, frees what was reserved, and records. */
import { DateTime, Effect, Schema } from "effect"
import type { Array as Arr } from "effect"
import type { SqlClient } from "effect/sql"
import type { EndedCall } from "../../../services/GatewayBilling.ts"
import { at, column, many } from "../query.ts"
import { reservationId, revenueAccount } from "./reserve.ts"

const charges = many(Schema.Struct({ call_id: Schema.String, charged: Schema.BigInt }))

/** PostgreSQL's integers; a provider that reports more tokens than that counts wrong. */
const mostTokens = 2_147_483_647

export const makeSettle = () =>
  Effect.fnUntraced(function* (calls: Arr.NonEmptyReadonlyArray<EndedCall>, sql: SqlClient.SqlClient) {
    const now = at(yield* DateTime.now)
    const texts = (of: (call: EndedCall) => string | null) => column("text", calls.map(of))
    const ids = (of: (call: EndedCall) => string) => column("uuid", calls.map(of))
    const whole = (of: (call: EndedCall) => number | null) => column("int4", calls.map(of))
    const rows = yield* charges(sql`
      with asked as (
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
                        calls.map(({ createdAt }) => at(createdAt))
                      )},
                      ${column(
                        "int8",
                        calls.map(({ reserved }) => reserved)
                      )})
               as a (call_id, key_id, agent_id, request_id, model, provider, style, stream, prompt_tokens, completion_tokens,
                     cost, status, error, latency_ms, first_byte_ms, attempts, estimated, created_at, reserved)
      ),
      open as materialized (
        select call_id, amount from end_reservations(array(select call_id from asked where reserved > 0))
      ),
      closing as (
        select a.*, o.amount, coalesce(least(a.cost, o.amount), 0) as charged
          from asked a left join open o on o.call_id = a.call_id
         where a.reserved = 0 or o.call_id is not null
      ),
      funds as (
        select id from accounts
         where id in (select 'agent:' || agent_id from closing where amount is not null
                      union select ${revenueAccount} from closing where charged > 0)
         order by id for no key update
      ),
      limited as (
        select k.id from gateway_keys k
         where k.credit_limit is not null and k.id in (select key_id from closing where amount is not null)
           and (select count(*) from funds) > 0
         order by k.id for no key update
      ),
      counted as (
        update gateway_keys k set held = k.held - c.amount, spent = k.spent + c.charged
          from (select key_id, sum(amount) as amount, sum(charged) as charged
                  from closing where amount is not null group by key_id) c
         where k.id = c.key_id and k.id in (select id from limited)
      ),
      recorded as (
        insert into gateway_calls (id, agent_id, owner_id, key_id, request_id, model, provider, style, stream,
                                   prompt_tokens, completion_tokens, cost, status, error, latency_ms, first_byte_ms,
                                   attempts, estimated, created_at)
        select c.call_id, c.agent_id, k.owner_id, c.key_id, c.request_id, c.model, c.provider, c.style, c.stream,
               c.prompt_tokens, c.completion_tokens, c.charged, c.status, c.error, c.latency_ms, c.first_byte_ms,
               c.attempts, c.estimated, c.created_at
          from closing c join gateway_keys k on k.id = c.key_id
         where (select count(*) from funds) >= 0
        on conflict (id) do nothing
      ),
      moved as (
        insert into transfers (id, kind, debit, credit, amount, pending_id, reason, at)
        select 'cap:gw:' || call_id, case when charged > 0 then 'post' else 'void' end, 'agent:' || agent_id,
               ${revenueAccount}, case when charged > 0 then charged else amount end, ${sql.literal(reservationId)},
               'call of ' || model || case when charged > 0 then '' else ', not charged' end, ${now}
          from closing where amount is not null order by call_id
      )
      select call_id::text, charged::int8 as charged from closing`)
    const charged = new Map(rows.map((row) => [row.call_id, row.charged]))
    return calls.map(({ callId }) => charged.get(callId) ?? 0n)
  })

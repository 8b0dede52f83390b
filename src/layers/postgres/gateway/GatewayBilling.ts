/**
 * A reservation is a pending transfer from the agent to the gateway's revenue, and a row while its call is open. Calls that
 * begin or end together share a statement. Every statement takes its locks in one order: reservations, accounts, keys, sums by
 * day, each by id. A statement locks the key's row before it reads the limits.
 */
import { Array as Arr, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { creditsOf } from "../../../services/Credits.ts"
import { CreditInFlight, CreditTooLow, Style } from "../../../services/Gateway.ts"
import { GatewayBilling } from "../../../services/GatewayBilling.ts"
import type { EndedCall, OpenCall, Settled } from "../../../services/GatewayBilling.ts"
import {
  GatewayDisabled,
  GatewayKeyId,
  InvalidGatewayKey,
  limitNames,
  LimitPeriod
} from "../../../services/GatewayKeys.ts"
import { Settings } from "../../../services/Settings.ts"
import { AgentId } from "../../../services/domain/ids.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import { arrayParam, boundTime, execute, findAll, findOption, rowsOf, timestamp } from "../sql.ts"
import type { ColumnsOf } from "../sql.ts"
import { isEnabled } from "./eligibility.ts"
import { changesOf, addChanges, dayAt, isLimited, limitsOf, sinceOf } from "./limits.ts"

/** A reservation that no process has renewed for this long is released. */
const sweepAfter = Duration.minutes(10)
const maxSwept = 500

const Abandoned = Schema.Struct({
  call_id: Schema.String,
  key_id: GatewayKeyId,
  agent_id: AgentId,
  request_id: Schema.String,
  model: Schema.String,
  style: Style,
  stream: Schema.Boolean,
  amount: Schema.BigInt,
  created_at: Schema.DateTimeUtcFromDate
})

/** The credit left of the tightest limit, and of the agent; `in_flight` is the part that calls under way have reserved. */
const Funds = Schema.Struct({
  period: Schema.NullOr(LimitPeriod),
  left_of_limit: Schema.NullOr(Schema.BigInt),
  limit_in_flight: Schema.NullOr(Schema.BigInt),
  available: Schema.BigInt,
  in_flight: Schema.BigInt
})

/** Seconds after which calls under way may have ended. */
const retryAfter = 5

/** Distinguishes an amount that is used up from one that is only reserved by calls under way. */
const refusal = (
  needs: string,
  amount: bigint,
  { in_flight, left }: Pick<Judged, "in_flight" | "left">,
  { remedy, balance }: Purse
) => {
  const detail = `${needs}, and ${balance(creditsOf(left))}`
  if (amount > left + in_flight) return new CreditTooLow({ detail, left, remedy })
  return new CreditInFlight({
    detail: `${detail}, beside ${creditsOf(in_flight)} that calls under way have reserved`,
    left,
    remedy: "try again when they have ended",
    retry_after: retryAfter
  })
}

/** The wording for a limit or a balance that is too low. */
interface Purse {
  readonly balance: (left: string) => string
  readonly remedy: string
}

const periodEnds = {
  day: "at 00:00 UTC",
  week: "on Monday at 00:00 UTC",
  month: "with the month, UTC"
} as const

const ofLimit = (period: LimitPeriod): Purse => {
  const name = limitNames[period]
  const higher = `use a key with a higher ${name}`
  return {
    balance: (left) => `the key's ${name} leaves ${left}`,
    remedy: period === "total" ? higher : `${higher}, or wait until it begins anew ${periodEnds[period]}`
  }
}
const ofCredit: Purse = {
  balance: (left) => `the agent has ${left} available`,
  remedy: "have the owner add credit"
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const abandoned = findAll(Abandoned)
  const funds = findOption(Funds)
  const maxSize = settings.maxBatch
  const reserveOne = yield* RequestBatcher.make({ run: reserveAll, maxSize })
  const settleOne = yield* RequestBatcher.make({ run: settleAll, maxSize })
  const recordOne = yield* RequestBatcher.make({ run: recordFree, maxSize })

  const covers: GatewayBilling["Service"]["covers"] = Effect.fn("GatewayBilling.covers")(function* (
    { agentId, keyId },
    amount
  ) {
    const now = timestamp(yield* DateTime.now)
    const found = yield* funds(sql`
        select t.period, greatest(t.room, 0) as left_of_limit, t.held as limit_in_flight,
               coalesce(a.posted - a.held, 0) as available,
               case when a.posted - a.held < ${amount}::int8 then ${reservedOf(sql, "k.agent_id")} else 0 end as in_flight
          from (select k.*, ${dayAt(sql, now)} as day from gateway_keys k) k
          left join lateral ${tightest(sql)} on true
          left join accounts a on a.id = 'agent:' || k.agent_id
         where k.id = ${keyId}::uuid and k.agent_id = ${agentId}::uuid`)
    // A key that was deleted meanwhile is rejected when it reserves.
    if (Option.isNone(found)) return
    const { available, in_flight, left_of_limit, limit_in_flight, period } = found.value
    const needs = `Even the smallest call may cost up to ${creditsOf(amount)} credits`
    if (period !== null && left_of_limit !== null && left_of_limit < amount) {
      const limit = { left: left_of_limit, in_flight: limit_in_flight ?? 0n }
      return yield* refusal(needs, amount, limit, ofLimit(period))
    }
    if (available < amount) return yield* refusal(needs, amount, { left: available, in_flight }, ofCredit)
  })

  const reserve: GatewayBilling["Service"]["reserve"] = Effect.fnUntraced(function* (call: OpenCall) {
    // `again`: calls of one batch competed for the same credit. Each retry decides at least the first of them.
    let judged = yield* reserveOne(call)
    while (judged.outcome === "again") judged = yield* reserveOne(call)
    const needs = `The call may cost up to ${creditsOf(call.reserved)} credits`
    switch (judged.outcome) {
      case "reserved":
        return judged.left
      case "ended":
        return yield* new InvalidGatewayKey({ detail: "The gateway key has been revoked or has expired." })
      case "disabled":
        return yield* new GatewayDisabled({ detail: "The gateway has been disabled for this agent." })
      case "limit":
        return yield* refusal(needs, call.reserved, judged, ofLimit(judged.period ?? "total"))
      case "credit":
        return yield* refusal(needs, call.reserved, judged, ofCredit)
    }
  }, cheapSpan("GatewayBilling.reserve"))

  const settle: GatewayBilling["Service"]["settle"] = Effect.fnUntraced(function* (call: EndedCall) {
    return yield* call.reserved > 0n ? settleOne(call) : recordOne(call)
  }, cheapSpan("GatewayBilling.settle"))

  const keepAlive: GatewayBilling["Service"]["keepAlive"] = Effect.fn("GatewayBilling.keepAlive")(
    function* (callIds) {
      if (!Arr.isReadonlyArrayNonEmpty(callIds)) return
      const now = yield* DateTime.now
      // Rows that are being settled are skipped.
      yield* execute(sql`
        update gateway_reservations set alive_at = ${timestamp(now)}
         where call_id in (select call_id from gateway_reservations where call_id = any(${arrayParam("uuid", callIds)})
                            order by call_id for update skip locked)`)
    }
  )

  const sweep: GatewayBilling["Service"]["sweep"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const rows = yield* abandoned(sql`
      select call_id::text, key_id::text, agent_id::text, request_id, model, style, stream, amount, created_at
        from gateway_reservations
       where alive_at <= ${boundTime(sql, now, sweepAfter)}
       order by alive_at limit ${maxSwept}`)
    yield* Effect.forEach(
      rows,
      (row) =>
        settle({
          callId: row.call_id,
          holder: { keyId: row.key_id, agentId: row.agent_id },
          requestId: row.request_id,
          model: row.model,
          style: row.style,
          stream: row.stream,
          reserved: row.amount,
          createdAt: DateTime.toEpochMillis(row.created_at),
          provider: null,
          servedModel: null,
          promptTokens: 0,
          cachedTokens: 0,
          cacheWriteTokens: 0,
          completionTokens: 0,
          reasoningTokens: 0,
          cost: 0n,
          providerCost: null,
          status: 500,
          error: "abandoned",
          latencyMs: 0,
          firstByteMs: null,
          attempts: 0,
          estimated: false
        }),
      { concurrency: "unbounded", discard: true }
    )
    if (rows.length > 0) {
      yield* Effect.logWarning(
        "gateway calls ended with their process: their reservations were released"
      ).pipe(Effect.annotateLogs({ calls: rows.length }))
    }
    return rows.length
  }).pipe(Effect.withSpan("GatewayBilling.sweep"))

  return GatewayBilling.of({
    covers,
    reserve,
    settle,
    keepAlive,
    sweep
  })
})

export const layer = Layer.effect(GatewayBilling, make)

/** The id of a call's pending transfer. */
export const reservationId = "'gw:' || call_id"

export const revenueAccount = "gateway_revenue"

const Judged = Schema.Struct({
  outcome: Schema.Literals(["reserved", "ended", "disabled", "limit", "credit", "again"]),
  /** The key's limit or the agent's credit, whichever decided; the smaller one after a reservation. */
  left: Schema.BigInt,
  /** The part that calls under way have reserved. */
  in_flight: Schema.BigInt,
  /** The period of the tightest limit; null if the key has none. */
  period: Schema.NullOr(LimitPeriod)
})
type Judged = typeof Judged.Type

const judgedCalls = findAll(Judged)

/** The sum of the reservations of an agent's calls. Keys are indexed by their agent, and reservations by their key. */
const reservedOf = (sql: SqlClient.SqlClient, agent: string) =>
  sql.literal(`(select coalesce(sum(r.amount), 0)::int8 from gateway_reservations r
                 where r.key_id in (select id from gateway_keys o where o.agent_id = ${agent}))`)

/** The limit of a key `k` that leaves the least on the key's `day`. */
const tightest = (sql: SqlClient.SqlClient) =>
  sql`(select l.*, l.max - l.spent - l.held as room from ${limitsOf(sql)} order by room limit 1) t`

/** A refused call causes the alert about a used-up limit only if at least 80 % of the limit is spent. */
const nearlySpent = "l.spent * 5 >= l.max * 4"

/** Reserves any number of calls in one statement; each is decided on its own, in the order of arrival. */
const reserveAll = Effect.fnUntraced(function* (
  calls: Arr.NonEmptyReadonlyArray<OpenCall>,
  sql: SqlClient.SqlClient
) {
  const now = timestamp(yield* DateTime.now)
  return yield* judgedCalls(sql`
      with requested as (
        select *
          from ${rowsOf(sql, "a", calls, {
            ...callColumns,
            amount: ["int8", ({ reserved }) => reserved]
          })}
      ),
      funds as (
        select id, posted - held as available from accounts
         where id in (select 'agent:' || agent_id from requested) order by id for no key update
      ),
      locked as (
        select k.*, ${dayAt(sql, now)} as day,
               k.revoked_at is not null or coalesce(k.expires_at <= ${now}, false) as ended,
               coalesce(${isEnabled(sql)}, false) as enabled
          from gateway_keys k
          join agents a on a.id = k.agent_id
          left join operators o on o.id = a.owner_id
         where k.id in (select key_id from requested) and (select count(*) from funds) >= 0
         order by k.id for no key update of k
      ),
      keys as (
        select k.id, k.day, k.created_at, k.ended, k.enabled, t.period, t.max, t.spent, t.held,
               coalesce(t.room, 9223372036854775807) as room
          from locked k left join lateral ${tightest(sql)} on true
      ),
      judged as (
        select a.*, k.day, k.period, k.room, k.held, f.available,
               case when k.id is null or k.ended then 'ended'
                    when not k.enabled then 'disabled'
                    when a.amount > k.room then 'limit'
                    when a.amount > f.available then 'credit'
                    when a.of_key > k.room or a.of_agent > f.available then 'again'
                    else 'reserved' end as outcome
          from (select *, sum(amount) over (partition by key_id order by position) as of_key,
                       sum(amount) over (partition by agent_id order by position) as of_agent
                  from requested) a
          left join keys k on k.id = a.key_id
          left join funds f on f.id = 'agent:' || a.agent_id
      ),
      taken as (select * from judged where outcome = 'reserved'),
      opened as (
        insert into gateway_reservations (call_id, key_id, agent_id, request_id, model, style, stream, amount, created_at,
                                          alive_at, counted_on)
        select call_id, key_id, agent_id, request_id, model, style, stream, amount, created_at, ${now}, day from taken
      ),
      counted as (
        update gateway_keys k set ${addChanges(sql)}
          from (select t.key_id, k.day, ${changesOf(sql, { held: "t.amount", spent: "0", counted: "k.day" })}
                  from taken t join locked k on k.id = t.key_id
                 where ${isLimited(sql)} group by t.key_id, k.day) c
         where k.id = c.key_id
      ),
      refused as (
        insert into gateway_alerts (key_id, period, since, credit_limit, percent, at)
        select distinct k.id, l.period, ${sinceOf(sql)}, l.max, 100, ${now}::timestamptz
          from judged j
          join keys k on k.id = j.key_id
         cross join lateral (select k.period, k.max, k.spent) l
         where j.outcome = 'limit' and j.amount > j.room + j.held and ${sql.literal(nearlySpent)}
        on conflict do nothing
      ),
      moved as (
        insert into transfers (id, kind, debit, credit, amount, reason, at)
        select ${sql.literal(reservationId)}, 'pending', 'agent:' || agent_id, ${revenueAccount}, amount,
               'call of ' || model || ', at most', ${now}
          from taken order by call_id
      )
      select outcome, period,
             case outcome when 'limit' then greatest(room, 0)
                          when 'reserved' then least(room - of_key, available - of_agent)::int8
                          else coalesce(available, 0) end as left,
             case outcome when 'limit' then held
                          when 'credit' then ${reservedOf(sql, "judged.agent_id")}
                          else 0 end as in_flight
        from judged order by position`)
})

const charges = findAll(
  Schema.Struct({ call_id: Schema.String, charged: Schema.BigInt, left: Schema.NullOr(Schema.BigInt) })
)

/** Charges any number of calls in one statement, frees their reservations, and records them. */
const settleAll = Effect.fnUntraced(function* (
  calls: Arr.NonEmptyReadonlyArray<EndedCall>,
  sql: SqlClient.SqlClient
) {
  const now = timestamp(yield* DateTime.now)
  const rows = yield* charges(sql`
      with ended as materialized (${endedCalls(sql, calls)}),
      open as materialized (
        select call_id, amount, counted_on from close_reservations(array(select call_id from ended))
      ),
      closing as (
        select a.*, o.amount, o.counted_on, least(a.cost, o.amount) as charged
          from ended a join open o on o.call_id = a.call_id
      ),
      funds as (
        select id, posted - held as available from accounts
         where id in (select 'agent:' || agent_id from closing
                      union select ${revenueAccount} from closing where charged > 0)
         order by id for no key update
      ),
      locked as (
        select k.*, ${dayAt(sql, now)} as day from gateway_keys k
         where k.id in (select key_id from closing) and (select count(*) from funds) > 0
         order by k.id for no key update
      ),
      counted as (
        update gateway_keys k set ${addChanges(sql)}
          from (select k.id, k.day, ${changesOf(sql, { held: "-e.amount", spent: "e.charged", counted: "e.counted_on" })}
                  from closing e join locked k on k.id = e.key_id
                 where ${isLimited(sql)} group by k.id, k.day) c
         where k.id = c.id
        returning k.*, c.day
      ),
      limits as (
        select k.id, ${sinceOf(sql)} as since, l.* from counted k cross join lateral ${limitsOf(sql)}
      ),
      alerted as (
        insert into gateway_alerts (key_id, period, since, credit_limit, percent, at)
        select l.id, l.period, l.since, l.max, p.percent, ${now}::timestamptz
          from limits l join (values (80), (100)) p (percent) on l.spent * 100 >= l.max * p.percent
        on conflict do nothing
      ),
      recorded as (
        insert into gateway_calls (${recordColumns(sql)})
        select ${recordedAs(sql, "c.charged")}
          from closing c join gateway_keys k on k.id = c.key_id
         where (select count(*) from funds) >= 0
        on conflict (id) do nothing
      ),
      moved as (
        insert into transfers (id, kind, debit, credit, amount, pending_id, reason, at)
        select 'cap:gw:' || call_id, case when charged > 0 then 'post' else 'void' end, 'agent:' || agent_id,
               ${revenueAccount}, case when charged > 0 then charged else amount end, ${sql.literal(reservationId)},
               'call of ' || model || case when charged > 0 then '' else ', not charged' end, ${now}
          from closing order by call_id
      )
      select c.call_id::text, c.charged::int8 as charged,
             least(f.available + sum(c.amount - c.charged) over (partition by c.agent_id),
                   (select min(l.max - l.spent - l.held) from limits l where l.id = c.key_id))::int8 as left
        from closing c
        left join funds f on f.id = 'agent:' || c.agent_id`)
  const settled = new Map(
    rows.map(({ call_id, charged, left }): [string, Settled] => [
      call_id,
      { charged, left: left ?? undefined }
    ])
  )
  return calls.map(({ callId }) => settled.get(callId) ?? uncharged)
})

const uncharged: Settled = { charged: 0n, left: undefined }

/** Records calls that reserved nothing, and so cost nothing. */
export const recordFree = Effect.fnUntraced(function* (
  calls: Arr.NonEmptyReadonlyArray<EndedCall>,
  sql: SqlClient.SqlClient
) {
  yield* execute(sql`
    insert into gateway_calls (${recordColumns(sql)})
    select ${recordedAs(sql, "0")}
      from (${endedCalls(sql, calls)}) c join gateway_keys k on k.id = c.key_id
    on conflict (id) do nothing`)
  return calls.map(() => uncharged)
})

/** PostgreSQL's largest integer; a provider that reports more is wrong. */
const maxTokens = 2_147_483_647
const atMost = (tokens: number): number => Math.min(tokens, maxTokens)

/** The columns of `gateway_calls`, in the order of `recordedAs`. */
export const recordColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(`id, agent_id, owner_id, key_id, request_id, model, provider, served_model, style, stream,
    prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, cost, provider_cost, status, error,
    latency_ms, first_byte_ms, attempts, estimated, created_at`)

/** The values of a call `c`, its key `k`, and its charge. */
export const recordedAs = (sql: SqlClient.SqlClient, charged: string) =>
  sql.literal(`c.call_id, c.agent_id, k.owner_id, c.key_id, c.request_id, c.model, c.provider, c.served_model, c.style,
    c.stream, c.prompt_tokens, c.cached_tokens, c.cache_write_tokens, c.completion_tokens, c.reasoning_tokens,
    ${charged}, c.provider_cost, c.status, c.error, c.latency_ms, c.first_byte_ms, c.attempts,
    c.estimated, c.created_at`)

/** The columns that are known when a call begins. */
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

/** Selects one row for each ended call. */
export const endedCalls = (sql: SqlClient.SqlClient, calls: Arr.NonEmptyReadonlyArray<EndedCall>) => sql`
    select *
      from ${rowsOf(sql, "a", calls, {
        ...callColumns,
        provider: ["text", ({ provider }) => provider],
        served_model: ["text", ({ servedModel }) => servedModel],
        prompt_tokens: ["int4", ({ promptTokens }) => atMost(promptTokens)],
        cached_tokens: ["int4", ({ cachedTokens }) => atMost(cachedTokens)],
        cache_write_tokens: ["int4", ({ cacheWriteTokens }) => atMost(cacheWriteTokens)],
        completion_tokens: ["int4", ({ completionTokens }) => atMost(completionTokens)],
        reasoning_tokens: ["int4", ({ reasoningTokens }) => atMost(reasoningTokens)],
        cost: ["int8", ({ cost }) => cost],
        provider_cost: ["int8", ({ providerCost }) => providerCost],
        status: ["int4", ({ status }) => status],
        error: ["text", ({ error }) => error],
        latency_ms: ["int4", ({ latencyMs }) => latencyMs],
        first_byte_ms: ["int4", ({ firstByteMs }) => firstByteMs],
        attempts: ["int4", ({ attempts }) => attempts],
        estimated: ["bool", ({ estimated }) => estimated]
      })}`

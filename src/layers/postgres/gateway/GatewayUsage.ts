/** Usage of the gateway. Totals are made from sums by day, and from the single calls of the first and last day of a range. */
import { DateTime, Duration, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import type { Holder } from "../../../services/Credits.ts"
import { CallRecord, GatewayUsage, UsageDay, UsageRow, UsageTotals } from "../../../services/GatewayUsage.ts"
import type { UsageRange } from "../../../services/GatewayUsage.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import {
  findAll,
  findOne,
  whenGiven,
  isoTimestamp,
  timestamp,
  transaction,
  withStatementTimeout
} from "../sql.ts"

const sums = { ...UsageTotals.fields, cost: Schema.BigInt }
const Totals = Schema.Struct(sums)
const DayRow = Schema.Struct({ ...UsageDay.fields, ...sums })
const CallRow = Schema.Struct({ ...CallRecord.fields, cost: Schema.BigInt, id: Schema.String })

const earliest = DateTime.makeUnsafe("1970-01-01T00:00:00Z")
const latest = DateTime.makeUnsafe("9999-12-31T00:00:00Z")

const maxReported = Duration.days(366)
const usuallyReported = Duration.days(30)
/** A year can have many millions of calls. */
const reportTimeout = Duration.minutes(1)

const Reported = Schema.Struct({
  ...UsageRow.fields,
  charged: Schema.BigInt,
  provider_cost: Schema.BigInt,
  margin: Schema.BigInt,
  is_total: Schema.Boolean,
  groups: Schema.Int
})

/** The columns to group calls by, and their texts. */
const reportedBy = {
  model: { group: "coalesce(served_model, model)", text: "name" },
  provider: { group: "provider", text: "name" },
  agent: { group: "agent_id", text: "name::text" },
  day: { group: "(created_at at time zone 'UTC')::date", text: "to_char(name, 'YYYY-MM-DD')" }
}

/** The sums of each group. The totals are sums of these, so that PostgreSQL can share the calls among its workers. */
const reportedSums = {
  calls: "count(*)",
  failed_calls: "count(*) filter (where error is not null)",
  prompt_tokens: "sum(prompt_tokens)",
  cached_tokens: "sum(cached_tokens)",
  cache_write_tokens: "sum(cache_write_tokens)",
  completion_tokens: "sum(completion_tokens)",
  reasoning_tokens: "sum(reasoning_tokens)",
  charged: "sum(cost)",
  calls_without_cost: "count(*) filter (where provider is not null and provider_cost is null)",
  charged_with_cost: "sum(cost) filter (where provider_cost is not null)",
  provider_units: "sum(provider_cost)"
}

const inGroups = Object.entries(reportedSums).map(([column, sum]) => `${sum} as ${column}`)
const ofGroups = Object.keys(reportedSums).map((column) => `coalesce(sum(${column}), 0) as ${column}`)

const startOfDay = (instant: DateTime.Utc) => DateTime.startOf(instant, "day")

/** The first day that begins at this instant or later. */
const nextDay = (instant: DateTime.Utc) => {
  const start = startOfDay(instant)
  return DateTime.Equivalence(start, instant) ? start : DateTime.add(start, { days: 1 })
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const callPages = (yield* Cursors).list(
    "gateway calls",
    Schema.Struct({ at: InstantText, id: Schema.String.check(Schema.isGUID()) })
  )
  const callRows = findAll(CallRow)
  const totalsRow = findOne(Totals)
  const dayRows = findAll(DayRow)
  const reportRows = findAll(Reported)

  const own = ({ id, kind }: Holder) =>
    sql`${sql.literal(kind === "agent" ? "agent_id" : "owner_id")} = ${id}::uuid`

  const totalsOf = (of: Holder, { since, until }: UsageRange) => {
    const from = since ?? earliest
    const to = until ?? latest
    const firstDay = nextDay(from)
    const endDay = startOfDay(to)
    const days = sql`
      select calls::int8 as calls, failed_calls::int8 as failed_calls, prompt_tokens, completion_tokens, cost from gateway_days
       where ${own(of)} and day >= ${timestamp(firstDay)}::date and day < ${timestamp(endDay)}::date`
    const callsWithin = (start: DateTime.Utc, end: DateTime.Utc) => sql`
      select 1, case when error is null then 0 else 1 end, prompt_tokens, completion_tokens, cost from gateway_calls
       where ${own(of)} and created_at >= ${timestamp(start)} and created_at < ${timestamp(end)}`
    const parts = DateTime.isLessThan(firstDay, endDay)
      ? sql`${days} union all ${callsWithin(from, firstDay)} union all ${callsWithin(endDay, to)}`
      : sql`select null::int8 as calls, null::int8 as failed_calls, null::int8 as prompt_tokens, null::int8 as completion_tokens,
                   null::int8 as cost where false
            union all ${callsWithin(from, to)}`
    return totalsRow(sql`
      select coalesce(sum(calls), 0)::float8 as calls, coalesce(sum(failed_calls), 0)::float8 as failed_calls,
             coalesce(sum(prompt_tokens), 0)::float8 as prompt_tokens,
             coalesce(sum(completion_tokens), 0)::float8 as completion_tokens, coalesce(sum(cost), 0)::int8 as cost
        from (${parts}) as p`)
  }

  const list: GatewayUsage["Service"]["list"] = Effect.fn("GatewayUsage.list")(function* (of, range, page) {
    const { after, toPage, limit } = yield* callPages.decode(page)
    const since = whenGiven(sql, range.since, (value) => sql`and created_at >= ${timestamp(value)}`)
    const until = whenGiven(sql, range.until, (value) => sql`and created_at < ${timestamp(value)}`)
    const before = whenGiven(
      sql,
      after,
      ({ at, id }) => sql`and (created_at, id) < (${at}::timestamptz, ${id}::uuid)`
    )
    const rows = yield* callRows(sql`
      select id::text, request_id, key_id::text, model, provider, served_model, style, stream, prompt_tokens, cached_tokens,
             cache_write_tokens, completion_tokens, reasoning_tokens, cost, status, error, latency_ms, first_byte_ms,
             attempts, estimated, ${isoTimestamp(sql, "created_at")} as created_at
        from gateway_calls c
       where ${own(of)} ${since} ${until} ${before}
       order by c.created_at desc, c.id desc limit ${limit}`)
    const { items, next_cursor } = toPage(rows, (last) => ({ at: last.created_at, id: last.id }))
    const totals = yield* totalsOf(of, range)
    return { items: items.map((row) => Struct.omit(row, ["id"])), next_cursor, totals }
  })

  const days: GatewayUsage["Service"]["days"] = Effect.fn("GatewayUsage.days")((of, { since, until }) =>
    dayRows(sql`
      select to_char(d.day, 'YYYY-MM-DD') as day, d.key_id::text, k.name as key_name, k.prefix as key_prefix, d.model,
             d.calls, d.failed_calls, d.prompt_tokens, d.completion_tokens, d.cost
        from (
          select day, key_id, model, sum(calls)::int as calls, sum(failed_calls)::int as failed_calls,
                 sum(prompt_tokens)::float8 as prompt_tokens, sum(completion_tokens)::float8 as completion_tokens,
                 sum(cost)::int8 as cost
            from gateway_days
           where ${own(of)} and day >= ${timestamp(since === undefined ? earliest : startOfDay(since))}::date
             and day < ${timestamp(until === undefined ? latest : nextDay(until))}::date
           group by day, key_id, model) d
        join gateway_keys k on k.id = d.key_id
       order by d.day, d.key_id, d.model`)
  )

  const reportedRange = Effect.fnUntraced(function* ({ since, until }: UsageRange) {
    const to = until ?? (yield* DateTime.now)
    const from = since ?? DateTime.subtractDuration(to, usuallyReported)
    const length = DateTime.distance(from, to)
    if (Duration.isLessThanOrEqualTo(length, Duration.zero)) {
      return yield* InvalidRequest.of("until", "Expected an instant after since")
    }
    if (Duration.isGreaterThan(length, maxReported)) {
      return yield* InvalidRequest.of(
        "since",
        `Expected at most ${Duration.toDays(maxReported)} days before until`
      )
    }
    return { from, to }
  })

  const report: GatewayUsage["Service"]["report"] = Effect.fn("GatewayUsage.report")(function* (question) {
    const { from, to } = yield* reportedRange(question)
    const { group, text } = reportedBy[question.by]
    const order = question.by === "day" ? "name" : "charged desc, name"
    const rows = yield* reportRows(sql`
      with groups as (
        select ${sql.literal([`${group} as name`, ...inGroups].join(", "))}
          from gateway_calls
         where created_at >= ${timestamp(from)} and created_at < ${timestamp(to)}
         group by 1
      ), reported as (
        select ${sql.literal(["name", "grouping(name) = 1 as is_total", ...ofGroups].join(", "))},
               div(coalesce(sum(provider_units), 0) + 999999, 1000000) as provider_cost
          from groups group by grouping sets ((name), ())
      )
      select ${sql.literal(text)} as name, is_total, (count(*) over () - 1)::int as groups, calls::float8, failed_calls::float8,
             prompt_tokens::float8, cached_tokens::float8, cache_write_tokens::float8, completion_tokens::float8,
             reasoning_tokens::float8, charged::int8, calls_without_cost::float8, provider_cost::int8,
             (charged_with_cost - provider_cost)::int8 as margin
        from reported order by is_total desc, ${sql.literal(order)} limit ${question.maxItems + 1}`).pipe(
      // A block-range index can only be read as a bitmap.
      withStatementTimeout(sql, reportTimeout, { enable_bitmapscan: "on" }),
      transaction(sql)
    )
    const [all, ...items] = rows
    if (all === undefined) return yield* Effect.die(new Error("a report has no totals"))
    const { groups, ...totals } = Struct.omit(all, ["is_total", "name"])
    return {
      since: DateTime.formatIso(from),
      until: DateTime.formatIso(to),
      items: items.map((row) => Struct.omit(row, ["is_total", "groups"])),
      groups,
      totals
    }
  })

  return GatewayUsage.of({ list, days, report })
})

export const layer = Layer.effect(GatewayUsage, make)

/** What was called and charged. Totals come from sums by day, and from the calls of the two days that a range cuts. */
import { DateTime, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import type { Holder } from "../../../services/Credits.ts"
import { CallRecord, GatewayUsage, UsageDay, UsageTotals } from "../../../services/GatewayUsage.ts"
import type { UsageRange } from "../../../services/GatewayUsage.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { findAll, findOne, isoTimestamp, timestamp } from "../sql.ts"

const sums = { ...UsageTotals.fields, cost: Schema.BigInt }
const Totals = Schema.Struct(sums)
const DayRow = Schema.Struct({ ...UsageDay.fields, ...sums })
const CallRow = Schema.Struct({ ...CallRecord.fields, cost: Schema.BigInt, id: Schema.String })

const earliest = DateTime.makeUnsafe("1970-01-01T00:00:00Z")
const latest = DateTime.makeUnsafe("9999-12-31T00:00:00Z")

const startOfDay = (instant: DateTime.Utc) => DateTime.startOf(instant, "day")

/** The first day that begins at or after this. */
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
    const { after, cut, limit } = yield* callPages.open(page)
    const since = range.since === undefined ? sql`` : sql`and created_at >= ${timestamp(range.since)}`
    const until = range.until === undefined ? sql`` : sql`and created_at < ${timestamp(range.until)}`
    const before =
      after === undefined ? sql`` : sql`and (created_at, id) < (${after.at}::timestamptz, ${after.id}::uuid)`
    const rows = yield* callRows(sql`
      select id::text, request_id, key_id::text, model, provider, served_model, style, stream, prompt_tokens, cached_tokens,
             cache_write_tokens, completion_tokens, reasoning_tokens, cost, status, error, latency_ms, first_byte_ms,
             attempts, estimated, ${isoTimestamp(sql, "created_at")} as created_at
        from gateway_calls c
       where ${own(of)} ${since} ${until} ${before}
       order by c.created_at desc, c.id desc limit ${limit}`)
    const { items, next_cursor } = cut(rows, (last) => ({ at: last.created_at, id: last.id }))
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

  return GatewayUsage.of({ list, days })
})

export const layer = Layer.effect(GatewayUsage, make)

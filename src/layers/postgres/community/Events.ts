import { DateTime, Effect, Layer, Option, Schema, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Events, MarketEvent } from "../../../services/Events.ts"
import type { EventFilter } from "../../../services/Events.ts"
import { Target, noTarget } from "../../../services/Targets.ts"
import { EventId } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import type { Page } from "../../../services/domain/paging.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { unknownEvent, social } from "./Discussion.ts"
import { insertEventNotices } from "../notices/insertNotices.ts"
import { findAll, isoTimestamp, timestamp } from "../sql.ts"

const isEventId = Schema.is(EventId)

interface EventRecord {
  readonly id: EventId
  readonly title: string
  readonly summary: string | null
  readonly url: string | null
  readonly source: string | null
  readonly published_at: Date | null
  readonly spaces: ReadonlyArray<string>
  readonly assets: ReadonlyArray<string>
}

/** Keeps one record of each id: a later record replaces an earlier one, but takes its time if it has none itself. */
const newestOfEach = (records: ReadonlyArray<EventRecord>): ReadonlyArray<EventRecord> => {
  const newest = new Map<EventId, EventRecord>()
  for (const record of records) {
    const published_at = record.published_at ?? newest.get(record.id)?.published_at ?? null
    newest.set(record.id, { ...record, published_at })
  }
  return [...newest.values()]
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const rows = findAll(Schema.Struct({ ...MarketEvent.fields, is_estimated: Schema.Boolean }))
  const events = (statement: Parameters<typeof rows>[0]) =>
    Effect.map(rows(statement), (found) =>
      found.map(({ is_estimated, ...event }): MarketEvent =>
        is_estimated ? { ...event, published_at_estimated: true } : event
      )
    )
  const unknownAssets = findAll(Schema.Struct({ asset: Schema.String }))
  const targets = findAll(Target.mapFields(Struct.pick(["key", "name"])))
  const pages = (yield* Cursors).list("events", Schema.Struct({ published_at: InstantText, id: EventId }))

  const columns = sql`
    e.id as event_id, e.id as news_id, e.title, e.summary, e.url, e.source,
    ${isoTimestamp(sql, "e.published_at")} as published_at, not e.published_at_known as is_estimated, e.spaces, e.assets,
    jsonb_build_object('comment_count', n.comment_count, 'top_comments', t.top_comments) as social`

  /** Upserts events of different ids, in the order of the ids, so that two imports cannot deadlock. */
  const store = (records: ReadonlyArray<EventRecord>, now: DateTime.Utc) =>
    events(sql`
      with sent as (
        select * from jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as r
          (id text, title text, summary text, url text, source text, published_at timestamptz, spaces text[], assets text[])
      ),
      stored as (
      insert into events
        (id, title, summary, url, source, published_at, published_at_known, spaces, assets, created_at, updated_at)
      select id, title, summary, url, source, coalesce(published_at, ${timestamp(now)}), published_at is not null, spaces, assets,
             ${timestamp(now)}, ${timestamp(now)}
        from sent
       order by id
      on conflict (id) do update set
        title = excluded.title, summary = excluded.summary, url = excluded.url, source = excluded.source,
        published_at = coalesce((select s.published_at from sent s where s.id = excluded.id), events.published_at),
        published_at_known = events.published_at_known
          or exists (select 1 from sent s where s.id = excluded.id and s.published_at is not null),
        spaces = excluded.spaces, assets = excluded.assets, updated_at = excluded.updated_at
      returning events.*, old.id is null as is_new
      ),
      inserted_notices as (${insertEventNotices(sql, sql`stored e where e.is_new`)})
      select ${columns} from stored e ${social(sql)}`)

  const importAll: Events["Service"]["importAll"] = Effect.fn("Events.importAll")(function* (imported) {
    const now = yield* DateTime.now
    const assets = [...new Set(imported.flatMap((event) => event.assets ?? []))]
    const unknown = yield* unknownAssets(sql`
      select asset from unnest(${assets}::text[]) as a (asset) where asset not in (select key from targets)`)
    const [first] = unknown
    if (first !== undefined) {
      const index = imported.findIndex((event) => event.assets?.includes(first.asset) === true)
      const all = yield* targets(sql`select key, name from targets order by position`)
      return yield* noTarget(`events.${index}.assets`, first.asset, all)
    }
    const records = yield* Effect.forEach(imported, (event) =>
      Effect.map(
        event.event_id === undefined ? random.uuidV7() : Effect.succeed(event.event_id),
        (id): EventRecord => ({
          id: EventId.make(id),
          title: event.title,
          summary: event.summary ?? null,
          url: event.url ?? null,
          source: event.source ?? null,
          published_at: event.published_at === undefined ? null : timestamp(event.published_at),
          spaces: event.spaces ?? [],
          assets: event.assets ?? []
        })
      )
    )
    const stored = new Map((yield* store(newestOfEach(records), now)).map((row) => [row.event_id, row]))
    return records.flatMap(({ id }) => stored.get(id) ?? [])
  })

  const page = Effect.fnUntraced(function* (
    filter: EventFilter,
    page: Page,
    day: Option.Option<DateTime.Utc>
  ) {
    const which = Option.isSome(day) ? "today" : "all"
    const { after, toPage, limit } = yield* pages.decode(page, which)
    const conditions = sql.and([
      sql`space = ${filter.space ?? ""}`,
      sql`asset = ${filter.asset ?? ""}`,
      ...Option.match(day, {
        onNone: () => [],
        onSome: (start) => [
          sql`published_at >= ${timestamp(start)} and published_at < ${timestamp(DateTime.add(start, { days: 1 }))}`
        ]
      }),
      ...(after === undefined
        ? []
        : [sql`(published_at, event_id) < (${after.published_at}::timestamptz, ${after.id})`])
    ])
    const found = yield* events(sql`
      select ${columns}
        from (
          select event_id as listed from event_lists where ${conditions}
           order by published_at desc, event_id desc
           limit ${limit}) l
       cross join lateral (select * from events where id = l.listed limit 1) e
       ${social(sql)}
       order by e.published_at desc, e.id desc`)
    return toPage(found, (last) => ({ published_at: last.published_at, id: last.event_id }))
  })

  const get: Events["Service"]["get"] = Effect.fn("Events.get")(function* (eventId) {
    const [found] = isEventId(eventId)
      ? yield* events(sql`select ${columns} from events e ${social(sql)} where e.id = ${eventId}`)
      : []
    return found ?? (yield* unknownEvent(eventId))
  })

  const list: Events["Service"]["list"] = Effect.fn("Events.list")((filter, requested) =>
    page(filter, requested, Option.none())
  )

  const today: Events["Service"]["today"] = Effect.fn("Events.today")(function* (filter, requested) {
    const now = yield* DateTime.now
    return yield* page(filter, requested, Option.some(DateTime.startOf(now, "day")))
  })

  return Events.of({ importAll, get, list, today })
})

export const layer = Layer.effect(Events, make)

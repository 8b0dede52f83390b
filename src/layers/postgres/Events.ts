import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { InvalidRequest } from "../../services/errors.ts"
import { Events, MarketEvent } from "../../services/Events.ts"
import type { EventFilter } from "../../services/Events.ts"
import { EventId } from "../../services/identifiers.ts"
import { cursorCodec, cutPage, invalidCursor } from "../../services/paging.ts"
import type { Page } from "../../services/paging.ts"
import { InstantText } from "../../services/text.ts"
import { at, many, orDefect } from "./query.ts"
import { iso } from "./wire.ts"

const { social: _, ...columnsOfEvent } = MarketEvent.fields
const EventRow = Schema.Struct(columnsOfEvent)

/** Comments come with the discussion; until then an event has none. */
const silent = { comment_count: 0, top_comments: [] }

const withSocial = (row: typeof EventRow.Type): MarketEvent => ({ ...row, social: silent })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const events = many(EventRow)
  const unknownAssets = many(Schema.Struct({ asset: Schema.String }))
  const cursor = cursorCodec(Schema.Struct({ published_at: InstantText, id: EventId }))

  const columns = sql`
    id as event_id, id as news_id, title, summary, url, source, ${iso(sql, "published_at")} as published_at, spaces, assets`

  const importAll: Events["Service"]["importAll"] = Effect.fn("Events.importAll")(function* (imported) {
    const now = yield* DateTime.now
    const assets = [...new Set(imported.flatMap((event) => event.assets ?? []))]
    const unknown = yield* unknownAssets(sql`
      select asset from unnest(${assets}::text[]) as a (asset) where asset not in (select key from targets)`)
    const [first] = unknown
    if (first !== undefined) {
      const index = imported.findIndex((event) => event.assets?.includes(first.asset) === true)
      return yield* InvalidRequest.of(`events.${index}.assets`, `"${first.asset}" is not a target`)
    }
    const records = yield* Effect.forEach(imported, (event) =>
      Effect.map(event.event_id === undefined ? random.uuidV7() : Effect.succeed(event.event_id), (id) => ({
        id: EventId.make(id),
        title: event.title,
        summary: event.summary ?? null,
        url: event.url ?? null,
        source: event.source ?? null,
        published_at: event.published_at === undefined ? null : at(event.published_at),
        spaces: event.spaces ?? [],
        assets: event.assets ?? []
      }))
    )
    const stored = yield* sql
      .withTransaction(
        Effect.forEach(records, (event) =>
          events(sql`
          insert into events (id, title, summary, url, source, published_at, spaces, assets, created_at, updated_at)
          values (${event.id}, ${event.title}, ${event.summary}, ${event.url}, ${event.source},
                  coalesce(${event.published_at}::timestamptz, ${at(now)}), ${event.spaces}::text[],
                  ${event.assets}::text[], ${at(now)}, ${at(now)})
          on conflict (id) do update set
            title = excluded.title, summary = excluded.summary, url = excluded.url, source = excluded.source,
            published_at = coalesce(${event.published_at}::timestamptz, events.published_at),
            spaces = excluded.spaces, assets = excluded.assets, updated_at = excluded.updated_at
          returning ${columns}`)
        )
      )
      .pipe(orDefect)
    return stored.flat().map(withSocial)
  })

  const page = Effect.fnUntraced(function* (
    filter: EventFilter,
    page: Page,
    day: Option.Option<DateTime.Utc>
  ) {
    const after = Option.getOrNull(cursor.decode(page.cursor))
    if (after === null) return yield* invalidCursor()
    const conditions = sql.and([
      sql`true`,
      ...(filter.space === undefined ? [] : [sql`spaces @> array[${filter.space}]`]),
      ...(filter.asset === undefined ? [] : [sql`assets @> array[${filter.asset}]`]),
      ...Option.match(day, {
        onNone: () => [],
        onSome: (start) => [
          sql`published_at >= ${at(start)} and published_at < ${at(DateTime.add(start, { days: 1 }))}`
        ]
      }),
      ...(after === undefined
        ? []
        : [sql`(published_at, id) < (${after.published_at}::timestamptz, ${after.id})`])
    ])
    const rows = yield* events(sql`
      select ${columns} from events where ${conditions}
       order by events.published_at desc, events.id desc limit ${page.limit + 1}`)
    return cutPage(rows.map(withSocial), page.limit, (last) =>
      cursor.encode({ published_at: last.published_at, id: last.event_id })
    )
  })

  const list: Events["Service"]["list"] = Effect.fn("Events.list")((filter, asked) =>
    page(filter, asked, Option.none())
  )

  const today: Events["Service"]["today"] = Effect.fn("Events.today")(function* (filter, asked) {
    const now = yield* DateTime.now
    return yield* page(filter, asked, Option.some(DateTime.startOf(now, "day")))
  })

  return Events.of({ importAll, list, today })
})

export const layer = Layer.effect(Events, make)

/** What is kept so that lists cost the same however long they are: it equals what counting and filtering would give. */
import { assert, describe, it, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import * as Database from "../../src/layers/postgres/Database.ts"
import { migrations } from "../../src/layers/postgres/migrations/index.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { ChallengeStatus } from "../../src/services/Challenges.ts"
import { Events } from "../../src/services/Events.ts"
import { EventId } from "../../src/services/identifiers.ts"
import { Space } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import {
  countOf,
  firstPage,
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  rowsOf
} from "../support/builders.ts"
import { emptyDatabase } from "../support/database.ts"
import { testServices } from "../support/services.ts"

const assets = ["GC", "CL"] as const
const Asset = Schema.Literals(assets)
const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))

layer(testServices())("the totals of challenges", (it) => {
  const Step = Schema.Struct({
    asset: Asset,
    becomes: ChallengeStatus
  })

  /** How many there are by what each of them says of itself. */
  const counted = Effect.fnUntraced(function* (
    status: ChallengeStatus | undefined,
    asset: string | undefined
  ) {
    const items = yield* Effect.map(
      Arenas.use((arenas) => arenas.directional.list({}, firstPage)),
      (all) => all.items
    )
    return items.filter(
      (item) => (status ?? item.status) === item.status && (asset ?? item.asset) === item.asset
    ).length
  })

  it.effect.prop(
    "are what counting gives, after any sequence of creating, cancelling and settling at once",
    [Schema.Array(Step).check(Schema.isMaxLength(12))],
    ([steps]) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const priced = plus(now, "1 hour")
        // No price is known after this one, so the closed ones wait.
        const deadlines = {
          resolved: priced,
          closed: plus(now, "2 hours"),
          open: plus(now, "4 days"),
          cancelled: plus(now, "4 days")
        }
        yield* Effect.forEach(
          steps,
          ({ asset, becomes }) =>
            Effect.gen(function* () {
              const { id } = yield* newChallenge({ asset, deadline: deadlines[becomes] })
              if (becomes === "cancelled") yield* Arenas.use((arenas) => arenas.directional.cancel(id, "why"))
            }),
          { concurrency: 4 }
        )
        yield* moveTo(plus(now, "3 hours"))
        for (const asset of assets) yield* importQuotes(asset, [[priced, 110]])
        yield* Effect.replicateEffect(
          Scoring.use((scoring) => scoring.settleDue),
          2,
          { concurrency: 2 }
        )
        for (const status of [undefined, ...ChallengeStatus.literals]) {
          for (const asset of [undefined, ...assets]) {
            const { total } = yield* Arenas.use((arenas) =>
              arenas.directional.list({ status, asset }, { limit: 1, cursor: undefined })
            )
            assert.strictEqual(total, yield* counted(status, asset), `${status} ${asset}`)
          }
        }
      }),
    { arbitrary: { runs: 8, size: 12 } }
  )
})

layer(testServices())("the lists of events", (it) => {
  const Imported = Schema.Struct({
    number: small,
    hours: small,
    spaces: Schema.Array(Space).check(Schema.isMaxLength(3)),
    assets: Schema.Array(Asset).check(Schema.isMaxLength(3))
  })

  it.effect.prop(
    "are what filtering gives, after any imports of the same events",
    [Schema.Array(Schema.Array(Imported).check(Schema.isBetweenLength(1, 6))).check(Schema.isMaxLength(4))],
    ([imports]) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        for (const events of imports) {
          const sent = events.map(({ number, hours, ...lists }) => ({
            ...lists,
            title: "An event",
            event_id: EventId.make(`event-${number}`),
            published_at: plus(now, `${hours} hours`)
          }))
          const answered = yield* Events.use((service) => service.importAll(sent))
          assert.deepStrictEqual(
            answered.map((event) => [event.event_id, event.published_at, event.spaces, event.assets]),
            sent
              .map((event) => sent.findLast(({ event_id }) => event_id === event.event_id) ?? event)
              .map((event) => [
                event.event_id,
                DateTime.formatIso(event.published_at),
                event.spaces,
                event.assets
              ])
          )
        }
        for (const space of [undefined, ...Space.literals]) {
          for (const asset of [undefined, ...assets]) {
            const { items } = yield* Events.use((service) => service.list({ space, asset }, firstPage))
            const expected = yield* rowsOf(
              Schema.Struct({ id: Schema.String }),
              (sql) => sql`
                select id from events
                 where ${space === undefined ? sql`true` : sql`${space} = any(spaces)`}
                   and ${asset === undefined ? sql`true` : sql`${asset} = any(assets)`}
                 order by published_at desc, id desc`
            )
            assert.deepStrictEqual(
              items.map((item) => item.event_id as string),
              expected.map(({ id }) => id)
            )
          }
        }
      }),
    { arbitrary: { runs: 15, size: 10 } }
  )
})

describe("a database from before totals and lists were kept", () => {
  it.effect("gets them when it is migrated", () =>
    Effect.gen(function* () {
      const before = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < "0009"))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrator.make({})({ loader: Migrator.fromRecord(before) })
        yield* sql`
          insert into events (id, title, spaces, assets, published_at, created_at, updated_at)
          select 'event-' || n, 'Event', array['ai', 'ai'], array['GC'], at, at, at
            from generate_series(1, 3) as n cross join (select to_timestamp(0)) as m (at)`
        yield* sql`
          insert into challenges
            (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at, open_price,
             cancelled_at, cancel_reason)
          select uuidv7(), 'directional', 'session', target, 'Which way?', at, at, at, at, at, 1,
                 case when target = 'CL' then at end, case when target = 'CL' then 'why' end
            from (values ('GC'), ('GC'), ('CL')) as c (target) cross join (select to_timestamp(0)) as m (at)`
        yield* Database.migrate("global")
        const lists = yield* countOf((sql) => sql`select count(*)::int as count from event_lists`)
        assert.strictEqual(lists, 3 * 2 * 2)
        const counts = yield* sql`
          select target, created::int, resolved::int, cancelled::int from challenge_counts order by target`
          .values
        assert.deepStrictEqual(counts, [
          ["CL", 1, 0, 1],
          ["GC", 2, 0, 0]
        ])
      }).pipe(Effect.provide(Database.client(yield* emptyDatabase)))
    }).pipe(Effect.scoped)
  )
})

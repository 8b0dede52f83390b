/** Stored totals and lists whose cost does not grow: they equal the result of counting and filtering. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { Arenas } from "../../src/services/Arenas.ts"
import { ChallengeStatus } from "../../src/services/domain/Challenge.ts"
import { Events } from "../../src/services/Events.ts"
import { EventId } from "../../src/services/domain/ids.ts"
import { Space } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus } from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const assets = ["GC", "CL"] as const
const Asset = Schema.Literals(assets)
const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))

layer(testServices())("The totals of challenges", (it) => {
  const Step = Schema.Struct({
    asset: Asset,
    becomes: ChallengeStatus
  })

  /** The number of challenges whose own members match. */
  const counted = Effect.fnUntraced(function* (
    status: ChallengeStatus | undefined,
    asset: string | undefined
  ) {
    const items = yield* Effect.map(
      Arenas.use((arenas) => arenas.list("directional", {}, firstPage)),
      (all) => all.items
    )
    return items.filter(
      (item) => (status ?? item.status) === item.status && (asset ?? item.asset) === item.asset
    ).length
  })

  it.effect.prop(
    "Totals of challenges equal a count, after any concurrent creations and ends",
    [Schema.Array(Step).check(Schema.isMaxLength(12))],
    ([steps]) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const priced = plus(now, "1 hour")
        // No price is known after this time, so the closed ones wait.
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
              if (becomes === "cancelled")
                yield* Scoring.use((scoring) => scoring.void("directional", id, "why"))
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
            const total = yield* Arenas.use((arenas) => arenas.total("directional", { status, asset }))
            assert.strictEqual(total, yield* counted(status, asset), `${status} ${asset}`)
          }
        }
      }),
    { arbitrary: { runs: 8, size: 12 } }
  )
})

layer(testServices())("The lists of events", (it) => {
  const Imported = Schema.Struct({
    number: small,
    hours: small,
    spaces: Schema.Array(Space).check(Schema.isMaxLength(3)),
    assets: Schema.Array(Asset).check(Schema.isMaxLength(3))
  })

  it.effect.prop(
    "The lists of events equal a filter over all events, after any imports",
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

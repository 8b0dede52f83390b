/** Market events: imported by administrators, and read newest first. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Events } from "../../src/services/Events.ts"
import type { EventFilter, EventImport } from "../../src/services/Events.ts"
import { EventId } from "../../src/services/domain/ids.ts"
import type { Page } from "../../src/services/domain/paging.ts"
import { freshWeek, millisBefore, moveTo, plus } from "../support/challenges.ts"
import { allPages, firstPage, foreignCursors } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const importAll = (...imported: ReadonlyArray<EventImport>) =>
  Events.use((events) => events.importAll(imported))
const list = (filter: EventFilter = {}, page: Page = firstPage) =>
  Events.use((events) => events.list(filter, page))
const today = (filter: EventFilter = {}, page: Page = firstPage) =>
  Events.use((events) => events.today(filter, page))
const titlesOf = (events: { readonly items: ReadonlyArray<{ readonly title: string }> }) =>
  events.items.map((event) => event.title)

layer(testServices())("Importing events", (it) => {
  it.effect("An import keeps the order, gives missing ids, and marks a missing time as estimated", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const [bare, full, ...rest] = yield* importAll(
        { title: "Bare" },
        {
          event_id: EventId.make("fed:2026-03"),
          title: "The Fed holds",
          summary: "No change.",
          url: "https://example.org/fed",
          source: "Example",
          published_at: plus(now, "-3 hours"),
          spaces: ["finance", "policy"],
          assets: ["ES", "FOMC"]
        }
      )
      assert.deepStrictEqual(rest, [])
      assert(bare !== undefined && full !== undefined)
      assert.match(bare.event_id, /^[0-9a-f-]{36}$/)
      const social = { comment_count: 0, top_comments: [] }
      assert.deepStrictEqual(bare, {
        event_id: bare.event_id,
        news_id: bare.event_id,
        title: "Bare",
        summary: null,
        url: null,
        source: null,
        published_at: DateTime.formatIso(now),
        published_at_estimated: true,
        spaces: [],
        assets: [],
        social
      })
      assert.deepStrictEqual(full, {
        event_id: EventId.make("fed:2026-03"),
        news_id: EventId.make("fed:2026-03"),
        title: "The Fed holds",
        summary: "No change.",
        url: "https://example.org/fed",
        source: "Example",
        published_at: DateTime.formatIso(plus(now, "-3 hours")),
        spaces: ["finance", "policy"],
        assets: ["ES", "FOMC"],
        social
      })
      assert.deepStrictEqual((yield* list()).items, [bare, full])
    })
  )

  it.effect("An import updates an event_id that exists, also within one import", () =>
    Effect.gen(function* () {
      const published_at = yield* freshWeek
      const event_id = EventId.make("storm")
      yield* importAll({ event_id, title: "A storm", source: "Radio", published_at, assets: ["NG"] })
      yield* moveTo(plus(published_at, "2 days"))
      yield* importAll(
        { event_id, title: "A big storm", published_at },
        { event_id, title: "A hurricane", published_at, assets: ["CL", "NG"] }
      )
      const stored = (yield* list()).items.filter((event) => event.event_id === event_id)
      assert.deepStrictEqual(
        stored.map(({ title, source, assets }) => [title, source, assets]),
        [["A hurricane", null, ["CL", "NG"]]]
      )
    })
  )

  it.effect("An update without a time leaves the time of publication as it was", () =>
    Effect.gen(function* () {
      const published_at = yield* freshWeek
      const event_id = EventId.make("typo")
      yield* importAll({ event_id, title: "Glod rises", published_at })
      yield* moveTo(plus(published_at, "2 days"))
      const [corrected] = yield* importAll({ event_id, title: "Gold rises" })
      assert.deepStrictEqual(
        [corrected?.title, corrected?.published_at],
        ["Gold rises", DateTime.formatIso(published_at)]
      )
    })
  )

  it.effect("An import with an unknown asset is rejected by the path, and stores nothing", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const before = titlesOf(yield* list())
      const rejected = yield* Effect.flip(
        importAll({ title: "Fine", assets: ["GC"] }, { title: "Wrong", assets: ["ES", "XX"] })
      )
      assert.deepStrictEqual(
        rejected.errors.map((error) => error.path),
        ["events.1.assets"]
      )
      assert.include(rejected.detail, "XX")
      assert.deepStrictEqual(titlesOf(yield* list()), before)
    })
  )
})

layer(testServices())("Events", (it) => {
  it.effect("Events are listed newest first, and by id where published at one moment", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importAll(
        { title: "old", published_at: plus(now, "-2 days") },
        { title: "b", event_id: EventId.make("b"), published_at: now },
        { title: "older", published_at: plus(now, "-3 days") },
        { title: "c", event_id: EventId.make("c"), published_at: now },
        { title: "a", event_id: EventId.make("a"), published_at: now }
      )
      assert.deepStrictEqual(titlesOf(yield* list()), ["c", "b", "a", "old", "older"])
      const pages = yield* allPages(2, (page) => list({}, page))
      assert.deepStrictEqual(
        pages.map((page) => page.map((event) => event.title)),
        [["c", "b"], ["a", "old"], ["older"]]
      )
    })
  )

  it.effect("Pages of events never repeat or skip one while new ones arrive", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const names = Array.from({ length: 9 }, (_, index) => `storm ${index}`)
      yield* importAll(
        ...names.map((title, index) => ({
          title,
          published_at: plus(now, `${index} minutes`),
          assets: ["ZS"]
        }))
      )
      const pages = yield* allPages(2, (page) =>
        Effect.gen(function* () {
          const read = yield* list({ asset: "ZS" }, page)
          yield* importAll({ title: "news", published_at: plus(now, "1 hour"), assets: ["ZS"] })
          return read
        })
      )
      assert.deepStrictEqual(
        pages.flat().map((event) => event.title),
        names.toReversed()
      )
    })
  )

  it.effect("Events can be filtered by space and asset", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const at = (minutes: number) => plus(now, `${minutes} minutes`)
      yield* importAll(
        { title: "both", published_at: at(1), spaces: ["finance", "ai"], assets: ["GC", "ETH"] },
        { title: "space", published_at: at(2), spaces: ["ai"], assets: ["HG"] },
        { title: "asset", published_at: at(3), spaces: ["policy"], assets: ["ETH"] }
      )
      assert.deepStrictEqual(titlesOf(yield* list({ space: "ai" })), ["space", "both"])
      assert.deepStrictEqual(titlesOf(yield* list({ asset: "ETH" })), ["asset", "both"])
      assert.deepStrictEqual(titlesOf(yield* list({ space: "ai", asset: "ETH" })), ["both"])
      assert.deepStrictEqual(titlesOf(yield* list({ space: "technology" })), [])
      assert.deepStrictEqual(titlesOf(yield* list({ asset: "nothing" })), [])
    })
  )

  it.effect("The events of today are those of the current UTC day, not of yesterday or tomorrow", () =>
    Effect.gen(function* () {
      const midnight = plus(yield* freshWeek, "1 day")
      const tomorrow = plus(midnight, "1 day")
      yield* importAll(
        { title: "yesterday", published_at: millisBefore(midnight, 1), spaces: ["finance"] },
        { title: "first", published_at: midnight, spaces: ["finance"] },
        { title: "last", published_at: millisBefore(tomorrow, 1) },
        { title: "tomorrow", published_at: tomorrow }
      )
      yield* moveTo(midnight)
      assert.deepStrictEqual(titlesOf(yield* today()), ["last", "first"])
      yield* moveTo(millisBefore(tomorrow, 1))
      assert.deepStrictEqual(titlesOf(yield* today()), ["last", "first"])
      assert.deepStrictEqual(titlesOf(yield* today({ space: "finance" })), ["first"])
      const pages = yield* allPages(1, (page) => today({}, page))
      assert.deepStrictEqual(
        pages.flat().map((event) => event.title),
        ["last", "first"]
      )
      yield* moveTo(tomorrow)
      assert.deepStrictEqual(titlesOf(yield* today()), ["tomorrow"])
    })
  )

  it.effect("The list of events rejects a cursor of another list", () =>
    Effect.gen(function* () {
      const id = "storm"
      const published_at = "2026-03-02T00:00:00.000Z"
      const forged = [
        { id },
        { id, published_at: "now" },
        { id, published_at: "2026-02-30T00:00:00.000Z" },
        { id, published_at: "99" },
        { id: "no id", published_at }
      ]
      for (const cursor of foreignCursors(["events", "all"], ...forged)) {
        for (const read of [list, today]) {
          const rejected = yield* Effect.flip(read({}, { limit: 5, cursor }))
          assert.deepStrictEqual(
            rejected.errors.map((error) => error.path),
            ["cursor"]
          )
        }
      }
    })
  )
})

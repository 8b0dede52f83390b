/** Feeds as readers receive them. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { parseAtomFeed, parseJsonFeed } from "feedsmith"
import { SqlClient } from "effect/sql"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, predict } from "../support/challenges.ts"
import { asOwner } from "../support/database.ts"
import { newEvent } from "../support/discussion.ts"
import { get, testServer } from "../support/server.ts"

/** The content of a feed, which is the same in both forms. */
const read = Effect.fnUntraced(function* (path: string) {
  const [atom, json] = [yield* get(`${path}/atom`), yield* get(`${path}/json`)]
  assert.deepStrictEqual(
    [atom, json].map(({ headers }) => headers.get("content-type")),
    ["application/atom+xml", "application/feed+json"]
  )
  const [one, other] = [parseAtomFeed(atom.text), parseJsonFeed(json.text)]
  assert.strictEqual(one.title?.value, other.title)
  assert.isTrue(one.links?.some(({ href, rel }) => rel === "self" && href?.endsWith(`${path}/atom`)))
  const entries = (one.entries ?? []).map((entry) => ({
    id: entry.id,
    title: entry.title?.value,
    text: entry.content?.value,
    at: entry.updated
  }))
  assert.deepStrictEqual(
    entries,
    (other.items ?? []).map((item) => ({
      id: item.id,
      title: item.title,
      text: item.content_text,
      at: item.date_published
    }))
  )
  return { title: other.title, entries, updated: one.updated }
})

layer(testServer())("A feed", (it) => {
  it.effect("The feed of events has the newest first, whatever their texts hold", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* read("/feeds/events"), { entries: [], updated: "1970-01-01T00:00:00.000Z" })
      const now = yield* freshWeek
      const title = `<b>5 & 6 > "3"</b> ]]> \u{1f642} \uffff`
      const first = yield* newEvent({ title, summary: "One.\nTwo: &lt;" })
      yield* moveTo(DateTime.add(now, { hours: 1 }))
      const second = yield* newEvent({ title: "The second" })
      const { entries } = yield* read("/feeds/events")
      assert.deepStrictEqual(
        entries.map(({ id }) => new URL(id ?? "").pathname),
        [second, first].map(({ event_id }) => `/events/${event_id}`)
      )
      assert.strictEqual(entries[1]?.text?.split("\n\n")[0], "One.\nTwo: &lt;")
      assert.strictEqual(entries[1]?.title, title.replace("\uffff", "\ufffd"))
    })
  )

  it.effect("The feed of events says when one was published only where that is known", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const known = yield* newEvent({ title: "Stated" })
      const estimated = yield* newEvent({ title: "Seen" })
      yield* asOwner(
        SqlClient.SqlClient.use(
          (sql) => sql`update events set published_at_known = false where id = ${estimated.event_id}`
        )
      )
      const time = DateTime.formatIso(now)
      const { entries = [] } = parseAtomFeed((yield* get("/feeds/events/atom")).text)
      const { items = [] } = parseJsonFeed((yield* get("/feeds/events/json")).text)
      for (const [{ event_id }, published] of [
        [known, time],
        [estimated, undefined]
      ] as const) {
        const isIt = ({ id = "" }) => id.endsWith(event_id)
        const entry = entries.find(isIt)
        // Atom requires a time of the last change of each entry.
        assert.deepStrictEqual([entry?.published, entry?.updated], [published, time])
        const item = items.find(isIt)
        assert.isDefined(item)
        assert.strictEqual(item?.date_published, published)
      }
    })
  )

  it.effect("The feeds of settlements and of an agent have what was scored, and nothing that is open", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent("First & Light")
      const challenge = yield* newChallenge()
      const open = yield* newChallenge()
      yield* predict(agent, challenge)
      yield* predict(agent, open)
      const own = `/feeds/agents/${agent}`
      assert.deepInclude(yield* read(own), { entries: [] })
      const deadline = DateTime.makeUnsafe(challenge.deadline)
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 110]])
      yield* Scoring.use(({ settleDue }) => settleDue)
      const settlements = yield* read("/feeds/settlements")
      assert.include(
        settlements.entries.map(({ title }) => (title ?? "").replace(/ on .*:/, ":")),
        "Gold: up, down or flat? ▲ Up"
      )
      const { entries, title } = yield* read(own)
      assert.strictEqual(title, "Auspex: predictions of First & Light")
      assert.match(entries.at(-1)?.title ?? "", /^\d+\.\d\d points: /)
      assert.include(entries.at(-1)?.text, "It said ▲ Up")
    })
  )

  it.effect("A feed is named in the pages that show the same, and answered like them", () =>
    Effect.gen(function* () {
      const agent = yield* claimedAgent()
      for (const [page, feed] of [
        ["/", "/feeds/settlements"],
        ["/", "/feeds/events"],
        ["/events", "/feeds/events"],
        ["/challenges", "/feeds/settlements"],
        [`/agents/${agent}`, `/feeds/agents/${agent}`]
      ] as const) {
        const { text } = yield* get(page)
        for (const [format, type] of [
          ["atom", "atom+xml"],
          ["json", "feed+json"]
        ] as const) {
          assert.match(
            text,
            new RegExp(
              `<link rel="alternate" type="application/${type.replace("+", "\\+")}" title="[^"]+" href="${feed}/${format}"`
            )
          )
        }
      }
      const first = yield* get("/feeds/events/atom")
      const again = yield* get("/feeds/events/atom", {
        headers: { "if-none-match": first.headers.get("etag") ?? "" }
      })
      assert.strictEqual(again.status, 304)
      for (const none of ["/feeds/events/rss", "/feeds/agents/x/atom", "/feeds/x/atom", "/feeds"]) {
        assert.strictEqual((yield* get(none)).status, 404, none)
      }
    })
  )
})

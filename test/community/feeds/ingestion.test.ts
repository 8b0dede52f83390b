/** News feeds become events: each item once, by conditional requests, whatever goes wrong with one feed. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, Latch, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { FeedAnswer, Validators } from "../../../src/layers/feeds/feeds.ts"
import { fetchFeed } from "../../../src/layers/feeds/feeds.ts"
import { FetchFailed } from "../../../src/layers/keys/fetchDocument.ts"
import { make } from "../../../src/layers/postgres/community/FeedIngestion.ts"
import { Events } from "../../../src/services/Events.ts"
import type { FeedSource } from "../../../src/services/Events.ts"
import { concurrently, times } from "../../support/concurrently.ts"
import { freshWeek, plus } from "../../support/challenges.ts"
import { countOf, rowsOf } from "../../support/database.ts"
import { firstPage } from "../../support/paging.ts"
import { testServices } from "../../support/services.ts"

const item = (fields: Readonly<Record<string, string>>) =>
  `<item>${Object.entries(fields)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join("")}</item>`

const rss = (...items: ReadonlyArray<string>) =>
  `<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title>${items.join("")}</channel></rss>`

const changed = (
  document: string,
  more: Partial<Validators> & { readonly misread?: string; readonly url?: string } = {}
): FeedAnswer => ({
  changed: true,
  document,
  etag: null,
  last_modified: null,
  ...more
})

const source = (url: string, more: Partial<FeedSource> = {}): FeedSource => ({
  url,
  source: "Source",
  ...more
})

/** Feeds that answer by a script, and record their requests. */
const scripted = (script: Readonly<Record<string, ReadonlyArray<FeedAnswer | string>>>) => {
  const fetched: Array<readonly [url: string, validators: Validators]> = []
  const turns = new Map<string, number>()
  return {
    fetched,
    fetch: (url: string, validators: Validators) =>
      Effect.suspend(() => {
        fetched.push([url, validators])
        const turn = turns.get(url) ?? 0
        turns.set(url, turn + 1)
        const answers = script[url] ?? []
        const answer = answers[Math.min(turn, answers.length - 1)]
        return typeof answer === "object"
          ? Effect.succeed(answer)
          : Effect.fail(new FetchFailed({ reason: answer ?? "nothing is there" }))
      })
  }
}

const titles = Effect.map(
  Events.use((events) => events.list({}, firstPage)),
  ({ items }) => items.map(({ title }) => title)
)

const State = Schema.Struct({
  failures: Schema.Int,
  failure: Schema.NullOr(Schema.String),
  due_at: Schema.DateTimeUtcFromDate
})
const stateOf = (url: string) =>
  Effect.map(
    rowsOf(State, (sql) => sql`select failures, failure, due_at from feeds where url = ${url}`),
    ([row]) => row
  )

layer(testServices())("A feed", (it) => {
  it.effect("A feed makes an event of each item, in its spaces, of its assets, as plain text", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const url = "https://one.example/feed"
      const { fetch } = scripted({
        [url]: [
          changed(
            rss(
              item({
                title: "Gold &amp;amp; oil &lt;b&gt;rise&lt;/b&gt;",
                link: "/news/1?utm_source=rss#top",
                guid: "1",
                pubDate: "Sun, 01 Mar 2026 10:00:00 GMT",
                description:
                  "<![CDATA[<p>First.</p><script>alert(1)</script><p>Second &mdash; &#8364;5.</p>]]>"
              })
            )
          )
        ]
      })
      const feeds = yield* make([source(url, { spaces: ["finance"], assets: ["GC", "CL"] })], fetch)
      yield* feeds.ingestDue
      const { items } = yield* Events.use((events) => events.list({ asset: "CL" }, firstPage))
      assert.lengthOf(items, 1)
      assert.deepInclude(items[0], {
        title: "Gold & oil rise",
        summary: "First. Second — €5.",
        url: "https://one.example/news/1?utm_source=rss#top",
        source: "Source",
        published_at: "2026-03-01T10:00:00.000Z",
        spaces: ["finance"],
        assets: ["GC", "CL"]
      })
      assert.deepStrictEqual(yield* stateOf(url), {
        failures: 0,
        failure: null,
        due_at: plus(now, "5 minutes")
      })
    })
  )

  it.effect("A due feed is claimed before its request, so that replicas share the due ones", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const urls = Array.from({ length: 10 }, (_, index) => `https://shared.example/${index}`)
      const slow = scripted({})
      const busy = yield* Latch.make(false)
      const release = yield* Latch.make(false)
      let begun = 0
      const first = yield* make(
        urls.map((url) => source(url)),
        Effect.fnUntraced(function* (url: string, validators: Validators) {
          begun += 1
          if (begun === 4) yield* busy.open
          yield* release.await
          return yield* slow.fetch(url, validators)
        })
      )
      const asking = yield* Effect.forkChild(first.ingestDue)
      yield* busy.await
      const quick = scripted({})
      const second = yield* make(
        urls.map((url) => source(url)),
        quick.fetch
      )
      yield* second.ingestDue
      assert.lengthOf(quick.fetched, 6)
      yield* release.open
      yield* Fiber.join(asking)
      assert.sameMembers(
        [...slow.fetched, ...quick.fetched].map(([url]) => url),
        urls
      )
    })
  )

  it.effect("A feed is asked at its interval with its validators, and an item counts once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [one, two] = ["https://a.example/feed", "https://b.example/feed"]
      const first = item({ title: "First", link: "https://a.example/1", guid: "g1" })
      const moved = item({ title: "First, edited", link: "https://a.example/1-edited", guid: "g1" })
      const same = item({ title: "No guid", link: "https://a.example/1?utm_medium=x" })
      const elsewhere = item({ title: "On another feed", link: "https://a.example/1", guid: "g1" })
      const fresh = item({ title: "Second", link: "https://a.example/2", guid: "g3" })
      const { fetched, fetch } = scripted({
        [one]: [
          changed(rss(first), { etag: '"v1"', last_modified: "then" }),
          { changed: false },
          changed(rss(fresh, moved)),
          changed(rss(fresh, same))
        ],
        [two]: [changed(rss(elsewhere, elsewhere))]
      })
      const feeds = yield* make([source(one), source(two)], fetch)
      const before = yield* titles
      yield* feeds.ingestDue
      yield* feeds.ingestDue
      assert.lengthOf(fetched, 2)
      for (const _ of times(3, String)) {
        yield* TestClock.adjust("5 minutes")
        yield* feeds.ingestDue
      }
      const ofOne = fetched.filter(([url]) => url === one).map(([, validators]) => validators)
      assert.deepStrictEqual(ofOne, [
        { etag: null, last_modified: null },
        { etag: '"v1"', last_modified: "then" },
        { etag: '"v1"', last_modified: "then" },
        { etag: null, last_modified: null }
      ])
      const made = (yield* titles).filter((title) => !before.includes(title))
      assert.include(
        [
          ["First", "Second"],
          ["On another feed", "Second"]
        ].map(String),
        [...made].sort().join()
      )
    })
  )

  it.effect("A failing feed stops no other, and is asked ever more rarely until it answers", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const [bad, html, broken, good] = ["bad", "html", "broken", "good"].map(
        (name) => `https://${name}.example/feed`
      ) as [string, string, string, string]
      const { fetch } = scripted({
        [bad]: ["it answered 500"],
        [html]: [changed("<html><body>Not found</body></html>")],
        [broken]: [changed("<rss><channel><item><title>No end")],
        [good]: [changed(rss(item({ title: "Good", guid: "1" })))]
      })
      const feeds = yield* make(
        [bad, html, broken, good].map((url) => source(url)),
        fetch
      )
      yield* feeds.ingestDue
      assert.include(yield* titles, "Good")
      assert.deepInclude(yield* stateOf(bad), { failures: 1, failure: "it answered 500" })
      for (const url of [html, broken]) assert.strictEqual((yield* stateOf(url))?.failures, 1, url)
      const pauses: Array<number> = []
      for (const _ of times(9, String)) {
        const from = yield* DateTime.now
        const due = (yield* stateOf(bad))?.due_at ?? now
        pauses.push(DateTime.toEpochMillis(due) - DateTime.toEpochMillis(from))
        yield* TestClock.setTime(DateTime.toEpochMillis(due))
        yield* feeds.ingestDue
      }
      assert.deepStrictEqual(
        pauses.map((millis) => millis / 60_000),
        [5, 10, 20, 40, 80, 160, 320, 360, 360]
      )
    })
  )

  it.effect("A warning names items without a clear date, once, and these are marked as estimated", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const url = "https://undated.example/feed"
      const dates = ["Sun, 01 Mar 2026 10:00:00 GMT", "soon", "Sun, 01 Mar 2026 10:00:00 IST", "2026-02-27"]
      const items = dates.map((pubDate) => item({ title: `Dated "${pubDate}"`, guid: pubDate, pubDate }))
      const { fetch } = scripted({
        [url]: [changed(rss(...items)), { changed: false }, changed(rss(items[0] ?? ""))]
      })
      const feeds = yield* make([source(url, { assets: ["HG"] })], fetch)
      const warning = rowsOf(
        Schema.Struct({ warning: Schema.NullOr(Schema.String) }),
        (sql) => sql`select warning from feeds where url = ${url}`
      )
      yield* feeds.ingestDue
      const { items: events } = yield* Events.use((all) => all.list({ asset: "HG" }, firstPage))
      assert.sameDeepMembers(
        events.map(({ published_at, published_at_estimated, title }) => [
          title,
          published_at,
          published_at_estimated
        ]),
        [
          [`Dated "soon"`, DateTime.formatIso(now), true],
          [`Dated "Sun, 01 Mar 2026 10:00:00 IST"`, "2026-03-01T10:00:00.000Z", true],
          [`Dated "Sun, 01 Mar 2026 10:00:00 GMT"`, "2026-03-01T10:00:00.000Z", undefined],
          [`Dated "2026-02-27"`, "2026-02-27T00:00:00.000Z", true]
        ]
      )
      const [told] = yield* warning
      assert.include(told?.warning, "3 of 4 items")
      assert.include(told?.warning, `"Sun, 01 Mar 2026 10:00:00 IST"`)
      yield* TestClock.adjust("5 minutes")
      yield* feeds.ingestDue
      assert.deepStrictEqual((yield* warning)[0], told)
      yield* TestClock.adjust("5 minutes")
      yield* feeds.ingestDue
      assert.deepStrictEqual(yield* warning, [{ warning: null }])
    })
  )

  it.effect("A feed keeps items by their guids, or by addresses where guids repeat", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const home = "https://status.example/"
      const one = (number: number) => item({ title: `Status ${number}`, link: home, guid: `s${number}` })
      const two = (number: number) =>
        item({ title: `Report ${number}`, link: `${home}${number}`, guid: "always" })
      const three = (number: number) => item({ title: `Note ${number}`, link: `${home}notes` })
      const [byGuid, byAddress, byTitle] = ["guid", "address", "title"].map((name) => `${home}${name}`) as [
        string,
        string,
        string
      ]
      const { fetch } = scripted({
        [byGuid]: [changed(rss(one(1))), changed(rss(one(2))), changed(rss(one(3), one(2), one(1)))],
        [byAddress]: [changed(rss(two(2), two(1))), changed(rss(two(2))), changed(rss(two(3), two(2)))],
        [byTitle]: [changed(rss(three(2), three(1))), changed(rss(three(3), three(2), three(1)))]
      })
      const feeds = yield* make(
        [byGuid, byAddress, byTitle].map((url) => source(url, { assets: ["ZS"] })),
        fetch
      )
      for (const _ of times(3, String)) {
        yield* feeds.ingestDue
        yield* TestClock.adjust("5 minutes")
      }
      const { items } = yield* Events.use((all) => all.list({ asset: "ZS" }, firstPage))
      assert.deepStrictEqual(
        items.map(({ title }) => title).sort(),
        ["Note", "Report", "Status"].flatMap((name) => [1, 2, 3].map((number) => `${name} ${number}`))
      )
    })
  )

  it.effect("Relative links belong to the address that answered, and guids to the one that was asked", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const url = "https://old.example/feed"
      const one = item({ title: "Moved", link: "story-1", guid: "1" })
      const two = item({ title: "Moved again", link: "story-1b", guid: "1" })
      const { fetch } = scripted({
        [url]: [
          changed(rss(one), { url: "https://new.example/news/feed" }),
          changed(rss(two), { url: "https://newest.example/feed" })
        ]
      })
      const feeds = yield* make([source(url, { assets: ["DXY"] })], fetch)
      yield* feeds.ingestDue
      yield* TestClock.adjust("5 minutes")
      yield* feeds.ingestDue
      const { items } = yield* Events.use((all) => all.list({ asset: "DXY" }, firstPage))
      assert.deepStrictEqual(
        items.map((event) => event.url),
        ["https://new.example/news/story-1"]
      )
    })
  )

  it.effect("Items with bytes that are no text are left out, and taken once they are text", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const url = "https://bytes.example/feed"
      const whole = item({ title: "Copper falls", guid: "1" })
      const { fetch } = scripted({
        [url]: [
          changed(rss(whole, item({ title: "Caf\ufffd closes", guid: "2" })), {
            misread: "it holds bytes that are no text in utf-8"
          }),
          changed(rss(whole, item({ title: "Caf\u00e9 closes", guid: "2" })))
        ]
      })
      const feeds = yield* make([source(url, { assets: ["NG"] })], fetch)
      const titled = Effect.map(
        Events.use((all) => all.list({ asset: "NG" }, firstPage)),
        ({ items }) => items.map(({ title }) => title).sort()
      )
      yield* feeds.ingestDue
      assert.deepStrictEqual(yield* titled, ["Copper falls"])
      const [told] = yield* rowsOf(
        Schema.Struct({ warning: Schema.String }),
        (sql) => sql`select warning from feeds where url = ${url}`
      )
      assert.include(told?.warning, "no text in utf-8; 1 items with such bytes are left out")
      yield* TestClock.adjust("5 minutes")
      yield* feeds.ingestDue
      assert.deepStrictEqual(yield* titled, ["Caf\u00e9 closes", "Copper falls"])
    })
  )

  it.effect("A feed that several replicas look at is asked once, and its items are stored once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const urls = times(8, (index) => `https://many-${index}.example/feed`)
      const shared = rss(
        ...times(5, (index) => item({ title: `Shared ${index}`, link: `https://x.example/${index}` }))
      )
      const { fetched, fetch } = scripted(Object.fromEntries(urls.map((url) => [url, [changed(shared)]])))
      const replicas = yield* Effect.forEach(times(4, String), () =>
        make(
          urls.map((url) => source(url)),
          fetch
        )
      )
      yield* concurrently(replicas.map((feeds) => feeds.ingestDue))
      assert.lengthOf(fetched, urls.length)
      const stored = yield* countOf(
        (sql) => sql`select count(*)::int as count from events where title like 'Shared %'`
      )
      assert.strictEqual(stored, 5)
    })
  )

  it.effect("A feed whose replica died is asked again", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const url = "https://lost.example/feed"
      const dead = yield* make([source(url)], () => Effect.die(new Error("the process is gone")))
      yield* dead.ingestDue
      const { fetched, fetch } = scripted({ [url]: [{ changed: false }] })
      const feeds = yield* make([source(url)], fetch)
      yield* feeds.ingestDue
      assert.lengthOf(fetched, 0)
      yield* TestClock.adjust("2 minutes")
      yield* feeds.ingestDue
      assert.lengthOf(fetched, 1)
    })
  )

  it.effect("A feed with an asset that is no target cannot be used", () =>
    Effect.gen(function* () {
      const rejected = yield* Effect.flip(make([source("https://x.example/f", { assets: ["GC", "TULIPS"] })]))
      assert.include(rejected.message, "TULIPS")
    })
  )
})

/** A feed on this very machine. */
const served = (handler: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer(handler).listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${port}`,
            close: () => {
              server.closeAllConnections()
              server.close()
            }
          })
        )
      })
    }),
    ({ close }) => Effect.sync(close)
  )

layer(testServices())("The request to a feed", (it) => {
  const none: Validators = { etag: null, last_modified: null }
  const reasonOf = (url: string, ownMachine = true) =>
    Effect.map(Effect.flip(fetchFeed(url, none, ownMachine)), ({ reason }) => reason)

  it.effect("A request to a feed is conditional, and an unchanged feed is not sent again", () =>
    Effect.gen(function* () {
      const { url } = yield* served(({ headers }, response) => {
        const known = headers["if-none-match"] === '"v1"' && headers["if-modified-since"] === "then"
        response.writeHead(known ? 304 : 200, { etag: '"v1"', "last-modified": "then" })
        response.end(known ? undefined : rss())
      })
      const first = yield* fetchFeed(url, none, true)
      assert.deepStrictEqual(first, {
        changed: true,
        document: rss(),
        etag: '"v1"',
        last_modified: "then"
      })
      const again = yield* fetchFeed(url, { etag: '"v1"', last_modified: "then" }, true)
      assert.deepStrictEqual(again, { changed: false })
    })
  )

  it.effect("A request to a feed follows redirects to public places only, and not for ever", () =>
    Effect.gen(function* () {
      const { url } = yield* served((request, response) => {
        const targets: Readonly<Record<string, string>> = {
          "/moved": "/here",
          "/ring": "/ring",
          "/inside": "http://169.254.169.254/latest/meta-data",
          "/file": "file:///etc/passwd",
          "/login": "http://user:secret@127.0.0.1/"
        }
        const target = targets[request.url ?? ""]
        if (request.url === "/nowhere") response.writeHead(302)
        else if (target === undefined) response.writeHead(200)
        else response.writeHead(301, { location: target })
        response.end(rss())
      })
      assert.deepInclude(yield* fetchFeed(`${url}/moved`, none, true), { changed: true })
      assert.include(yield* reasonOf(`${url}/ring`), "redirects more than")
      assert.include(yield* reasonOf(`${url}/nowhere`), "without an address")
      assert.include(yield* reasonOf(`${url}/inside`), "public internet")
      assert.include(yield* reasonOf(`${url}/file`), "http or https")
      assert.include(yield* reasonOf(`${url}/login`), "user name")
      assert.include(yield* reasonOf(url, false), "public internet")
    })
  )

  it.effect("A request to a feed takes every coding, several in a row, and names of none", () =>
    Effect.gen(function* () {
      const text = rss(item({ title: "Золото", guid: "1" }))
      for (const [coding, body] of [
        ["gzip", gzipSync(text)],
        ["x-gzip", gzipSync(text)],
        ["GZip", gzipSync(text)],
        ["br", brotliCompressSync(text)],
        ["deflate", deflateSync(text)],
        ["deflate", deflateRawSync(text)],
        ["zstd", zstdCompressSync(text)],
        ["gzip, br", brotliCompressSync(gzipSync(text))],
        ["identity , Gzip,", gzipSync(text)],
        ["", text],
        ["identity", text],
        ["UTF-8", text],
        ["BR", brotliCompressSync(text)],
        ["DEFLATE", deflateSync(text)],
        ["Zstd", zstdCompressSync(text)],
        ["X-GZIP", gzipSync(text)],
        ["zstd,gzip", gzipSync(zstdCompressSync(text))],
        ["gzip, gzip, gzip, gzip", gzipSync(gzipSync(gzipSync(gzipSync(text))))],
        ["br , deflate", deflateRawSync(brotliCompressSync(text))],
        ["none", text],
        ["Identity, identity", text],
        ["utf8, gzip", gzipSync(text)],
        ["7bit", text],
        ["text/xml", text],
        [",", text]
      ] as const) {
        const { url } = yield* served((_, response) => {
          response.writeHead(200, { "content-encoding": coding }).end(body)
        })
        const answer = yield* fetchFeed(url, none, true)
        assert(answer.changed)
        assert.strictEqual(answer.document, text, coding)
      }
    })
  )

  it.effect("A request to a feed bounds the decompressed size, and says why it cannot be read", () =>
    Effect.gen(function* () {
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
      const whole = gzipSync(rss())
      for (const [coding, body, reason] of [
        ["gzip", bomb, "larger than"],
        ["gzip, gzip", gzipSync(bomb), "larger than"],
        ["br", brotliCompressSync(Buffer.alloc(4 * 1024 * 1024)), "larger than"],
        ["deflate", deflateRawSync(Buffer.alloc(64 * 1024 * 1024)), "larger than"],
        ["gzip", whole.subarray(0, whole.length - 9), "cannot be decompressed as gzip"],
        ["br", whole, "cannot be decompressed as br"],
        ["zstd", zstdCompressSync(Buffer.alloc(64 * 1024 * 1024)), "larger than"],
        ["br, gzip", gzipSync(brotliCompressSync(Buffer.alloc(4 * 1024 * 1024))), "larger than"],
        ["zstd", whole, "cannot be decompressed as zstd"],
        ["gzip, gzip", whole, "cannot be decompressed as gzip"],
        ["compress", whole, "is encoded as compress"],
        ["X-Compress", whole, "is encoded as X-Compress"],
        ["gzip, exi", whole, "is encoded as"],
        ["gzip, gzip, gzip, gzip, gzip", whole, "is encoded as"]
      ] as const) {
        const { url } = yield* served((_, response) => {
          response.writeHead(200, { "content-encoding": coding }).end(body)
        })
        assert.include(yield* reasonOf(url), reason, coding)
      }
    })
  )

  it.effect("A feed's answer has the address that answered, where a redirect led elsewhere", () =>
    Effect.gen(function* () {
      const { url: there } = yield* served((_, response) => response.writeHead(200).end(rss()))
      const { url: here } = yield* served((_, response) =>
        response.writeHead(301, { location: `${there}/a/feed` }).end()
      )
      const answer = yield* fetchFeed(here, none, true)
      assert(answer.changed)
      assert.strictEqual(answer.url, `${there}/a/feed`)
    })
  )

  it.effect("A request to a feed takes at most the maximum of bytes, and decodes its encoding", () =>
    Effect.gen(function* () {
      const { url } = yield* served((request, response) => {
        if (request.url === "/large") response.end("x".repeat(3 * 1024 * 1024))
        else if (request.url === "/missing") response.writeHead(404).end()
        else
          response.end(
            Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><rss>caf\u00e9</rss>', "latin1")
          )
      })
      assert.include(yield* reasonOf(`${url}/large`), "larger than")
      assert.include(yield* reasonOf(`${url}/missing`), "answered 404")
      const latin = yield* fetchFeed(url, none, true)
      assert(latin.changed)
      assert.include(latin.document, "café")
    })
  )
})

/** The site on other sites: metadata of pages, Open Graph images, badges, frames, and the sitemap for crawlers. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { Skill } from "../../src/services/Skill.ts"
import { makePictures, svgOf } from "../../src/http/site/ogImage.ts"
import { hostileNames, publicFixture } from "../support/publicFixture.ts"
import { get, testServer, TestServer } from "../support/server.ts"
import { unescaped } from "../support/visitor.ts"

/** The meta elements of a document, by name or property. */
const metaOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/<meta (?:name|property)="([^"]+)" content="([^"]*)"/g)].map(([, name, content]) => [
      name ?? "",
      unescaped(content ?? "")
    ])
  )

const structuredOf = (text: string): Record<string, unknown> =>
  JSON.parse(/<script type="application\/ld\+json">([^<]*)<\/script>/.exec(text)?.[1] ?? "null")

/** A file byte for byte, as a browser reads it. */
const fileOf = Effect.fnUntraced(function* (path: string) {
  const { url } = yield* TestServer
  return yield* Effect.promise(async () => {
    const response = await fetch(url + path)
    return {
      headers: response.headers,
      status: response.status,
      body: Buffer.from(await response.arrayBuffer())
    }
  })
})

layer(testServer())("Shared links", (it) => {
  it.effect("A link to a page unfurls: title, sentence, address and a picture of 1200 x 630", () =>
    Effect.gen(function* () {
      const world = yield* publicFixture
      yield* Skill.use((skill) => skill.countDue)
      for (const [path, title] of [
        ["/", "AI agents, on the record"],
        ["/leaderboard", "Leaderboard"],
        [`/challenges/${world.settled.id}`, "Gold"],
        [`/challenges/${world.openMacro.id}`, "Consumer price index"],
        [`/agents/${world.first}`, "First Light"],
        ["/assets/GC", "Gold"]
      ] as const) {
        const { text } = yield* get(path)
        const meta = metaOf(text)
        assert.include(meta["og:title"], title, path)
        assert.isAbove((meta["description"] ?? "").length, 20, path)
        assert.isBelow((meta["description"] ?? "").length, 300, path)
        assert.strictEqual(meta["og:description"], meta["description"])
        assert.strictEqual(meta["twitter:card"], "summary_large_image")
        assert.match(text, /<link rel="canonical" href="http[^"]+"/)
        const { pathname } = new URL(meta["og:image"] ?? "")
        const picture = yield* fileOf(pathname)
        assert.strictEqual(picture.status, 200, pathname)
        assert.strictEqual(picture.headers.get("content-type"), "image/png")
        assert.strictEqual(picture.headers.get("cross-origin-resource-policy"), "cross-origin")
        assert.strictEqual(picture.body.toString("latin1", 1, 4), "PNG")
        assert.deepStrictEqual([picture.body.readUInt32BE(16), picture.body.readUInt32BE(20)], [1200, 630])
        assert.isBelow(picture.body.byteLength, 150_000)
      }
      assert.strictEqual(structuredOf((yield* get("/")).text)["@type"], "WebSite")
      const question = structuredOf((yield* get(`/challenges/${world.settled.id}`)).text)
      assert.strictEqual(question["@type"], "Question")
      assert.strictEqual((yield* get(`/challenges/${world.settled.id}x/picture.png`)).status, 404)
      // Pages that only narrow results have one canonical address.
      assert.include((yield* get("/challenges?status=resolved")).text, 'rel="canonical"')
    })
  )

  it.effect("Pictures are drawn of names with what is no character", () =>
    Effect.gen(function* () {
      const { png } = yield* makePictures()
      for (const name of [
        "a\uffff",
        "\ufffe",
        "\ud800b",
        "\0\u0001\u001f",
        "\u{1fffe}",
        "\u{e0001}",
        "\u202e"
      ]) {
        const svg = svgOf({ above: name, title: name, figure: name, below: name })
        assert.notMatch(svg, /[\uffff\ufffe\0]/)
        assert.isAbove((yield* png({ above: name, title: name, figure: name, below: name })).length, 1000)
      }
    })
  )

  it.effect("Pictures are drawn once a day, and beyond a queue of twenty nobody waits", () =>
    Effect.gen(function* () {
      const drawn: Array<string> = []
      const turn = yield* Latch.make(false)
      const { png } = yield* makePictures((svg) =>
        turn.await.pipe(Effect.andThen(Effect.sync(() => void drawn.push(svg))), Effect.as(new Uint8Array()))
      )
      const picture = (title: string) => ({ above: "", title })
      const waiting = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => picture(`${index}`)),
        (each) => Effect.forkChild(png(each), { startImmediately: true })
      )
      const refused = yield* Effect.flip(png(picture("one more")))
      assert.deepStrictEqual([refused._tag, refused.retry_after > 0], ["PicturesBusy", true])
      yield* turn.open
      yield* Fiber.joinAll(waiting)
      yield* png(picture("one more"))
      for (const title of ["one more", "3", "17"]) yield* png(picture(title))
      assert.lengthOf(drawn, 21)
      yield* TestClock.adjust("25 hours")
      yield* png(picture("3"))
      assert.lengthOf(drawn, 22)
    })
  )

  it.effect("Pictures draw any name as text, cut at the third line", () =>
    Effect.sync(() => {
      for (const title of [
        ...Object.values(hostileNames),
        "</text><script>alert(1)</script>",
        "W ".repeat(200)
      ]) {
        const svg = svgOf({ above: "AI agent", title })
        assert.notInclude(svg, "<script")
        assert.isAtMost(svg.split('font-weight="bold"').length, 5)
      }
    })
  )
})

layer(testServer({ environment: { AUSPEX_RANK_MIN_DAYS: "1" } }))("Badges and frames elsewhere", (it) => {
  it.effect("A badge says rank and skill, and a frame shows a challenge on any site without a script", () =>
    Effect.gen(function* () {
      const world = yield* publicFixture
      yield* Skill.use((skill) => skill.countDue)
      const badge = yield* get(`/agents/${world.first}/badge.svg`)
      assert.strictEqual(badge.headers.get("content-type"), "image/svg+xml")
      assert.match(badge.text, /Auspex: #\d of \d, skill [+−]\d\.\d+/)
      assert.include((yield* get(`/agents/${world.newcomer}/badge.svg`)).text, "not ranked yet")
      assert.strictEqual((yield* get("/agents/nobody/badge.svg")).status, 404)
      assert.include((yield* get(`/agents/${world.first}`)).text, "/badge.svg)]")

      const frame = yield* get(`/embed/challenges/${world.open.id}`)
      assert.isNull(frame.headers.get("x-frame-options"))
      const policy = frame.headers.get("content-security-policy") ?? ""
      assert.include(policy, "default-src 'none'")
      assert.include(policy, "frame-ancestors *")
      assert.notInclude(policy, "script-src")
      assert.notMatch(frame.text, /<script|<form|<iframe/)
      assert.include(frame.text, `/challenges/${world.open.id}"`)
      // No other page may be framed.
      const page = yield* get(`/challenges/${world.open.id}`)
      assert.strictEqual(page.headers.get("x-frame-options"), "DENY")
    })
  )
})

layer(testServer())("Files for crawlers", (it) => {
  it.effect("Crawlers get a map of what there is, and a list of what they may not read", () =>
    Effect.gen(function* () {
      const world = yield* publicFixture
      const robots = yield* get("/robots.txt")
      const [, map = ""] = /^Sitemap: (.*)$/m.exec(robots.text) ?? []
      assert.include(robots.text, "Disallow: /account")
      const { headers, text } = yield* get(new URL(map).pathname)
      assert.strictEqual(headers.get("content-type"), "application/xml")
      const listed = [...text.matchAll(/<loc>([^<]+)<\/loc>/g)].map(
        ([, address = ""]) => new URL(address).pathname
      )
      assert.include(listed, "/assets/GC")
      assert.include(listed, `/challenges/${world.open.id}`)
      for (const path of listed) assert.strictEqual((yield* get(path)).status, 200, path)
    })
  )
})

/** Pages in Chinese: by the site, and by the switch. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Skill } from "../../src/services/Skill.ts"
import { catalogues } from "../../src/http/site/catalogue/catalogue.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { get, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { textOf } from "../support/visitor.ts"

/** What stays as it is in every language: names, keys, models, units, digits. */
const names =
  /Auspex|AI|gold|zzzz|API|JSON|UTC|CPI|GC|ETH|CL|NG|English|E-mini|First Light|Tide|Table|W{20,}|openlab|reasoner-2|large|Table|Example Wire|Newcomer|OPEC\+?|b>|[0-9a-f]{8}/g

/** The Latin words of a page that are no names. Titles and summaries of events are as their source wrote them. */
const latinIn = (page: Answer) => {
  const main = /<main[^>]*>(.*)<\/main>/s.exec(page.text)?.[1] ?? ""
  const own = main
    .replaceAll(
      /<(a|p)[^>]* href="\/events\/[^"]*"[^>]*>.*?<\/\1>|<p class="quiet small" dir="auto">.*?<\/p>/gs,
      ""
    )
    .replaceAll(/“[^”]*”/g, "")
  const words = textOf({ ...page, text: own.replaceAll(names, "") })
  return words.match(/[A-Za-z]{4,}( [A-Za-z]{2,})*/g) ?? []
}

layer(testServer({ environment: { AUSPEX_SITE: "cn" } }))("The site cn", (it) => {
  it.effect("speaks Chinese where its pages do, and English where one asks for it", () =>
    Effect.gen(function* () {
      yield* publicFixture
      yield* Skill.use((skill) => skill.countDue)
      for (const path of [
        "/",
        "/challenges",
        "/challenges?status=resolved",
        "/challenges?status=ended&type=macro",
        "/challenges?asset=GC",
        "/leaderboard",
        "/leaderboard?order=average&category=commodities",
        "/events",
        "/events?space=finance&asset=GC",
        "/archive",
        "/assets/GC",
        "/assets/GC?range=1w",
        "/assets/CPI",
        "/search",
        "/search?q=gold",
        "/search?q=zzzz"
      ]) {
        const page = yield* get(path)
        assert.strictEqual(page.status, 200, path)
        assert.include(page.text, '<html lang="zh-CN">', path)
        assert.deepStrictEqual(latinIn(page), [], path)
      }
      const page = yield* get("/")
      for (const part of ["黄金", "上涨、下跌还是持平？", "距截止", "全部题目", "最近结算"]) {
        assert.include(textOf(page), part)
      }
      assert.match(page.text, /<a href="\/\?lang=en" lang="en" hreflang="en">English<\/a>/)

      const english = yield* get("/?lang=en")
      assert.include(english.text, '<html lang="en">')
      assert.include(textOf(english), "Open now")
      assert.match(english.text, /href="\/\?lang=zh" lang="zh-CN"/)
      // The switch keeps what was chosen, and links keep the language.
      const settled = yield* get("/challenges?status=resolved&lang=en")
      assert.include(settled.text, 'href="/challenges?status=resolved&amp;lang=zh"')
      assert.include(settled.text, 'href="/challenges?status=closed&amp;lang=en"')
      assert.strictEqual((yield* get("/?lang=fr")).status, 400)
      assert.strictEqual((yield* get("/methods?lang=en")).status, 400)
    })
  )
})

layer(testServer())("The site global", (it) => {
  it.effect("speaks English, and Chinese where one asks for it, also of an empty server", () =>
    Effect.gen(function* () {
      assert.include((yield* get("/")).text, '<html lang="en">')
      const page = yield* get("/?lang=zh")
      assert.include(page.text, '<html lang="zh-CN">')
      assert.include(textOf(page), catalogues.zh.nothingOpen)
      assert.include(page.text, 'class="wordmark" href="/?lang=zh"')
      // What is in English alone is led to without it.
      assert.include(page.text, 'href="/status"')
    })
  )
})

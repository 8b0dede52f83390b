/** Pages in Chinese: by the site, and by the switch. */
import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { JobRuns } from "../../src/services/JobRuns.ts"
import { Skill } from "../../src/services/Skill.ts"
import { catalogues } from "../../src/http/site/catalogue/catalogue.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { get, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { makeVisitor, textOf } from "../support/visitor.ts"

/** What stays as it is in every language: names, keys, models, units, digits. */
const names =
  /Auspex|AI|gold|zzzz|API|JSON|UTC|CPI|GC|ETH|CL|NG|English|E-mini|First Light|Tide|Table|W{20,}|openlab|reasoner-2|large|Table|Example Wire|Newcomer|OPEC\+?|CRPS|docs\/scoring\.md|Gneiting|Raftery|Choe|Waudby-Smith|Ramdas|Python|JavaScript|curl|Markdown|openapi\.json|https?\b|\/health\/ready|b>|[0-9a-f]{8}/g

/** The Latin words of a page that are no names. Titles and summaries of events are as their source wrote them. */
const latinIn = (page: Answer) => {
  const main = /<main[^>]*>(.*)<\/main>/s.exec(page.text)?.[1] ?? ""
  const own = main
    .replaceAll(/<(code|pre|textarea)[^>]*>.*?<\/\1>|<(p|div)[^>]* lang="en"[^>]*>.*?<\/\2>/gs, "")
    .replaceAll(
      /<(a|p)[^>]* href="\/events\/[^"]*"[^>]*>.*?<\/\1>|<p class="quiet small" dir="auto">.*?<\/p>/gs,
      ""
    )
    .replaceAll(/“[^”]*”/g, "")
  const words = textOf({ ...page, text: own.replaceAll(names, "") })
  return words.match(/[A-Za-z]{4,}( [A-Za-z]{2,})*/g) ?? []
}

/** What is told of on the page of the status. */
const jobs = [
  ...readFileSync(new URL("../../src/jobs/Jobs.ts", import.meta.url), "utf8").matchAll(
    /singletonCron\(\s*"([^"]+)"/g
  )
].map(([, job = ""]) => job)

layer(testServer({ environment: { AUSPEX_SITE: "cn" } }))("The site cn", (it) => {
  it.effect("speaks Chinese where its pages do, and English where one asks for it", () =>
    Effect.gen(function* () {
      yield* publicFixture
      yield* Skill.use((skill) => skill.countDue)
      const now = yield* DateTime.now
      for (const job of jobs) yield* JobRuns.use((runs) => runs.claim(job, now))
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
        "/search?q=zzzz",
        "/how-it-works",
        "/scoring",
        "/methods",
        "/start",
        "/log",
        "/status",
        "/verify"
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

      const scoring = yield* get("/scoring")
      assert.match(scoring.text, /role="img" aria-label="一条[^"]*"/)
      assert.match(scoring.text, /<text [^>]*>实际结果<\/text>/)
      assert.match(textOf(yield* get("/how-it-works")), /例如：.+？? ?。 ?日志第 \d+ 条记录 。/)
      assert.isAbove(jobs.length, 8)
      assert.include(textOf(yield* get("/status")), "任务 审计记录")
      assert.match(textOf(yield* get("/start")), /请阅读 http\S+\/skill\.md 并按/)
      assert.include((yield* get("/verify?proof=/x")).text, 'href="/verify?proof=%2Fx&amp;lang=en"')

      const english = yield* get("/?lang=en")
      assert.include(english.text, '<html lang="en">')
      assert.include(textOf(english), "Open now")
      assert.match(english.text, /href="\/\?lang=zh" lang="zh-CN"/)
      // The switch keeps what was chosen, and links keep the language.
      const settled = yield* get("/challenges?status=resolved&lang=en")
      assert.include(settled.text, 'href="/challenges?status=resolved&amp;lang=zh"')
      assert.include(settled.text, 'href="/challenges?status=closed&amp;lang=en"')
      assert.strictEqual((yield* get("/?lang=fr")).status, 400)
    })
  )
})

const browser = { headers: { accept: "text/html" } }

layer(testServer({ environment: { AUSPEX_SITE: "cn" } }))("An error on the site cn", (it) => {
  it.effect("is titled in Chinese unless English is asked for, and detailed as the API details it", () =>
    Effect.gen(function* () {
      for (const [path, status, title] of [
        ["/nothing", 404, "找不到页面"],
        ["/challenges/nothing", 404, "找不到页面"],
        ["/assets/NONE", 404, "找不到页面"],
        ["/leaderboard?order=x", 400, "请求无法处理"],
        ["/challenges?lang=fr", 400, "请求无法处理"],
        ["/sign-in/x/y", 404, "找不到页面"]
      ] as const) {
        const page = yield* get(path, browser)
        assert.strictEqual(page.status, status, path)
        assert.include(page.text, '<html lang="zh-CN">', path)
        assert.include(page.text, `<h1>${title}</h1>`, path)
        assert.match(page.text, /<p class="lead" lang="en">[A-Za-z ]+/, path)
        assert.deepStrictEqual(latinIn(page), [], path)
      }
      for (const path of ["/nothing?lang=en", "/assets/NONE?lang=en"]) {
        const page = yield* get(path, browser)
        assert.include(page.text, "<h1>Page not found</h1>", path)
        assert.include(page.text, '<a href="/leaderboard?lang=en">the leaderboard</a>', path)
      }
    })
  )

  it.effect("is in the language that the browser last chose where pages are for one person", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      assert.include((yield* visitor.open("/claim/unknown")).text, '<html lang="zh-CN">')
      yield* visitor.open("/sign-in?lang=en")
      assert.include((yield* visitor.open("/claim/unknown")).text, '<html lang="en">')
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
      assert.include((yield* get("/nothing", browser)).text, "<h1>Page not found</h1>")
      assert.include((yield* get("/nothing?lang=zh", browser)).text, "<h1>找不到页面</h1>")
      assert.include(textOf(yield* get("/log?lang=zh")), catalogues.zh.checks.log.nothing)
      // What is in English alone is led to without it.
      assert.include(page.text, 'href="/docs"')
      assert.include(page.text, 'href="/status?lang=zh"')
    })
  )
})

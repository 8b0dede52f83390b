/** Pages in Chinese: by the site, and by the switch. */
import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Amendments } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { JobRuns } from "../../src/services/JobRuns.ts"
import { Operators } from "../../src/services/Operators.ts"
import { creditPage } from "../../src/services/Payments.ts"
import { Registry } from "../../src/services/Registry.ts"
import { OperatorId } from "../../src/services/domain/ids.ts"
import { apiKeysPage, noticesPage, topUpPage } from "../../src/http/site/paths.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { allMessages } from "../../src/http/site/messages/messages.ts"
import {
  claimableByHttp,
  claimedAgent,
  linksMailedTo,
  newMails,
  ownerVisitor,
  signInFrom,
  signInLink,
  wrongCode
} from "../support/agents.ts"
import { oneIn } from "../support/breadth.ts"
import { moveTo, newChallenge, newPriceEvent, plus, predict, submit } from "../support/challenges.ts"
import { completeLog } from "../support/logbook.ts"
import { fundOwnerOf } from "../support/credit.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { get, post, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { selling, stripeServer } from "../support/stripe.ts"
import { tournament } from "../support/tournaments.ts"
import { formsOf, makeVisitor, textOf } from "../support/visitor.ts"
import type { Visitor } from "../support/visitor.ts"

/** Texts that are the same in every language: names, keys, models, units, digits. */
const names =
  /Auspex|AI|Reference: (?:random walk|always neutral|[a-z]+)|Raise by|FOMC|gold|zzzz|API|JSON|UTC|CPI|GC|ETH|CL|NG|English|E-mini|First Light|Tide|Table|W{20,}|openlab|reasoner-2|large|Table|Example Wire|example\.org|Newcomer|OPEC\+?|World Cup|Group A|home|draw|away|CRPS|docs\/scoring\.md|Gneiting|Raftery|Choe|Waudby-Smith|Ramdas|Python|JavaScript|curl|Markdown|openapi\.json|https?\b|\/health\/ready|agent(?=<\/bdi>| 的预测)|b>|[0-9a-f-]{36}|[0-9a-f]{8}/g

/** Texts of users and administrators, which stay unchanged: titles and summaries of events and tournaments, comments, code. */
const written =
  /<(a|p)[^>]* href="\/(events|archive)\/[^"]*"[^>]*>.*?<\/\1>|<(p|div|blockquote)[^>]* dir="auto"[^>]*>.*?<\/\3>|<h1 dir="auto">OPEC.*?<\/h1>|<(code|pre|textarea)[^>]*>.*?<\/\4>|<(p|div)[^>]* lang="(?:en|zh)"[^>]*>.*?<\/\5>|<blockquote.*?<\/blockquote>|“[^”]*”/gs

/** The visible and the spoken texts of a drawing. */
const spoken = / (?:aria-label|title|alt|placeholder)="([^"]*)"/g

/** The Latin words of a page that are no names. */
const latinIn = (page: Answer) => {
  const main = /<(main|body)[^>]*>(.*)<\/\1>/s.exec(page.text)?.[2] ?? ""
  const own = main.replaceAll(written, "")
  const labels = [...own.matchAll(spoken)].map(([, label = ""]) => ` ${label} `).join("")
  const drawn = own.replaceAll(/<\/?svg[^>]*>/g, " ")
  const words = textOf({ ...page, text: (drawn + labels).replaceAll(names, "") })
  return words.match(/[A-Za-z]{4,}( [A-Za-z]{2,})*/g) ?? []
}

/** The jobs that the status page lists. */
const jobs = [
  ...readFileSync(new URL("../../src/jobs/Jobs.ts", import.meta.url), "utf8").matchAll(
    /singletonCron\(\s*"([^"]+)"/g
  )
].map(([, job = ""]) => job)

layer(testServer({ environment: { AUSPEX_SITE: "cn" } }))("The site cn", (it) => {
  it.effect("The site cn speaks Chinese where its pages do, and English on demand", () =>
    Effect.gen(function* () {
      const world = yield* publicFixture
      yield* post("/api/v1/admin/archive", { token: testAdminToken, json: tournament({ slug: "cup" }) })
      yield* Skill.use((skill) => skill.countDue)
      for (const job of jobs) yield* JobRuns.use((runs) => runs.claim(job, Duration.seconds(15)))
      for (const path of oneIn(3, [
        "/",
        "/challenges",
        "/challenges?status=resolved",
        "/challenges?status=ended&type=macro",
        "/challenges?asset=GC",
        "/challenges?q=gold",
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
        `/embed/challenges/${world.open.id}`,
        `/embed/challenges/${world.settled.id}`,
        ...[
          world.open,
          world.settled,
          world.openMacro,
          world.pool,
          world.barrier,
          world.close,
          world.threshold
        ].map(({ id }) => `/challenges/${id}`),
        `/agents/${world.first}`,
        `/agents/${world.newcomer}`,
        `/agents/${world.first}/predictions`,
        "/compare",
        `/compare?a=${world.first}&b=${world.agents[1]}`,
        `/events/${world.event}`,
        `/events/${world.event}/comments/${world.thread}`,
        "/events/fed",
        "/archive/cup",
        "/how-it-works",
        "/scoring",
        "/methods",
        "/start",
        "/log",
        "/status",
        "/verify"
      ])) {
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
      // The switch keeps the filters, and links keep the language.
      const settled = yield* get("/challenges?status=resolved&lang=en")
      assert.include(settled.text, 'href="/challenges?status=resolved&amp;lang=zh"')
      assert.include(settled.text, 'href="/challenges?status=closed&amp;lang=en"')
      const agent = yield* get(`/agents/${world.first}?lang=en`)
      assert.include(agent.text, `href="/agents/${world.first}?lang=zh"`)
      assert.include(agent.text, `href="/compare?a=${world.first}&amp;lang=en"`)
      assert.notMatch(agent.text, /(picture\.png|badge\.svg|\/(atom|json))\?lang=/)
      // Browsers drop the query of a form's address, so the language is a field.
      const field = '<input type="hidden" name="lang" value="en"/>'
      assert.lengthOf((yield* get("/compare?lang=en")).text.split(field), 3)
      assert.notInclude((yield* get("/compare")).text, 'name="lang"')
      assert.strictEqual((yield* get("/?lang=fr")).status, 400)
    })
  )
})

const browser = { headers: { accept: "text/html" } }

layer(testServer({ environment: { AUSPEX_SITE: "cn" } }))("An error on the site cn", (it) => {
  it.effect("An error on the site cn is in Chinese unless English is asked for, detailed as the API's", () =>
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

  it.effect("An error on pages for one person is in the language that the browser last chose", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      assert.include((yield* visitor.open("/claim/unknown")).text, '<html lang="zh-CN">')
      yield* visitor.open("/sign-in?lang=en")
      assert.include((yield* visitor.open("/claim/unknown")).text, '<html lang="en">')
    })
  )
})

layer(testServer({ environment: { AUSPEX_SITE: "cn" } }))("A challenge on the site cn", (it) => {
  it.effect("A challenge on the site cn is in Chinese from its opening to its end, whatever its end", () =>
    Effect.gen(function* () {
      const world = yield* publicFixture
      const now = plus(world.end, "4 days")
      yield* moveTo(now)
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* Scoring.use((scoring) => scoring.void("macro", world.openMacro.id, "那一期没有公布。"))
      yield* Amendments.use((amendments) =>
        amendments.amend(world.pool.id, { actual_value: 3.2, reason: "更正。" })
      )
      const daily = yield* newChallenge({ deadline: plus(now, "1 hour") })
      const [first, second] = [yield* claimedAgent("First Light"), yield* claimedAgent("Tide")]
      const vector = { bullish: 0.5, neutral: 0.3, bearish: 0.2 }
      const answer = Effect.fnUntraced(function* (
        type: "directional" | "macro",
        challengeId: string,
        probabilities: Readonly<Record<string, number>>
      ) {
        const receivedAt = yield* DateTime.now
        return yield* submit({ agentId: first, challengeId, type, answer: { probabilities }, receivedAt })
      })
      yield* answer("directional", daily.id, vector)
      yield* predict(second, daily, { direction: "bearish", confidence: 0.5 })
      const rates = yield* (yield* Arenas).create("macro", {
        asset: "FOMC",
        period: "2026-03",
        reward_pool: 0,
        deadline: plus(now, "1 hour"),
        categories: [
          { name: "降", probability: 0.2 },
          { name: "平", probability: 0.6 },
          { name: "升", probability: 0.2 }
        ]
      })
      const event = yield* newPriceEvent({ kind: "threshold", level: 3200 })
      yield* answer("macro", rates.id, { 降: 0.1, 平: 0.7, 升: 0.2 })
      yield* completeLog
      const paths = [
        world.barrier,
        world.close,
        world.threshold,
        world.openMacro,
        world.pool,
        daily,
        rates,
        event
      ].map(({ id }) => `/challenges/${id}`)
      const check = Effect.forEach(paths, (path) =>
        Effect.map(get(path), (page) => {
          assert.strictEqual(page.status, 200, path)
          assert.deepStrictEqual(latinIn(page), [], path)
          return textOf(page)
        })
      )
      yield* check
      yield* moveTo(plus(now, "2 hours"))
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* completeLog
      const [barrier = "", close = "", , macro = "", pool = "", closed = "", ordered = ""] = yield* check
      assert.match(barrier, /结果 [▲▼] [是否]/)
      assert.match(close, /CRPS [\d.]+ [\d.]+ 分/)
      assert.include(macro, "作废：不对任何预测计分。")
      assert.include(pool, "已更正：管理员更正了判定依据。")
      assert.include(closed, "上涨 50 %、持平 30 %、下跌 20 %")
      assert.include(ordered, "平 70 %")
      // The criteria in the reader's language come first.
      assert.isBelow(closed.indexOf("相对开盘价"), closed.indexOf("Settles on the change"))
      yield* moveTo(plus(now, "100 days"))
      yield* Scoring.use((scoring) => scoring.settleDue)
      const [, , , , , cancelled = "", unpublished = "", undecided = ""] = yield* check
      assert.include(cancelled, "已取消：不对任何预测计分。 规定时间内未观测到收盘价。")
      assert.include(unpublished, "作废：不对任何预测计分。 规定时间内没有公布值记录。")
      assert.include(undecided, "作废：不对任何预测计分。 规定时间内，判定所需的 K 线不全或存在争议。")
      const english = textOf(yield* get(`/challenges/${daily.id}?lang=en`))
      assert.isBelow(english.indexOf("Settles on the change"), english.indexOf("相对开盘价"))
    })
  )
})

layer(testServer())("The site global", (it) => {
  it.effect("The site global speaks English, and Chinese on demand, also of an empty server", () =>
    Effect.gen(function* () {
      assert.include((yield* get("/")).text, '<html lang="en">')
      const page = yield* get("/?lang=zh")
      assert.include(page.text, '<html lang="zh-CN">')
      assert.include(textOf(page), allMessages.zh.nothingOpen)
      assert.include(page.text, 'class="wordmark" href="/?lang=zh"')
      assert.include((yield* get("/nothing", browser)).text, "<h1>Page not found</h1>")
      assert.include((yield* get("/nothing?lang=zh", browser)).text, "<h1>找不到页面</h1>")
      assert.include(textOf(yield* get("/log?lang=zh")), allMessages.zh.checks.log.nothing)
      // Links to pages that exist only in English do not carry the language.
      assert.include(page.text, 'href="/docs"')
      assert.include(page.text, 'href="/status?lang=zh"')
    })
  )
})

/** Owners' pages also have code, addresses, and names of keys and models. */
const ownNames =
  /<span lang="en">.*?<\/span>|https?:\/\/[\w./-]+|https|[\w-]+@example\.org|Stripe|Standard Webhooks|webhook(\.test)?|laptop|a test|swift-1|chat completions|messages|[a-z]+\.trash\.example/gs

/** The Latin words of a personal page, including its title and its texts for screen readers. */
const latinOfOwner = (page: Answer) => {
  const { text } = page
  const title = /<title>(.*) · Auspex<\/title>/.exec(text)?.[1] ?? ""
  const main = /<main.*<\/main>/s.exec(text)?.[0] ?? ""
  const unseen = [...main.matchAll(/(?:aria-label|title|placeholder)="([^"]*)"/g)].map(([, each]) => each)
  const all = text.replace("</main>", `<p>${[title, ...unseen].join(" ")}</p></main>`)
  return latinIn({ ...page, text: all.replaceAll(ownNames, "") })
}

const isChinese = (what: string, page: Answer, status = 200) => {
  assert.strictEqual(page.status, status, what)
  assert.include(page.text, '<html lang="zh-CN">', what)
  assert.deepStrictEqual(latinOfOwner(page), [], what)
}

const switchOf = ({ text }: Answer) =>
  /<footer.*<a href="([^"]*)" lang="[^"]*" hreflang="([^"]*)"\s*>/s.exec(text)?.slice(1)

const shopOfCn = testServer({
  environment: { AUSPEX_SITE: "cn", AUSPEX_DISPOSABLE_DOMAINS: "trash.example" },
  swap: selling.pipe(Layer.provide(stripeServer))
}).pipe(Layer.provideMerge(stripeServer))

/** An owner on a paid plan with credit, whose agent may spend. */
const busyOwner = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { agent, visitor } = yield* ownerVisitor({
    name: "First Light",
    model_provider: "openlab",
    model_name: "reasoner-2"
  })
  const id = OperatorId.make(yield* fundOwnerOf(agent.agentId, 70))
  yield* Operators.use((operators) => operators.changeOwner(id, { plan: "pro" }))
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'plan:' || ${id}, 'post', debit, credit, 1000000, 'credit of the pro plan for 2026-11', at
      from transfers where credit = ${`owner:${id}`} limit 1`
  yield* visitor.fill(yield* visitor.open("/account"), "spending")
  return { agentId: agent.agentId, id, visitor }
})

/** A call that the owner's keys made today. */
const calledBy = Effect.fnUntraced(function* (owner: OperatorId) {
  const sql = yield* SqlClient.SqlClient
  const now = DateTime.toDateUtc(yield* DateTime.now)
  yield* sql`
    insert into gateway_calls (id, agent_id, owner_id, key_id, request_id, model, provider, style, stream, prompt_tokens,
                               completion_tokens, cost, status, latency_ms, attempts, estimated, created_at)
    select uuidv7(), agent_id, owner_id, id, 'r', 'swift-1', 'north', 'openai', false, 10, 20, 1500000, 200, 5, 1, false, ${now}
      from gateway_keys where owner_id = ${owner}::uuid`
})

/** Every page of an owner, and the answers of its forms. */
const pagesOf = Effect.fnUntraced(function* (visitor: Visitor, agentId: string, id: OperatorId) {
  const sql = yield* SqlClient.SqlClient
  const keyFields = { agent_id: agentId, name: "laptop", lifetime: "", credit_limit: "12.5" }
  const keys = yield* visitor.open(apiKeysPage())
  const newKey = yield* visitor.fill(keys, "credit_limit", keyFields)
  yield* calledBy(id)
  const topUp = yield* visitor.open(topUpPage(agentId))
  const moved = yield* visitor.fill(topUp, "amount", { amount: "12.5" })
  const notices = yield* visitor.open(noticesPage)
  const hook = { url: "https://hooks.example.com/auspex", types: "prediction.settled" }
  const newHook = yield* visitor.fill(notices, "url", hook)
  const [, webhook = ""] = /href="([^"]*\/webhooks\/[^"]+)"/.exec(newHook.text) ?? []
  const act = Effect.fnUntraced(function* (action: string) {
    const form = formsOf(yield* visitor.open(webhook)).find((each) => each.action.endsWith(action))
    return yield* visitor.submit(form)
  })
  const test = formsOf(yield* visitor.open(webhook)).find((each) => each.action.endsWith("/test"))
  const tested = visitor.submit(test)
  yield* tested
  const other = yield* claimableByHttp({ name: "Newcomer" })
  yield* visitor.fill(yield* visitor.open(other.path), "pairing_code", { pairing_code: other.code })
  const shop = yield* visitor.open(creditPage())
  yield* visitor.fill(shop, "package")
  const bought = yield* sql<{ id: string }>`select id from purchases where owner_id = ${id}::uuid`
  const account = yield* visitor.open("/account")
  const rotate = formsOf(account).find(({ action }) => action.endsWith("/rotate-secret"))
  return [
    ["keys, before there are any", keys, 200],
    ["a new key", newKey, 200],
    ["keys", yield* visitor.open(apiKeysPage()), 200],
    ["their use", yield* visitor.open(apiKeysPage({ days: "90", model: "swift-1" })), 200],
    ["no use", yield* visitor.open(apiKeysPage({ days: "7", model: "large" })), 200],
    [
      "a key that may not be made",
      yield* visitor.fill(keys, "credit_limit", { ...keyFields, agent_id: other.agentId }),
      403
    ],
    ["a key without a name", yield* visitor.fill(keys, "credit_limit", { ...keyFields, name: "" }), 400],
    ["a wrong limit", yield* visitor.fill(keys, "credit_limit", { ...keyFields, credit_limit: "x" }), 400],
    ["a top-up", topUp, 200],
    ["what was moved", yield* visitor.open(moved.headers.get("location") ?? ""), 200],
    ["a top-up of nothing", yield* visitor.fill(topUp, "amount", { amount: "0" }), 400],
    [
      "one too large",
      yield* visitor.fill(yield* visitor.open(topUpPage(agentId)), "amount", { amount: "90" }),
      400
    ],
    ["one that nobody is sure of", yield* visitor.fill(topUp, "amount", { amount: "1", sure: "" }), 400],
    ["credit", shop, 200],
    ["a purchase", yield* visitor.open(creditPage(bought[0]?.id ?? "")), 200],
    ["notices", yield* visitor.open(noticesPage), 200],
    ["a webhook of nowhere", yield* visitor.fill(notices, "url", { ...hook, url: "http://10.0.0.1" }), 400],
    ["a webhook of nothing", yield* visitor.fill(notices, "url", { ...hook, types: "x" }), 400],
    ["a new webhook", newHook, 200],
    ["a webhook", yield* visitor.open(webhook), 200],
    ["its new secret", yield* act("/rotate"), 200],
    ["a test of one that is off", yield* Effect.andThen(act("/disable"), tested), 409],
    ["one that is off", yield* visitor.open(webhook), 200],
    ["the account", account, 200],
    ["a secret that nobody is sure of", yield* visitor.submit(rotate, { sure: "" }), 400],
    ["a new secret", yield* visitor.submit(rotate), 200]
  ] as const
})

const mailClaimIn = (links: ReadonlyArray<string>) =>
  links.find((path) => /^\/claim\/mail\/[^/]+$/.test(path)) ?? ""

layer(shopOfCn)("An owner of the site cn", (it) => {
  it.effect("An owner of the site cn reads every page and every form's answer in Chinese", () =>
    Effect.gen(function* () {
      const { agentId, id, visitor } = yield* busyOwner
      for (const [what, page, status] of yield* pagesOf(visitor, agentId, id)) isChinese(what, page, status)
      const credit = textOf(yield* visitor.open(creditPage()))
      assert.match(credit, /购买点数 500 点 售价 €5\.00 购买/)
      assert.include(credit, "专业版 2026 年 11 月赠点")

      yield* Registry.use((registry) => registry.amend(agentId, { suspended: true }))
      const path = new URL((yield* newMails).at(-1)?.unsubscribeUrl ?? "").pathname
      isChinese("a suspended agent", yield* visitor.open("/account"))
      isChinese("ending mails", yield* visitor.open(path))
      isChinese("ended mails", yield* post(path))
    })
  )

  it.effect("An owner of the site cn signs in and claims in Chinese, whatever comes of it", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp({ name: "First Light", operator_contact: "mailed@example.org" })
      const visitor = makeVisitor()
      const signIn = yield* visitor.open("/sign-in")
      isChinese("signing in", signIn)
      isChinese("no address", yield* visitor.fill(signIn, "email", { email: " " }), 400)
      isChinese("what is no address", yield* visitor.fill(signIn, "email", { email: "ada" }), 400)
      const trash = { email: "ada@mx.trash.example" }
      isChinese("a refused address", yield* visitor.fill(signIn, "email", trash), 400)
      isChinese("a mail", yield* visitor.fill(signIn, "email", { email: "ada@example.org" }), 202)
      const link = yield* signInLink("ada@example.org")
      const open = yield* visitor.open(link)
      isChinese("its link", open)
      const other = yield* claimableByHttp({ name: "Newcomer" })
      isChinese("a claim link", yield* visitor.open(agent.path))
      yield* visitor.submit(formsOf(open).find(({ action }) => action.includes("/sign-in/")))
      isChinese("a link that was used", yield* visitor.open(link), 410)
      const claim = yield* visitor.open(other.path)
      isChinese("the second step", claim)
      isChinese("no code", yield* visitor.fill(claim, "pairing_code", { pairing_code: "" }), 400)
      const wrong = { pairing_code: wrongCode(other.code) }
      isChinese("a wrong code", yield* visitor.fill(claim, "pairing_code", wrong), 400)
      yield* Effect.replicateEffect(visitor.fill(claim, "pairing_code", wrong), 4)
      isChinese("a locked link", yield* visitor.open(other.path), 403)

      const mailed = mailClaimIn(yield* linksMailedTo("mailed@example.org"))
      isChinese("a claim mail", yield* get(mailed))
      isChinese("whether it is another's", yield* get(`${mailed}/not-mine`))
      const claimed = yield* visitor.fill(yield* visitor.open(agent.path), "pairing_code", {
        pairing_code: agent.code
      })
      isChinese("what is claimed", yield* visitor.follow(claimed))
      isChinese("what another claimed", yield* get(agent.path))

      const third = yield* claimableByHttp({ name: "Newcomer", operator_contact: "else@example.org" })
      const declined = mailClaimIn(yield* linksMailedTo("else@example.org"))
      isChinese("declining", yield* post(`${declined}/not-mine`))
      isChinese("what was declined", yield* get(declined), 410)
      yield* TestClock.adjust("48 hours")
      isChinese("a link that ended", yield* get(third.path), 410)
    })
  )

  it.effect("An owner reads English once the browser asked for it, and has the switch in every footer", () =>
    Effect.gen(function* () {
      const { agent, visitor } = yield* ownerVisitor({ name: "First Light" })
      const paths = ["/account", topUpPage(agent.agentId), creditPage(), apiKeysPage(), noticesPage]
      for (const path of paths) {
        assert.deepStrictEqual(switchOf(yield* visitor.open(path)), [`${path}?lang=en`, "en"], path)
      }
      assert.include((yield* visitor.open("/account?lang=en")).text, '<html lang="en">')
      for (const path of paths) {
        const page = yield* visitor.open(path)
        assert.include(page.text, '<html lang="en">', path)
        assert.deepStrictEqual(switchOf(page), [`${path}?lang=zh`, "zh-CN"], path)
      }
      // The switch keeps the filters.
      const week = yield* visitor.open(apiKeysPage({ days: "7" }))
      assert.deepStrictEqual(switchOf(week), ["/account/api-keys?days=7&amp;lang=zh", "zh-CN"])
      isChinese("back again", yield* visitor.open("/account?lang=zh"))
      isChinese("from then on", yield* visitor.open(creditPage()))
    })
  )

  it.effect("An owner comes to the account in the language of the public page that leads there", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      const home = yield* visitor.open("/?lang=en")
      assert.include(home.text, 'href="/account?lang=en"')
      const sent = yield* visitor.open("/account?lang=en")
      assert.strictEqual(sent.headers.get("location"), "/sign-in")
      const signIn = yield* visitor.open("/sign-in")
      assert.include(signIn.text, '<html lang="en">')
      yield* visitor.follow(yield* signInFrom(visitor, "/sign-in", "english@example.org"))
      assert.include(textOf(yield* visitor.open("/account")), "No agents yet")
    })
  )
})

/** Search finds the words of every script, by whatever letters the locale of the database knows. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Search } from "../../src/services/Search.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { targetsNamedIn } from "../../src/services/domain/targetNames.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent, provisionalAgent } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { databaseOfCharacters } from "../support/database.ts"
import { newEvent } from "../support/discussion.ts"
import { get, testServer } from "../support/server.ts"
import { servicesOn } from "../support/services.ts"
import { textOf } from "../support/visitor.ts"

/** A headline, and words of it as people type them: whole, begun, of two characters, in another case. */
const headlines = [
  ["Золото растёт на фоне санкций", ["Золото", "золото", "санкц", "РАСТЁТ", "растет"]],
  ["Ο χρυσός ανεβαίνει σε νέα υψηλά", ["χρυσός", "ΧΡΥΣΟΣ", "χρυσος", "υψηλά"]],
  ["أسعار الذهب ترتفع مجددا", ["الذهب", "ترتفع", "ذهب"]],
  ["מחירי הזהב עולים שוב", ["הזהב", "זהב", "עולים"]],
  ["सोने की कीमत में तेज़ी", ["सोने", "कीमत", "तेज़ी"]],
  ["금값이 사상 최고치를 기록", ["금값", "최고치", "기록"]],
  ["中国人民银行连续增持黄金", ["黄金", "人民银行", "增持黄金", "银行"]],
  ["金価格が最高値を更新", ["金価格", "最高値", "更新"]],
  ["ราคาทองคำพุ่งสูงขึ้น", ["ทองคำ", "ทอง", "พุ่ง"]],
  ["Giá vàng tăng mạnh hôm nay", ["vàng", "VÀNG", "gia vang", "tăng mạnh"]],
  [
    "OPEC+ agrees to extend its production cuts",
    ["OPEC", "opec", "opec cuts", "extend, production", "cuts opec"]
  ]
] as const

const names = [
  ["黄金猎手", ["黄金猎手", "猎手", "黄金"]],
  ["北斗", ["北斗"]],
  ["وكيل التوقعات", ["وكيل", "التوقعات"]],
  ["Оракул Север", ["оракул", "СЕВЕР"]],
  ["Σίβυλλα", ["σίβυλλα", "σιβυλλα", "ΣΙΒΥΛΛΑ"]],
  ["DeepOracle", ["deeporacle", "oracle", "Deep"]]
] as const

for (const characters of ["C", "C.UTF-8"]) {
  const services = Layer.unwrap(Effect.map(Effect.orDie(databaseOfCharacters(characters)), servicesOn))
  layer(services)(`Search in a database with LC_CTYPE ${characters}`, (it) => {
    it.effect("finds every word that stands in a headline, in every script", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [found] = yield* sql`select datctype from pg_database where datname = current_database()`.values
        assert.strictEqual(found?.[0], characters)
        for (const [title] of headlines) yield* newEvent({ title })
        for (const [title, words] of headlines) {
          for (const word of words) {
            const { events } = yield* Search.use((search) => search.find(word))
            assert.include(
              events.map((event) => event.title),
              title,
              word
            )
          }
        }
        // A mark of SQL is a mark.
        for (const word of ["%%", "__", "100%", "о_о", "zzzz"]) {
          assert.deepStrictEqual((yield* Search.use((search) => search.find(word))).events, [], word)
        }
      })
    )

    it.effect("finds agents by their own names, and what has the word before what is only like it", () =>
      Effect.gen(function* () {
        for (const [name] of names) yield* provisionalAgent(name)
        const openai = yield* claimedAgent("Runner")
        for (const [name, words] of names) {
          for (const word of words) {
            const { agents } = yield* Search.use((search) => search.find(word))
            assert.include(
              agents.map((agent) => agent.name),
              name,
              word
            )
          }
        }
        const { agents } = yield* Search.use((search) => search.find("OPEC"))
        assert.notInclude(
          agents.map(({ agent_id }) => agent_id),
          AgentId.make(openai)
        )
        assert.deepStrictEqual(agents, [])
      })
    )
  })
}

/** What people type, and the asset that they mean. */
const meant = [
  ["gold", "GC"],
  ["GOLD", "GC"],
  ["gc", "GC"],
  ["黄金", "GC"],
  ["黄金价格", "GC"],
  ["xau", "GC"],
  ["sp500", "ES"],
  ["S&P 500", "ES"],
  ["s&p", "ES"],
  ["标普", "ES"],
  ["oil", "CL"],
  ["WTI", "CL"],
  ["原油", "CL"],
  ["比特币", "BTC"],
  ["bitcoin", "BTC"],
  ["bTc", "BTC"],
  ["$BTC", "BTC"],
  ["以太坊", "ETH"],
  ["etherium", "ETH"],
  ["inflation", "CPI"],
  ["通胀", "CPI"],
  ["cpi", "CPI"],
  ["core inflation", "CORE_CPI"],
  ["Fed", "FOMC"],
  ["Fed decision", "FOMC"],
  ["美联储", "FOMC"],
  ["利率", "FOMC"],
  ["jobs report", "NFP"],
  ["非农", "NFP"],
  ["unemployment", "UNRATE"],
  ["失业率", "UNRATE"],
  ["dollar", "DXY"],
  ["美元指数", "DXY"],
  ["will ethereum touch", "ETH"],
  ["Treasuries", "ZN"]
] as const

layer(testServer())("What people call an asset", (it) => {
  it.effect("finds it, in both languages, in any case, and among other words", () =>
    Effect.gen(function* () {
      for (const [text, key] of meant) {
        const { assets } = yield* Search.use((search) => search.find(text))
        assert.strictEqual(assets[0]?.key, key, text)
        assert.deepStrictEqual(yield* Search.use((search) => search.assets(text)), assets, text)
        const page = yield* get(`/search?q=${encodeURIComponent(text)}`)
        assert.strictEqual(page.status, 200, text)
        assert.include(page.text, `href="/assets/${key}"`, text)
      }
      const all = yield* Targets.use((targets) => targets.catalog)
      const targets = all.categories.flatMap((category) => category.targets)
      for (const text of ["OPEC", "the weather", "qqqqzzzz", "涨价", "hold", "es una pregunta sobre"]) {
        const { targets: named } = targetsNamedIn(text, targets)
        if (text !== "es una pregunta sobre") assert.deepStrictEqual(named, [], text)
      }
    })
  )
})

layer(testServer())("A question", (it) => {
  it.effect("is found by its words, also when it is settled, and by the asset that it is about", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const settled = yield* newChallenge({
        question: "Will gold shine on Tuesday?",
        deadline: plus(monday, "1 hour"),
        resolve_at: plus(monday, "2 hours")
      })
      yield* moveTo(plus(monday, "2 hours"))
      yield* importQuotes("GC", [[plus(monday, "2 hours"), 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      const barrier = yield* newPriceEvent({ kind: "barrier", level: 120 })
      const meeting = yield* newMacro({
        asset: "FOMC",
        period: "2026-09",
        question: "美联储九月会议会如何决定？"
      })
      for (const [text, id] of [
        ["will ethereum touch", barrier.id],
        ["Ethereum touch 120", barrier.id],
        ["以太坊", barrier.id],
        ["gold shine", settled.id],
        ["shine", settled.id],
        ["SHINE tuesday", settled.id],
        ["黄金", settled.id],
        ["gold", settled.id],
        ["九月会议", meeting.id],
        ["Fed decision", meeting.id]
      ] as const) {
        for (const lang of ["en", "zh"]) {
          const page = yield* get(`/search?q=${encodeURIComponent(text)}&lang=${lang}`)
          assert.include(page.text, `/challenges/${id}`, `${text} ${lang}`)
        }
      }
      assert.notInclude(textOf(yield* get("/search?q=shine%20ethereum")), "Will gold shine")
    })
  )
})

/** Search finds words of every script, even if the locale of the database does not know their letters. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { arrayParam } from "../../src/layers/postgres/sql.ts"
import { Search } from "../../src/services/Search.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { targetsNamedIn } from "../../src/services/domain/targetNames.ts"
import { Targets } from "../../src/services/Targets.ts"
import { agentsOf, claimedAgent, provisionalAgent } from "../support/agents.ts"
import { oneIn } from "../support/breadth.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { asOwner, databaseOfCharacters } from "../support/database.ts"
import { newEvent } from "../support/discussion.ts"
import { get, testServer } from "../support/server.ts"
import { gatewayOf, servicesOn } from "../support/services.ts"
import { withoutTriggers } from "../support/tampering.ts"
import { textOf } from "../support/visitor.ts"

/** A headline, and words of it as people type them: whole, beginnings, one or two characters, another case. */
const headlines = [
  ["Золото растёт на фоне санкций", ["Золото", "золото", "санкц", "РАСТЁТ", "растет"]],
  ["Ο χρυσός ανεβαίνει σε νέα υψηλά", ["χρυσός", "ΧΡΥΣΟΣ", "χρυσος", "υψηλά"]],
  ["أسعار الذهب ترتفع مجددا", ["الذهب", "ترتفع", "ذهب"]],
  ["מחירי הזהב עולים שוב", ["הזהב", "זהב", "עולים"]],
  ["सोने की कीमत में तेज़ी", ["सोने", "कीमत", "तेज़ी"]],
  ["সোনার দাম বাড়ছে", ["সোনার", "দাম", "বাড়ছে"]],
  ["தங்கம் விலை உயர்வு", ["தங்கம்", "விலை"]],
  ["ოქროს ფასი იზრდება", ["ოქროს", "ფასი"]],
  ["Ոսկու գինը բարձրանում է", ["ոսկու", "ԳԻՆԸ"]],
  ["የወርቅ ዋጋ ጨመረ", ["የወርቅ", "ዋጋ", "ወርቅ"]],
  ["Altın İstanbul'da rekor kırdı", ["altın", "istanbul", "İSTANBUL", "rekor"]],
  ["Goldpreis über Großhandel", ["GROSSHANDEL", "großhandel", "uber"]],
  ["Giá vàng tăng mạnh hôm nay", ["vàng", "VÀNG", "gia vang", "tăng mạnh"]],
  ["금값이 사상 최고치를 기록", ["금값", "최고치", "기록", "금", "값", "치"]],
  [
    "中国人民银行连续增持黄金",
    ["黄金", "人民银行", "增持黄金", "银行", "金", "银", "增", "金 银", "黄金 增"]
  ],
  ["臺灣央行調升利率", ["臺灣", "央行", "臺", "灣", "率", "央行 升"]],
  ["𠮷野家股價創新高", ["𠮷野家", "𠮷", "股"]],
  ["金価格が最高値を更新", ["金価格", "最高値", "更新", "が", "値"]],
  ["ゴールドとﾌﾟﾗﾁﾅが上昇", ["ゴールド", "プラチナ", "ﾌﾟﾗﾁﾅ", "ゴ", "と", "プ", "ﾌﾟ", "ｺﾞ"]],
  ["ㄐㄧㄣ 注音符號", ["ㄐㄧㄣ", "ㄐ", "音"]],
  ["ราคาทองคำพุ่งสูงขึ้น", ["ทองคำ", "ทอง", "พุ่ง", "ค", "ท"]],
  ["ລາຄາຄຳເພີ່ມຂຶ້ນ", ["ລາຄາ", "ຄຳ", "ພ"]],
  ["តម្លៃមាសឡើងខ្ពស់", ["មាស", "តម្លៃ", "ស"]],
  ["ရွှေဈေးတက်", ["ရွှေ", "ဈေး", "တ"]],
  ["གསེར་གྱི་རིན་གོང", ["གསེར", "རིན", "ག"]],
  ["Fed観測でNVIDIA株が急騰、ドル高", ["fed", "FED観測", "nvidia株", "株", "高", "nvidia 株", "ドル高 fed"]],
  ["삼성전자 HBM4 量産 시작", ["hbm4", "삼성", "量産", "量", "시", "hbm4 量"]],
  ["中国A股与ETF资金流向", ["a股", "A股与etf", "股", "资", "A 股"]],
  [
    "OPEC+ agrees to extend its production cuts",
    ["OPEC", "opec", "opec cuts", "extend, production", "cuts opec"]
  ]
] as const

const names = [
  ["黄金猎手", ["黄金猎手", "猎手", "黄金", "猎"]],
  ["北斗", ["北斗", "北", "斗"]],
  ["龙", ["龙"]],
  ["さくら予測", ["さくら", "予測", "予"]],
  ["가온", ["가온", "온"]],
  ["นักพยากรณ์", ["นักพยากรณ์", "พยากรณ์", "พ"]],
  ["GPT猫", ["gpt猫", "猫", "GPT"]],
  ["وكيل التوقعات", ["وكيل", "التوقعات"]],
  ["Оракул Север", ["оракул", "СЕВЕР"]],
  ["Σίβυλλα", ["σίβυλλα", "σιβυλλα", "ΣΙΒΥΛΛΑ"]],
  ["DeepOracle", ["deeporacle", "oracle", "Deep"]]
] as const

/** Other rows of each table, more than a search reads without an index. */
const manyOthers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* asOwner(sql`
    insert into events (id, title, published_at, spaces, assets, created_at, updated_at)
    select 'other-' || n, 'Headline', later, '{}', '{}', later, later
      from generate_series(1, 500) n, (select '2099-01-01'::timestamptz as later) t`)
})

const found = (section: string, name: string, word: string) =>
  Effect.gen(function* () {
    const page = yield* get(`/search?q=${encodeURIComponent(word)}`)
    assert.strictEqual(page.status, 200, word)
    const [, after = ""] = page.text.split(`<section aria-labelledby="${section}">`)
    assert.include(textOf({ ...page, text: after.split("</section>")[0] ?? "" }), name, word)
  })

for (const characters of oneIn(2, ["C", "C.UTF-8"])) {
  const services = Layer.unwrap(
    Effect.map(Effect.orDie(databaseOfCharacters(characters)), (url) =>
      gatewayOf().pipe(Layer.provideMerge(servicesOn(url)))
    )
  )
  layer(testServer({ services }))(`Search in a database with LC_CTYPE ${characters}`, (it) => {
    it.effect("Search finds every word that stands in a headline, in every script, however old it is", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [letters] = yield* sql`select datctype from pg_database where datname = current_database()`
          .values
        assert.strictEqual(letters?.[0], characters)
        for (const [title] of headlines) yield* newEvent({ title })
        yield* manyOthers
        for (const [title, words] of headlines) {
          for (const word of words) yield* found("events", title, word)
        }
        // SQL's wildcards have no meaning in a search, and marks alone are no words.
        for (const word of ["%%", "__", "100%", "о_о", "、。", "🔥🔥", "zzzz", "鑫", "鑫 金", "x y"]) {
          assert.deepStrictEqual((yield* Search.use((search) => search.find(word))).events, [], word)
        }
      })
    )

    it.effect("Search finds agents by their own names, exact words before similar ones", () =>
      Effect.gen(function* () {
        for (const [name] of names) yield* provisionalAgent(name)
        const openai = yield* claimedAgent("Runner")
        for (const [name, words] of names) {
          for (const word of words) yield* found("agents", name, word)
        }
        const { agents } = yield* Search.use((search) => search.find("OPEC"))
        assert.notInclude(
          agents.map(({ agent_id }) => agent_id),
          AgentId.make(openai)
        )
        assert.deepStrictEqual(agents, [])
      })
    )

    it.effect(
      "Search finds the agent that holds a name first, behind any number of others that have its words",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const ids = (yield* agentsOf(Array.from({ length: 450 }, () => null))).toSorted()
          const [last = ""] = ids.slice(-1)
          yield* withoutTriggers(
            ["agents"],
            sql`
            update agents set name = case when id = ${last}::uuid then 'Zeta' else 'Zeta ' || substr(id::text, 25) end,
                              held_name = case when id = ${last}::uuid then name_key('Zeta') end
             where id = any(${arrayParam("uuid", ids)})`
          )
          const { agents } = yield* Search.use((search) => search.find("zeta"))
          assert.strictEqual(agents[0]?.agent_id, AgentId.make(last))
          assert.lengthOf(agents, 20)
        })
    )

    it.effect("Search takes one letter of a script without case as a word, and no other character", () =>
      Effect.gen(function* () {
        for (const [word, status] of [
          ["金", 200],
          ["𠮷", 200],
          ["々", 200],
          ["〇", 200],
          ["ね", 200],
          ["ﾈ", 200],
          ["금", 200],
          ["ท", 200],
          ["ש", 200],
          ["a", 400],
          ["Я", 400],
          ["ß", 400],
          ["Ａ", 400],
          ["5", 400],
          ["%", 400],
          ["。", 400],
          ["🔥", 400]
        ] as const) {
          for (const path of ["/search", "/challenges"]) {
            const page = yield* get(`${path}?q=${encodeURIComponent(word)}`)
            assert.strictEqual(page.status, status, `${path} ${word}`)
            // The browser does not hold back a short text.
            assert.notMatch(page.text, /<input[^>]*name="q"[^>]*minlength/, path)
            if (status === 400)
              assert.include(textOf(page), "Expected 2 to 100 characters, or one letter", word)
          }
        }
      })
    )
  })
}

/** Texts that people type, and the asset that each means. */
const meant = [
  ["gold", "GC"],
  ["GOLD", "GC"],
  ["gc", "GC"],
  ["黄金", "GC"],
  ["黄金价格", "GC"],
  ["金", "GC"],
  ["xau", "GC"],
  ["sp500", "ES"],
  ["S&P 500", "ES"],
  ["s&p", "ES"],
  ["标普", "ES"],
  ["oil", "CL"],
  ["WTI", "CL"],
  ["原油", "CL"],
  ["油", "CL"],
  ["铜", "HG"],
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

layer(testServer())("A name that people use for an asset", (it) => {
  it.effect("A name that people use for an asset finds it, in both languages and any case", () =>
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
  it.effect("A question is found by its words and its asset, also when it is settled", () =>
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
        ["月", meeting.id],
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

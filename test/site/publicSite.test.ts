/** Public pages: their content, their readers, their size, and the escaping of texts in them. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { comment, newEvent, reply } from "../support/discussion.ts"
import { claimedAgent } from "../support/agents.ts"
import { asOwner } from "../support/database.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict
} from "../support/challenges.ts"
import { liveScript } from "../../src/http/site/assets/scripts.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { keptPosts } from "../support/hostilePosts.ts"
import { hostileNames, maxSummary, publicFixture } from "../support/publicFixture.ts"
import { get, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { settledFixture } from "../support/settledFixture.ts"
import { textOf, unescaped } from "../support/visitor.ts"

const linksOf = ({ text }: Answer): ReadonlyArray<string> =>
  [...text.matchAll(/ href="([^"]*)"/g)].map(([, link = ""]) => unescaped(link))

const chosenIn = ({ text }: Answer): ReadonlyArray<string> =>
  [...text.matchAll(/aria-current="page">([^<]*)</g)].map(([, name = ""]) => name)

/** The texts of the drawings for screen readers. */
const drawingsOf = ({ text }: Answer): ReadonlyArray<string> =>
  [...text.matchAll(/role="img" aria-label="([^"]*)"/g)].map(([, label = ""]) => unescaped(label))

layer(testServer())("A site where nothing has happened yet", (it) => {
  it.effect("Every page of a site where nothing has happened yet says so", () =>
    Effect.gen(function* () {
      yield* freshWeek
      for (const [path, sentence] of [
        ["/", "Nothing is open at the moment."],
        ["/", "Nothing is scored yet."],
        ["/", "No news yet."],
        ["/leaderboard", "Nothing is scored here yet."],
        ["/leaderboard?category=crypto", "Nothing is scored here yet."],
        ["/challenges", "Nothing is open at the moment."],
        ["/challenges?status=closed", "Nothing is awaiting settlement."],
        ["/challenges?status=resolved", "Nothing is settled yet."],
        ["/challenges?status=ended", "No void or cancelled challenges."],
        ["/events", "There are no events here yet."],
        ["/archive", "There are none."]
      ] as const) {
        const page = yield* get(path)
        assert.strictEqual(page.status, 200, path)
        assert.include(textOf(page), sentence, path)
      }
      const agent = yield* claimedAgent("Ada")
      assert.include(textOf(yield* get(`/agents/${agent}`)), "None of its predictions is settled yet.")
    })
  )
})

layer(testServer({ environment: { AUSPEX_RANK_MIN_COUNT: "2" } }))("The leaderboard for people", (it) => {
  it.effect("The leaderboard folds agents with few predictions below the others, without a rank", () =>
    Effect.gen(function* () {
      const { grace } = yield* settledFixture(["Ada", "Grace"])
      const deadline = plus(yield* DateTime.now, "1 hour")
      yield* predict(grace, yield* newChallenge({ deadline }), { direction: "bearish", confidence: 0.5 })
      yield* moveTo(plus(deadline, "2 minutes"))
      yield* importQuotes("GC", [[deadline, 102]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      const shown = textOf(yield* get("/leaderboard?order=average"))
      assert.match(
        shown,
        /1 Grace [0-9a-f]{8} its owner has \d+ agents 31\.3 .* Not ranked yet Ranked agents have a verified owner and at least 2 scored predictions\. .* – Ada [0-9a-f]{8} 1 of 2 its owner has \d+ agents 93\.8/
      )
      assert.include(
        shown,
        "Agents with fewer than 2 scored predictions, and those that nobody has claimed, are not ranked yet"
      )
    })
  )
})

layer(testServer({ environment: { AUSPEX_RANK_MIN_COUNT: "1", AUSPEX_RANK_MIN_DAYS: "1" } }))(
  "A board of skill for people",
  (it) => {
    it.effect("The leaderboard puts an agent that says what it believes above one that goes all in", () =>
      Effect.gen(function* () {
        yield* freshWeek
        const [honest, allIn] = [yield* claimedAgent("Honest"), yield* claimedAgent("All-in")]
        // Both agents answer bullish with confidence 0.6, and three of five questions come out so.
        for (let day = 0; day < 12; day++) {
          const now = yield* DateTime.now
          for (const [index, asset] of ["GC", "ES", "HG", "NG", "DXY"].entries()) {
            const deadline = plus(now, "1 hour")
            const challenge = yield* newChallenge({ asset, deadline })
            yield* predict(honest, challenge, { confidence: 0.2 })
            yield* predict(allIn, challenge, { confidence: 1 })
            yield* importQuotes(asset, [[deadline, (day + index) % 5 < 3 ? 102 : 98]])
          }
          yield* moveTo(plus(now, "61 minutes"))
          yield* Scoring.use((scoring) => scoring.settleDue)
          yield* moveTo(plus(now, "1 day"))
        }
        yield* moveTo(plus(yield* DateTime.now, "1 hour"))
        yield* Skill.use((skill) => skill.countDue)
        const bySkill = textOf(yield* get("/leaderboard"))
        assert.match(bySkill, /1 Honest .* \+0\.160 .* 2 All-in .* −0\.200 /)
        assert.match(bySkill, /All-in [0-9a-f]{8} .*Nothing says that it beats the random walk\. −0\.200/)
        assert.match(
          bySkill,
          /Honest [0-9a-f]{8} .*Ahead of the random walk, and cannot be told from luck yet: about \d+ more days/
        )
        const byAverage = textOf(yield* get("/leaderboard?order=average"))
        assert.match(byAverage, /1 All-in .* 60\.0 .* 2 Honest .* 52\.0/)
        assert.include(byAverage, "Averages reward luck, boldness and many tries")
      })
    )
  }
)

layer(testServer({ environment: { AUSPEX_RANK_MIN_COUNT: "1", AUSPEX_RANK_MIN_DAYS: "1" } }))(
  "The public site",
  (it) => {
    it.effect("The first page begins with open questions, leaders, and the day's events", () =>
      Effect.gen(function* () {
        yield* settledFixture()
        const now = yield* DateTime.now
        yield* newChallenge({ question: "Will gold shine?", deadline: plus(now, { hours: 50, minutes: 10 }) })
        yield* newMacro({ question: "What will CPI be?", deadline: plus(now, "5 minutes") })
        yield* newEvent({ title: "OPEC+ meets" })
        const home = yield* get("/")
        const shown = textOf(home)
        assert.match(
          shown,
          /Consumer price index, March 2026 closes in 5 minutes .* Gold .*: up, down or flat\? .* closes in 2 days 2 hours/
        )
        assert.match(
          shown,
          /1 Ada [0-9a-f]{8} its owner has \d+ agents 93\.8 no interval yet 2 Grace [0-9a-f]{8} its owner has \d+ agents 37\.5/
        )
        assert.include(shown, "OPEC+ meets")
        assert.match(shown, /Gold .*: up, down or flat\? ▲ Up [+]\d+\.\d\d % Settled/)
        assert.match(home.text, /<time class="countdown" datetime="[^"]+Z" title="[^"]+ UTC"/)
        for (const link of ["/start", "/docs", "/verify", "/leaderboard", "/api/v1/events"]) {
          assert.include(linksOf(home), link)
        }
      })
    )

    it.effect("The public site leads to every page by its menu, and shows where one is", () =>
      Effect.gen(function* () {
        for (const [path, name] of [
          ["/challenges", "Challenges"],
          ["/leaderboard", "Leaderboard"],
          ["/events", "Events"],
          ["/archive", "Archive"]
        ] as const) {
          assert.include(linksOf(yield* get("/")), path)
          assert.include(chosenIn(yield* get(path)), name)
        }
        assert.deepStrictEqual(chosenIn(yield* get("/")), [])
      })
    )

    it.effect("The public site has a leaderboard for each category, and refuses what is none", () =>
      Effect.gen(function* () {
        yield* settledFixture(["Edsger", "Barbara"])
        const gold = yield* get("/leaderboard?category=commodities&order=average")
        assert.deepStrictEqual(chosenIn(gold), ["Leaderboard", "Average score", "Commodities"])
        assert.match(
          textOf(gold),
          /Edsger [0-9a-f]{8} its owner has \d+ agents 93\.8 no interval yet 100\.0 % 93\.8 1/
        )
        assert.include(linksOf(gold), "/api/v1/eval/leaderboard?category=commodities&order=average")
        assert.notInclude(textOf(yield* get("/leaderboard?category=crypto")), "Edsger")
        for (const path of [
          "/leaderboard?category=x",
          "/leaderboard?order=x",
          "/leaderboard?horizon=x",
          "/challenges?status=x",
          "/challenges?type=x",
          "/events?space=x"
        ]) {
          const page = yield* get(path)
          assert.strictEqual(page.status, 400, path)
          assert.include(textOf(page), "Expected one of ")
        }
      })
    )

    it.effect("The public site shows skill once a day is over, each row's proof, and a comparison", () =>
      Effect.gen(function* () {
        const { ada, grace } = yield* settledFixture(["Alonzo", "Haskell"])
        yield* moveTo(plus(yield* DateTime.now, "1 day"))
        yield* Skill.use((skill) => skill.countDue)
        const board = yield* get("/leaderboard?category=commodities")
        assert.deepStrictEqual(chosenIn(board), [
          "Leaderboard",
          "Skill",
          "Commodities",
          "Any time",
          "All time"
        ])
        assert.match(
          textOf(board),
          /Alonzo [0-9a-f]{8} its owner has \d+ agents On this board: .*\+\d\.\d{3} \d\.\d\d \(−1\.00 to 1\.00\)/
        )
        assert.match(textOf(board), /Haskell [0-9a-f]{8} .*Nothing says that it beats the random walk\./)
        assert.include(linksOf(board), "/methods")
        assert.include(textOf(yield* get("/leaderboard?horizon=1w")), "Nothing is scored here yet.")
        yield* asOwner(
          SqlClient.SqlClient.use(
            (sql) => sql`
            update agents set model_provider = 'Acme & Sons', model_name = 'one' where id = ${grace}::uuid`
          )
        )
        assert.include(linksOf(yield* get("/leaderboard")), "/leaderboard?provider=Acme+%26+Sons")
        const ofProvider = yield* get("/leaderboard?provider=acme+%26+sons")
        assert.match(textOf(ofProvider), /All acme & sons .*1 Haskell/)
        assert.notInclude(textOf(ofProvider), "Alonzo")
        assert.include(linksOf(ofProvider), "/api/v1/eval/leaderboard?order=skill&provider=acme+%26+sons")
        assert.include(textOf(yield* get("/leaderboard?provider=nobody")), "Nothing is scored here yet.")
        assert.strictEqual((yield* get(`/leaderboard?provider=${"x".repeat(201)}`)).status, 400)
        assert.match(textOf(yield* get("/")), /Leaders .*Alonzo/)
        const agent = yield* get(`/agents/${ada}`)
        assert.match(textOf(agent), /Skill .* E-value .* after 1 day/)
        assert.include(drawingsOf(agent)[0] ?? "", " between −1.00 and 1.00")
        const compared = textOf(yield* get(`/compare?a=${ada}&b=${grace}`))
        assert.include(compared, "Which of the two is better cannot be told yet.")
        assert.include(textOf(yield* get("/compare")), "Compare two agents")
        assert.strictEqual((yield* get(`/compare?a=${ada}&b=${ada}`)).status, 400)
        assert.include(textOf(yield* get("/methods")), "reflection principle")
      })
    )

    it.effect("The public site keeps a list's filters from page to page", () =>
      Effect.gen(function* () {
        for (let made = 0; made < 51; made++) {
          yield* newEvent({ title: `Filtered ${made}.`, spaces: ["technology"] })
        }
        const first = yield* get("/events?space=technology")
        const next = linksOf(first).find((link) => link.includes("cursor=")) ?? ""
        const second = yield* get(next)
        assert.strictEqual(second.status, 200, next)
        assert.deepStrictEqual(chosenIn(second), ["Events", "Technology"])
        const titles = new Set((textOf(first) + textOf(second)).match(/Filtered \d+\./g))
        assert.strictEqual(titles.size, 51)
      })
    )

    it.effect("The public site shows the events of an asset, also with a space, and no others", () =>
      Effect.gen(function* () {
        for (const [title, assets, spaces] of [
          ["Gold falls.", ["GC"], ["finance"]],
          ["Gold is taxed.", ["GC"], ["policy"]],
          ["Gas rises.", ["NG"], ["finance"]]
        ] as const) {
          yield* newEvent({ title, assets, spaces })
        }
        const shown = (page: Answer) =>
          textOf(page)
            .match(/Gold falls|Gold is taxed|Gas rises/g)
            ?.toSorted() ?? []
        const gold = yield* get("/events?asset=GC")
        assert.deepStrictEqual(shown(gold), ["Gold falls", "Gold is taxed"])
        assert.includeMembers(
          [...linksOf(gold)],
          ["/events?asset=GC&space=policy", "/api/v1/events?asset=GC", "/events"]
        )
        assert.deepStrictEqual(shown(yield* get("/events?asset=GC&space=policy")), ["Gold is taxed"])
        assert.deepStrictEqual(shown(yield* get("/events?asset=nothing")), [])
        for (const asset of ["x".repeat(21), "%00", "%E2%80%AEx"]) {
          assert.strictEqual((yield* get(`/events?asset=${asset}`)).status, 400, asset)
        }
      })
    )

    it.effect("The page of a question draws the price with what decides it, and closed answers", () =>
      Effect.gen(function* () {
        const world = yield* publicFixture
        const settled = yield* get(`/challenges/${world.settled.id}`)
        const [price = "", answers = ""] = drawingsOf(settled)
        assert.match(
          price,
          /^The price of GC goes from \d.* to \d.*\. The open price is 2547\.91, the dead zone ± 0\.3 % around it\. Closing price: 2547\.49\.$/
        )
        assert.strictEqual(answers, "9 answers: 2 Down, 0 Flat, 7 Up.")
        assert.match(textOf(settled), /The numbers Confidence Down Flat Up 0 to 0\.2 1 0 3 0\.2 to 0\.4 /)

        const open = yield* get(`/challenges/${world.open.id}`)
        assert.lengthOf(drawingsOf(open), 1)
        assert.match(drawingsOf(open)[0] ?? "", /^The price of GC .* ± 1 % around it\.$/)
        assert.include(textOf(open), "Closes in 3 hours")
        // The card of a question shows the same counts as its page.
        assert.include(textOf(open), "1: 1 up, 0 down, 0 flat")
        assert.include(
          textOf(yield* get("/challenges")),
          "▲ Up 1 ▼ Down 0 ■ Flat 0 closes in 3 hours 1 prediction"
        )
        assert.include(linksOf(open), "/events/opec")

        const pool = yield* get(`/challenges/${world.pool.id}`)
        assert.deepStrictEqual(drawingsOf(pool), [
          "10 forecasts between 2.9 % and 3.24 %. It came to 3.15 %.",
          "10 forecasts with the ranges that they hold for 90 % likely. 8 of them hold what came, 3.15 %."
        ])
        assert.deepStrictEqual(drawingsOf(yield* get(`/challenges/${world.openMacro.id}`)), [])
        const barrier = drawingsOf(yield* get(`/challenges/${world.barrier.id}`))
        assert.match(barrier[0] ?? "", /The level is 3170\.$/)
        assert.strictEqual(barrier[1], "5 answers: 2 No, 3 Yes.")

        const agent = yield* get(`/agents/${world.first}`)
        assert.lengthOf(drawingsOf(agent), 4)
        assert.match(
          drawingsOf(agent)[0] ?? "",
          /^The average score of 11 predictions on 11 days is 49\.8 of 100; without skill it is 50\.$/
        )
        assert.include(textOf(agent), "openlab reasoner-2 large")
        assert.include(textOf(agent), "Reads the tape.")
        assert.deepStrictEqual(drawingsOf(yield* get(`/agents/${world.newcomer}`)).length, 2)

        // Every page is under 100 KB.
        for (const path of [
          "/",
          "/leaderboard",
          "/challenges?status=resolved",
          `/challenges/${world.settled.id}`,
          `/challenges/${world.pool.id}`,
          `/agents/${world.first}`,
          `/events/${world.event}`
        ]) {
          const { text } = yield* get(path)
          assert.isBelow(Buffer.byteLength(text), 100_000, path)
        }
      })
    )

    it.effect("The page of an event shows its questions and what agents say, and leads to all replies", () =>
      Effect.gen(function* () {
        yield* freshWeek
        const event = yield* newEvent({
          title: "Rates <rise>",
          summary: maxSummary,
          url: "https://example.org/rates",
          source: "Example Wire",
          spaces: ["policy"],
          assets: ["ZN"]
        })
        const path = `/events/${event.event_id}`
        assert.include(textOf(yield* get(path)), "No agent has said anything yet.")
        const [ada, grace] = [yield* claimedAgent("Ada"), yield* claimedAgent("Grace")]
        yield* newChallenge({ question: "Will notes fall?", event_id: event.event_id })
        const first = yield* comment(ada, event, { content: "As expected.\n\nMostly." })
        for (const place of [1, 2, 3, 4]) yield* reply(grace, first, `Reply ${place}`)
        yield* comment(grace, event, { content: "Not so." })

        const page = yield* get(path)
        const shown = textOf(page)
        assert.include(shown, "Rates <rise>")
        assert.match(
          shown,
          /Example Wire Policy ZN The committee met .* The rest of the summary .*Read it at its source/
        )
        assert.match(shown, /: up, down or flat\? .*closes in 1 hour/)
        assert.match(
          shown,
          /6 comments and replies, the newest first\. .* Not so\. .* As expected\. Mostly\. .* Reply 1 /
        )
        assert.include(shown, "Reply 3")
        assert.notInclude(shown, "Reply 4")
        assert.match(
          page.text,
          /href="https:\/\/example\.org\/rates" rel="nofollow noopener noreferrer external"/
        )
        assert.include(linksOf(page), `/agents/${ada}`)
        assert.include(linksOf(page), `/api/v1/public/comments/${event.event_id}`)

        const replies = `${path}/comments/${first.comment_id}`
        assert.include(linksOf(page), replies)
        assert.match(textOf(yield* get(replies)), /Reply 1 .* Reply 2 .* Reply 3 .* Reply 4 /)
        for (const unknown of [
          "/events/nothing",
          "/events/%00",
          `${path}/comments/x`,
          "/events/x/comments/y"
        ]) {
          assert.strictEqual((yield* get(unknown)).status, 404, unknown)
        }
        assert.strictEqual((yield* get(`${path}?cursor=x`)).status, 400)
      })
    )

    it.effect("The public site shows hostile texts as text, wherever they stand", () =>
      Effect.gen(function* () {
        yield* freshWeek
        const start = (text: string, length: number) => [...text].slice(0, length).join("").trim()
        const names = keptPosts.map((text) => start(text.replaceAll(/\s+/g, " "), 60))
        const event = yield* newEvent({ summary: start(keptPosts.join("\n"), 9000) })
        const challenge = yield* newChallenge({ question: keptPosts[0] ?? "", event_id: event.event_id })
        const posts: Array<string> = []
        for (const [place, content] of keptPosts.entries()) {
          const agent = yield* claimedAgent(names[place] ?? "agent")
          const stored = yield* comment(agent, event, { content })
          posts.push(stored.content)
          yield* predict(agent, challenge, { reasoning: start(content, 4000) })
        }
        yield* newEvent({ title: keptPosts[2] ?? "", source: keptPosts[4] ?? "" })
        yield* moveTo(plus(yield* DateTime.now, "2 hours"))

        const pages = [yield* get(`/events/${event.event_id}`)]
        const next = linksOf(pages[0] ?? (yield* get("/"))).find((link) => link.includes("cursor="))
        pages.push(yield* get(next ?? "none"))
        const comments = pages.flatMap(({ text }) =>
          [...text.matchAll(/<div class="said">(.*?)<\/div>\s*<\/li>/gs)].map(([, markup = ""]) => markup)
        )
        assert.lengthOf(comments, posts.length)
        for (const [index, markup] of comments.toReversed().entries()) {
          const post = posts[index] ?? ""
          // Markdown makes these elements, and links to web addresses.
          const made = [...markup.matchAll(/<(\/?[a-z0-9]+)([^>]*)>/g)]
          for (const [, name = "", attributes = ""] of made) {
            assert.match(
              name,
              /^\/?(p|em|strong|code|pre|ul|ol|li|blockquote|br|div|a|details|summary|hr)$/,
              post
            )
            assert.match(
              attributes,
              /^( ?\/| rel="nofollow ugc noopener noreferrer" href="(https?|mailto):[^"]*"| class="[a-z -]+"| dir="auto"| start="\d+")*$/,
              post
            )
          }
          if (/[*_`&<>[\]\\#]/.test(post)) continue
          const shown = unescaped(markup.replaceAll(/<summary.*?<\/summary>|<[^>]+>/gs, ""))
          assert.strictEqual(shown.replaceAll(/\s/g, ""), post.replaceAll(/\s/g, ""))
        }
        for (const path of ["/", "/events", `/challenges/${challenge.id}`, "/challenges?status=closed"]) {
          pages.push(yield* get(path))
        }
        for (const page of pages) {
          const text = page.text
            .replace(`<script type="module" src="${liveScript}"></script>`, "")
            .replaceAll(/<form class="search".*?<\/form>/gs, "")
            .replace(/<script type="application\/ld\+json">[^<]*<\/script>/, "")
          assert.notMatch(text, /<script|<style|<iframe|<svg[ /]*on|<img|<base|<form|<plaintext|<math/i)
          assert.notMatch(text.replaceAll(/="[^"]*"/g, '=""'), /<[^>]*\son[a-z]+\s*=/i)
          assert.notMatch(text, /(href|src)="(javascript|data):/i)
        }
      })
    )

    it.effect("The public site keeps names of any script apart from what stands beside them", () =>
      Effect.gen(function* () {
        yield* settledFixture([hostileNames.rightToLeft, hostileNames.emoji])
        const { text } = yield* get("/leaderboard?order=average")
        for (const name of [hostileNames.rightToLeft, hostileNames.emoji]) {
          assert.include(text, `<bdi>${name}</bdi>`)
        }
      })
    )
  }
)

layer(testServer({ environment: { AUSPEX_PUBLIC_CACHE: "2 seconds" } }))("Pages for everybody", (it) => {
  it.effect("Pages for everybody are made once for all who ask meanwhile, and known by a tag", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const before = yield* get("/events")
      assert.strictEqual(before.headers.get("cache-control"), "public, max-age=2")
      assert.deepStrictEqual(before.headers.getSetCookie(), [])
      yield* newEvent({ title: "OPEC+ meets" })
      const same = yield* get("/events", { headers: { cookie: "session=x" } })
      assert.strictEqual(same.text, before.text)
      const etag = before.headers.get("etag") ?? ""
      const known = yield* get("/events", { headers: { "if-none-match": etag } })
      assert.deepStrictEqual([known.status, known.text], [304, ""])
      assert.strictEqual(
        known.headers.get("content-security-policy"),
        before.headers.get("content-security-policy")
      )
      yield* TestClock.adjust("3 seconds")
      const after = yield* get("/events", { headers: { "if-none-match": etag } })
      assert.include(textOf(after), "OPEC+ meets")
    })
  )

  it.effect.each(["/verify", "/challenges", "/leaderboard"])(
    "An answer that %s is known already has the headers of the page, whose scripts run by them",
    (path) =>
      Effect.gen(function* () {
        const before = yield* get(path)
        assert.strictEqual(before.status, 200)
        const known = yield* get(path, { headers: { "if-none-match": before.headers.get("etag") ?? "" } })
        assert.strictEqual(known.status, 304)
        const own = new Set([
          "content-type",
          "content-length",
          "content-encoding",
          "date",
          "x-request-id",
          "ratelimit"
        ])
        const headersOf = ({ headers }: typeof before) => [...headers].filter(([name]) => !own.has(name))
        assert.deepStrictEqual(headersOf(known), headersOf(before))
      })
  )

  it.effect("Missing pages are not kept, and what is added to an address makes no other page", () =>
    Effect.gen(function* () {
      yield* freshWeek
      assert.strictEqual((yield* get("/events/soon")).headers.get("cache-control"), "no-store")
      const { event_id } = yield* newEvent()
      assert.strictEqual((yield* get(`/events/${event_id}`)).status, 200)
      yield* get("/events?utm_source=1")
      yield* newEvent({ title: "Later" })
      for (const path of ["/events?utm_source=1", "/events", "/events?utm_source=2&fbclid=x"]) {
        assert.notInclude(textOf(yield* get(path)), "Later")
      }
      yield* TestClock.adjust("3 seconds")
      assert.include(textOf(yield* get("/events?utm_source=1")), "Later")
    })
  )

  it.effect("Pages for everybody are the same under parameters of others, which only the API refuses", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { event_id } = yield* newEvent()
      const challenge = yield* newChallenge()
      for (const path of [
        "/",
        "/leaderboard",
        "/challenges",
        "/events",
        `/events/${event_id}`,
        `/challenges/${challenge.id}`,
        `/embed/challenges/${challenge.id}`,
        "/assets/GC",
        "/methods",
        "/start",
        "/verify",
        "/log",
        "/feeds/events/atom",
        "/robots.txt",
        "/sitemap.xml"
      ]) {
        for (const added of [
          "ref=hn",
          "s=20",
          "mc_cid=x&mc_eid=y",
          "a.b[]=%F0%9F%94%AD",
          "x&x",
          "__proto__=1"
        ]) {
          const { status, text } = yield* get(`${path}?${added}`)
          assert.strictEqual(status, 200, `${path}?${added}`)
          assert.notInclude(text, "mc_cid", path)
        }
      }
      const canonical = (text: string) => /<link rel="canonical" href="([^"]*)"/.exec(text)?.[1]
      assert.strictEqual(
        canonical((yield* get("/leaderboard?mc_cid=x")).text),
        canonical((yield* get("/leaderboard")).text)
      )
      // A known parameter is still read, and rejected if it is wrong, whatever other parameters are sent.
      for (const path of [
        "/?lang=xx&ref=hn",
        "/leaderboard?ref=hn&category=nothing",
        "/challenges?status=maybe&ref=hn",
        "/events?asset=GC&asset=NG&ref=hn"
      ]) {
        assert.strictEqual((yield* get(path)).status, 400, path)
      }
      assert.include(textOf(yield* get("/leaderboard?ref=hn&category=nothing")), "Expected one of")
      assert.strictEqual((yield* get("/api/v1/eval/leaderboard?ref=hn")).status, 400)
    })
  )
})

/** The page of an event shows the rank and the public prediction of a comment's author; an agent's own page has its comments. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import {
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  predict
} from "../support/challenges.ts"
import { comment, like, newEvent } from "../support/discussion.ts"
import { get, testServer } from "../support/server.ts"
import { textOf } from "../support/visitor.ts"

layer(testServer({ environment: { AUSPEX_RANK_MIN_DAYS: "1" } }))("Authors of comments on an event", (it) => {
  it.effect("A comment's author has a rank, and an answer from the deadline on, none while sealed", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* importCandles(
        "GC",
        "1h",
        Array.from({ length: 72 }, (_, hour) => [plus(monday, { hours: hour - 72 }), 100 + 3 * (hour % 2)])
      )
      const event = yield* newEvent({ title: "Rates are cut", summary: "x".repeat(400), assets: ["GC"] })
      const ada = AgentId.make(yield* claimedAgent("Ada"))
      const question = yield* newChallenge({ deadline: plus(monday, "1 hour"), event_id: event.event_id })
      yield* predict(ada, question, { direction: "bullish", confidence: 0.5 })
      yield* comment(ada, event, { content: "Gold **will** rise." })
      const page = `/events/${event.event_id}`
      const before = yield* get(page)
      assert.notInclude(textOf(before), "said ▲")
      assert.include(before.text, "<strong>will</strong>")

      yield* moveTo(plus(monday, "1 hour"))
      yield* importQuotes("GC", [[plus(monday, "1 hour"), 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* moveTo(plus(monday, { days: 1, hours: 1 }))
      yield* Skill.use((skill) => skill.countDue)
      const shown = textOf(yield* get(page))
      assert.match(shown, /Ada [0-9a-f]{8} .*#1 said ▲ Up 75 % /)
      assert.match(shown, /GC \+\d+\.\d\d % since it was published/)
      assert.match((yield* get(page)).text, /<a href="#comment-[0-9a-f-]{36}"><time/)

      const own = yield* get(`/agents/${ada}`)
      assert.match(textOf(own), /What it said last Rates are cut \d+ March 2026 Gold will rise\./)
      assert.match(own.text, /href="\/events\/[^"#]+#comment-/)
      assert.include(textOf(yield* get("/events")), `${"x".repeat(160)}…`)

      // The most liked comments come first, if there are more than fit.
      assert.notInclude(textOf(yield* get(page)), "Most liked")
      const others = yield* claimedAgents(4)
      const comments = yield* Effect.forEach(others, (other, index) =>
        comment(other, event, { content: `Word ${index}` })
      )
      yield* like(ada, { comment_id: comments[1]?.comment_id ?? "" })
      assert.match(textOf(yield* get(page)), /Most liked .* 1 like Word 1 Replies What agents say/)
    })
  )
})

layer(testServer())("The change of price since an event", (it) => {
  for (const [interval, hours] of [
    ["1h", 1],
    ["1d", 24]
  ] as const) {
    it.effect(
      `The change of price is told from publication to the last price, in both languages, by candles of ${interval}`,
      () =>
        Effect.gen(function* () {
          const monday = yield* freshWeek
          const published = plus(monday, { hours: 12 })
          const now = plus(monday, { days: 61, hours: 12 })
          // The price is 100 until publication, half as much again two days after it, and 104 in the end.
          const priceAt = (hour: number) => {
            if (hour <= 12) return 100
            return hour < 30 * 24 ? 150 : 104
          }
          yield* importCandles(
            "GC",
            interval,
            Array.from({ length: (63 * 24) / hours }, (_, place) => {
              const hour = (place + 1) * hours - 48
              return [plus(monday, { hours: hour - hours }), priceAt(hour)] as const
            }).filter(([time]) => DateTime.isLessThan(plus(time, { hours }), now))
          )
          const event = yield* newEvent({ title: "Rates are cut", assets: ["GC"], published_at: published })
          yield* moveTo(now)
          const page = `/events/${event.event_id}`
          assert.match(
            textOf(yield* get(page)),
            /GC \+4\.00 % since it was published, by its last price, of \d+ \w+ 2026/
          )
          assert.match(
            textOf(yield* get(`${page}?lang=zh`)),
            /自发布以来 \+4\.00 % （最新价格时间： 2026年\d+月\d+日/
          )
        })
    )
  }
})

layer(testServer())("An event without a known price shortly before it", (it) => {
  it.effect("An event without a known price shortly before it has no change since it was published", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const event = yield* newEvent({ title: "Rates are cut", assets: ["GC"], published_at: monday })
      yield* importQuotes("GC", [
        [plus(monday, "-6 days"), 100],
        [plus(monday, "1 hour"), 110]
      ])
      yield* moveTo(plus(monday, "2 hours"))
      assert.notInclude(textOf(yield* get(`/events/${event.event_id}`)), "since it was published")
    })
  )
})

layer(testServer())("A period of the leaderboard", (it) => {
  it.effect("A period of the leaderboard is named by the month that it begins in, in both languages", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const page = yield* get("/leaderboard")
      const inChinese = textOf(yield* get("/leaderboard?lang=zh"))
      for (const [, month = ""] of page.text.matchAll(/since=(\d{4}-\d{2})"/g)) {
        const name = DateTime.formatUtc(DateTime.makeUnsafe(`${month}-01T00:00:00Z`), {
          locale: "en-GB",
          month: "long",
          year: "numeric"
        })
        const isThis = month === DateTime.formatIsoDateUtc(yield* DateTime.now).slice(0, 7)
        assert.include(textOf(page), isThis ? "This month" : `Since ${name}`)
        assert.include(inChinese, isThis ? "本月" : `${month.slice(0, 4)}年${Number(month.slice(5))}月以来`)
      }
    })
  )
})

/** What is told of those who speak of an event: rank, and what they said once that is public; and their words on their own pages. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
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

layer(testServer({ environment: { AUSPEX_RANK_MIN_DAYS: "1" } }))("Who speaks of an event", (it) => {
  it.effect("says nothing of a sealed answer, and from the deadline on what it was, with the rank", () =>
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

      // The most liked stand first, once there are more than these.
      assert.notInclude(textOf(yield* get(page)), "Most liked")
      const others = yield* claimedAgents(4)
      const said = yield* Effect.forEach(others, (other, index) =>
        comment(other, event, { content: `Word ${index}` })
      )
      yield* like(ada, { comment_id: said[1]?.comment_id ?? "" })
      assert.match(textOf(yield* get(page)), /Most liked .* 1 like Word 1 Replies What agents say/)
    })
  )
})

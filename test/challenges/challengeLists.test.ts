/** Challenges of every type in one list. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Arenas } from "../../src/services/Arenas.ts"
import type { ListFilter } from "../../src/services/domain/Challenge.ts"
import { EventId } from "../../src/services/domain/ids.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict
} from "../support/challenges.ts"
import { allPages, firstPage, foreignCursors } from "../support/paging.ts"
import { newEvent } from "../support/discussion.ts"
import { testServices } from "../support/services.ts"

const listed = (filter: ListFilter, page = firstPage) =>
  Arenas.use((arenas) => arenas.listSummaries(filter, page))

const ids = (filter: ListFilter) =>
  Effect.map(listed(filter), ({ items }) => items.map(({ id }) => String(id)))

layer(testServices())("The list of challenges of every type", (it) => {
  it.effect("Open challenges of every type are listed by the next deadline", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const hours = (count: number) => plus(now, { hours: count })
      const third = yield* newMacro({ deadline: hours(3) })
      const first = yield* newChallenge({ deadline: hours(1) })
      const second = yield* newPriceEvent({ kind: "threshold", deadline: hours(2) })
      const fourth = yield* newChallenge({ deadline: hours(4) })
      assert.deepStrictEqual(
        yield* ids({ status: "open" }),
        [first, second, third, fourth].map(({ id }) => String(id))
      )
      assert.deepStrictEqual(yield* ids({ status: "open", type: "macro" }), [String(third.id)])
      assert.deepStrictEqual(yield* ids({ status: "open", type: "price_event" }), [String(second.id)])
      assert.deepStrictEqual(yield* ids({ status: "open", type: "directional" }), [
        String(first.id),
        String(fourth.id)
      ])
      // An open challenge past its deadline reads as closed even if no job ran; the last one to close comes first.
      yield* moveTo(hours(2))
      assert.deepStrictEqual(yield* ids({ status: "open" }), [String(third.id), String(fourth.id)])
      assert.deepStrictEqual(yield* ids({ status: "closed" }), [String(second.id), String(first.id)])
    })
  )

  it.effect("Challenges that are over are listed newest first, with how they ended", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const deadline = plus(now, "1 hour")
      const agent = yield* claimedAgent()
      const [gold, cancelled] = [yield* newChallenge({ deadline }), yield* newChallenge({ deadline })]
      const [macro, voided] = [yield* newMacro({ deadline, unit: "%" }), yield* newMacro({ deadline })]
      yield* predict(agent, gold)
      yield* forecast(agent, macro)
      yield* Scoring.use((scoring) => scoring.void("directional", cancelled.id, "no market"))
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* Scoring.use((scoring) => scoring.resolveMacro(macro.id, 3.1))
      yield* Scoring.use((scoring) => scoring.void("macro", voided.id, "never published"))
      const resolved = (yield* listed({ status: "resolved" })).items.slice(0, 2)
      assert.deepStrictEqual(
        resolved.map(({ actual_value, id, prediction_count, result, status, unit }) => ({
          id,
          status,
          result,
          actual_value,
          unit,
          prediction_count
        })),
        [
          {
            id: macro.id,
            status: "resolved",
            result: null,
            actual_value: 3.1,
            unit: "%",
            prediction_count: 1
          },
          {
            id: gold.id,
            status: "resolved",
            result: "bullish",
            actual_value: null,
            unit: null,
            prediction_count: 1
          }
        ]
      )
      assert.strictEqual(resolved[0]?.ended_at, DateTime.formatIso(deadline))
      assert.deepStrictEqual(
        (yield* listed({ status: "ended" })).items.slice(0, 2).map(({ id, status }) => [id, status]),
        [
          [voided.id, "void"],
          [cancelled.id, "cancelled"]
        ]
      )
    })
  )

  it.effect("The latest settlement is the one settled last, whenever its challenge was made", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const late = yield* newMacro({ deadline: plus(now, "3 hours") })
      const early = yield* newMacro({ deadline: plus(now, "1 hour"), period: "another" })
      const last = Arenas.use((arenas) => arenas.lastSettled(2))
      for (const [hour, challenge] of [
        ["2 hours", early],
        ["4 hours", late]
      ] as const) {
        yield* moveTo(plus(now, hour))
        yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1))
      }
      // The first one that was made.
      assert.deepStrictEqual(
        (yield* last).map(({ id }) => String(id)),
        [late, early].map(({ id }) => String(id))
      )
    })
  )

  it.effect("Pages of challenges have each one once, also those that close together", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const made = yield* Effect.forEach([1, 2, 2, 2, 3, 1, 2], (hours) =>
        newChallenge({ deadline: plus(now, { hours }) })
      )
      const pagesOf = (filter: ListFilter) =>
        Effect.map(
          allPages(2, (page) => listed(filter, page)),
          (pages) => pages.flat().map(({ id }) => String(id))
        )
      const open = yield* pagesOf({ status: "open" })
      assert.deepStrictEqual(open, yield* ids({ status: "open" }))
      assert.deepStrictEqual(open.toSorted(), made.map(({ id }) => String(id)).toSorted())
      yield* moveTo(plus(now, "3 hours"))
      assert.deepStrictEqual(yield* pagesOf({ status: "closed" }), yield* ids({ status: "closed" }))
      for (const cursor of foreignCursors(["all challenges", "open"], { deadline: "x", id: "y" })) {
        const refused = yield* Effect.flip(listed({ status: "open" }, { limit: 2, cursor }))
        assert.strictEqual(refused._tag, "InvalidRequest")
      }
    })
  )

  it.effect("Challenges can be filtered by event", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const event = yield* newEvent()
      const challenge = yield* newChallenge({ event_id: event.event_id })
      yield* newChallenge()
      const of = (id: EventId) => Arenas.use((arenas) => arenas.listByEvent(id))
      assert.deepStrictEqual(
        (yield* of(event.event_id)).map(({ id }) => id),
        [challenge.id]
      )
      assert.deepStrictEqual(yield* of(EventId.make("nothing")), [])
    })
  )
})

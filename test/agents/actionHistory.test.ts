import { assert, layer } from "@effect/vitest"
import { Effect, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Registry } from "../../src/services/Registry.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import type { Page } from "../../src/services/domain/paging.ts"
import { claimedAgents } from "../support/agents.ts"
import { forecast, newChallenge, newMacro, predict } from "../support/challenges.ts"
import { creditFor, stake } from "../support/credit.ts"
import { allPages, firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"
import {
  follow,
  makeEvent,
  nextOf,
  tamperedCursors,
  unfollow,
  writeComment,
  writeLike
} from "../support/social.ts"

const historyOf = (agentId: AgentId, page: Page = firstPage) =>
  Registry.use((registry) => registry.actions(agentId, page))

layer(testServices())("The history of an agent's actions", (it) => {
  /** One action of every kind by the first of two agents, and some of them by the other. */
  const busyDay = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* makeEvent
    const [ada, bob] = yield* claimedAgents(2)
    assert(ada !== undefined && bob !== undefined)
    const challenge = yield* newChallenge()
    yield* predict(ada, challenge)
    yield* predict(bob, challenge)
    yield* predict(ada, challenge, { direction: "bearish", confidence: 0.25, is_revision: true })
    const macro = yield* newMacro()
    yield* forecast(ada, macro)
    yield* creditFor([ada])
    yield* stake(ada, macro, 50_250_000n)
    const written = yield* writeComment(ada, { content: "Rain." })
    const others = yield* writeComment(bob)
    const reply = yield* writeComment(ada, { content: "Indeed.", parent: others })
    yield* writeLike(ada, others, bob)
    yield* follow(ada, bob)
    yield* TestClock.adjust("2 hours")
    yield* predict(ada, challenge)
    return { ada, bob, challenge, macro, others, reply, sql, written }
  })

  it.effect("An agent's history has all its actions of every kind, newest first, and nothing of others", () =>
    Effect.gen(function* () {
      const { ada, bob, challenge, macro, others, reply, written } = yield* busyDay
      const { items, next_cursor } = yield* historyOf(ada)
      assert.isNull(next_cursor)
      const shown = items.map((item) => Struct.omit(item, ["action_id", "created_at"]))
      assert.deepStrictEqual<unknown>(shown, [
        { type: "paper_signal", challenge_id: challenge.id, direction: "bullish", confidence: 0.5 },
        { type: "follow", target_agent_id: bob },
        { type: "like", comment_id: others, author_id: bob },
        {
          type: "reply",
          comment_id: reply,
          parent_comment_id: others,
          event_id: "storm",
          content: "Indeed."
        },
        { type: "comment", comment_id: written, event_id: "storm", content: "Rain." },
        { type: "stake", challenge_id: macro.id, bin: 2, amount: 50.25 },
        {
          type: "prediction",
          challenge_id: macro.id,
          revision: 0,
          direction: null,
          confidence: null,
          predicted_value: 3.1,
          predicted_std: 0.1
        },
        ...[
          { revision: 1, direction: "bearish", confidence: 0.25 },
          { revision: 0, direction: "bullish", confidence: 0.5 }
        ].map((values) => ({
          type: "prediction",
          challenge_id: challenge.id,
          ...values,
          predicted_value: null,
          predicted_std: null
        }))
      ])
      assert.deepStrictEqual(
        (yield* historyOf(bob)).items.map((item) => item.type),
        ["comment", "prediction"]
      )
    })
  )

  it.effect("An agent's history has what still holds: a follow that was ended is gone", () =>
    Effect.gen(function* () {
      const [ada, bob] = yield* claimedAgents(2)
      assert(ada !== undefined && bob !== undefined)
      yield* follow(ada, bob)
      yield* unfollow(ada, bob)
      assert.deepStrictEqual((yield* historyOf(ada)).items, [])
    })
  )

  it.effect("An agent's history is the same over pages of any size", () =>
    Effect.gen(function* () {
      const { ada } = yield* busyDay
      const { items } = yield* historyOf(ada)
      for (const limit of [1, 2, 4]) {
        assert.deepStrictEqual((yield* allPages(limit, (page) => historyOf(ada, page))).flat(), items)
      }
    })
  )

  it.effect("An agent's history refuses a cursor that was changed", () =>
    Effect.gen(function* () {
      const { ada } = yield* busyDay
      const cursor = nextOf(yield* historyOf(ada, { limit: 1, cursor: undefined }))
      for (const each of tamperedCursors(cursor)) {
        const refused = yield* Effect.flip(historyOf(ada, { limit: 1, cursor: each }))
        assert.deepStrictEqual(
          refused.errors.map((error) => error.path),
          ["cursor"]
        )
      }
    })
  )
})

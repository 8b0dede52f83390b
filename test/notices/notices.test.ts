/** Notices to agents and to everybody, in one order without gaps. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, DateTime, Deferred, Duration, Effect, Fiber, Layer, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as NoticesOnPostgres from "../../src/layers/postgres/notices/Notices.ts"
import { transaction } from "../../src/layers/postgres/sql.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { GatewayKeys } from "../../src/services/GatewayKeys.ts"
import { Notices, NoticeTypes, PublicTypes } from "../../src/services/Notices.ts"
import type { NoticeQuery, Reader } from "../../src/services/Notices.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { anotherOperator, claimable, claimedAgent, claimWithCode, ownersOn } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { stake, stakers } from "../support/credit.ts"
import { asOwner } from "../support/database.ts"
import { comment, newEvent, reply } from "../support/discussion.ts"
import { testServices } from "../support/services.ts"

const read = (reader: Reader, query: Partial<NoticeQuery> = {}) =>
  Notices.use((notices) =>
    Effect.andThen(
      notices.advance,
      notices.read(reader, { after: undefined, types: undefined, limit: 200, ...query })
    )
  )

/** The notices after a cursor, in short. */
const told = (reader: Reader, after: string | undefined, types?: NoticeQuery["types"]) =>
  Effect.map(read(reader, { after, types }), ({ notices }) =>
    notices.map(({ notice }) => [notice.type, ...Object.values(notice.subject)])
  )

const latest = (reader: Reader) =>
  Notices.use((notices) => Effect.andThen(notices.advance, notices.latest(reader)))

layer(testServices())("Notices to everybody", (it) => {
  it.effect("Everybody is told that a challenge opened, closed and was settled, each once, in order", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const start = yield* latest("public")
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      yield* predict(agent, challenge)
      yield* moveTo(plus(now, "1 hour"))
      yield* importQuotes("GC", [[plus(now, "1 hour"), 110]])
      yield* settleDue
      yield* settleDue
      const { notices } = yield* read("public", { after: start })
      assert.deepStrictEqual(
        notices.map(({ notice }) => [notice.type, notice.subject, notice.created_at]),
        [
          ["challenge.opened", { challenge_id: challenge.id }, challenge.created_at],
          ["challenge.closed", { challenge_id: challenge.id }, challenge.deadline],
          ["challenge.settled", { challenge_id: challenge.id }, challenge.deadline]
        ]
      )
      assert.deepStrictEqual(notices[0]?.notice.data, {
        challenge_type: "directional",
        kind: "session",
        asset: "GC",
        question: challenge.question,
        deadline: challenge.deadline,
        resolve_at: challenge.resolve_at
      })
      assert.deepStrictEqual(notices[2]?.notice.data, {
        challenge_type: "directional",
        kind: "session",
        asset: "GC",
        version: 1,
        result: "bullish",
        value: 110
      })
      yield* Amendments.use((amendments) =>
        amendments.amend(challenge.id, { close_price: 90, reason: "a wrong candle" })
      )
      const amended = (yield* read("public", { after: start })).notices.at(-1)?.notice
      assert.deepStrictEqual(
        [amended?.type, amended?.data],
        [
          "challenge.amended",
          {
            challenge_type: "directional",
            kind: "session",
            asset: "GC",
            version: 2,
            result: "bearish",
            value: 90,
            reason: "a wrong candle"
          }
        ]
      )
    })
  )

  it.effect("Everybody is told that a challenge of any type is void, with the reason", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const start = yield* latest("public")
      const [directional, macro] = [yield* newChallenge(), yield* newMacro()]
      yield* Scoring.use((scoring) => scoring.void("directional", directional.id, "no market"))
      yield* moveTo(plus(now, "1 hour"))
      yield* Scoring.use((scoring) => scoring.void("macro", macro.id, "never published"))
      const { notices } = yield* read("public", { after: start, types: ["challenge.void"] })
      assert.deepStrictEqual(
        notices.map(({ notice }) => [notice.subject, "reason" in notice.data && notice.data.reason]),
        [
          [{ challenge_id: directional.id }, "no market"],
          [{ challenge_id: macro.id }, "never published"]
        ]
      )
    })
  )

  it.effect("Everybody is told in the order of writing, also when the clock is set back", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const start = yield* latest("public")
      const events = [yield* newEvent()]
      for (const hours of [5, 2, 9, 1]) {
        yield* TestClock.setTime(DateTime.toEpochMillis(now) + hours * 3_600_000)
        events.push(yield* newEvent())
        yield* latest("public")
      }
      assert.deepStrictEqual(
        yield* told("public", start),
        events.map(({ event_id }) => ["event.published", event_id])
      )
    })
  )

  it.effect("Everybody is told of an event when it comes, not when it is edited", () =>
    Effect.gen(function* () {
      const start = yield* latest("public")
      const { event_id } = yield* newEvent()
      yield* newEvent({ event_id, title: "The same event" })
      assert.deepStrictEqual(yield* told("public", start), [["event.published", event_id]])
    })
  )
})

layer(testServices())("Notices to an agent", (it) => {
  it.effect("An agent is told its score, and again when it changes, each under an id that stays", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      const start = yield* latest(agent)
      const challenge = yield* newChallenge()
      const { answer } = yield* predict(agent, challenge)
      yield* moveTo(plus(now, "1 hour"))
      yield* importQuotes("GC", [[plus(now, "1 hour"), 110]])
      yield* settleDue
      const types = ["prediction.settled"] as const
      const settled = yield* read(agent, { after: start, types })
      assert.deepStrictEqual<unknown>(
        settled.notices.map(({ notice }) => [notice.type, notice.subject, notice.data]),
        [
          [
            "prediction.settled",
            { challenge_id: challenge.id, prediction_id: answer.prediction_id },
            { version: 1, score: 75, is_correct: true, crps: null, skill: null }
          ]
        ]
      )
      yield* Amendments.use((amendments) =>
        amendments.amend(challenge.id, { close_price: 90, reason: "a wrong candle" })
      )
      const again = yield* read(agent, { after: start, types })
      assert.deepStrictEqual(again.notices[0], settled.notices[0])
      assert.include(again.notices[1]?.notice.data, { version: 2, score: 25, is_correct: false })
      assert.notStrictEqual(again.notices[1]?.notice.id, again.notices[0]?.notice.id)
      assert.deepStrictEqual(yield* told(other, undefined, types), [])
      const all = (yield* read(agent, { after: start })).notices
      assert.deepStrictEqual(
        all.map(({ notice }) => notice.type),
        [
          "challenge.opened",
          "challenge.closed",
          "challenge.settled",
          "prediction.settled",
          "challenge.amended",
          "prediction.settled"
        ]
      )
      // The reader goes on from any place of the order, also between two notices that share one.
      for (const [index, { cursor }] of all.entries()) {
        assert.deepStrictEqual((yield* read(agent, { after: cursor })).notices, all.slice(index + 1))
      }
    })
  )

  it.effect("An agent is told nothing of others' predictions before the challenge is settled", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      const start = yield* latest(agent)
      const challenge = yield* newChallenge()
      const { answer } = yield* predict(other, challenge)
      const { notices } = yield* read(agent, { after: start })
      assert.deepStrictEqual(
        notices.map(({ notice }) => notice.type),
        ["challenge.opened"]
      )
      const text = JSON.stringify(notices)
      for (const secret of [other, answer.prediction_id, "bullish"]) assert.notInclude(text, secret)
    })
  )

  it.effect("An agent is told of its stake's reward, or that the stake came back", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const [paid, returned] = [yield* newMacro({ reward_pool: 100 }), yield* newMacro({ period: "2026-04" })]
      const [agent = yield* Effect.die("no agent")] = yield* stakers(paid, 1, 1000)
      yield* forecast(agent, returned)
      const start = yield* latest(agent)
      yield* stake(agent, paid, 100)
      yield* stake(agent, returned, 50)
      yield* moveTo(plus(now, "1 hour"))
      yield* Scoring.use((scoring) => scoring.resolveMacro(paid.id, 3.1))
      yield* Scoring.use((scoring) => scoring.void("macro", returned.id, "never published"))
      const { notices } = yield* read(agent, { after: start, types: ["stake.settled"] })
      assert.deepStrictEqual(
        notices
          .map(({ notice }) => [notice.subject, notice.data])
          .map(([subject, data]) => [
            subject !== undefined && "challenge_id" in subject && subject.challenge_id,
            data
          ]),
        [
          [paid.id, { outcome: "paid", amount: 100, reward: 100 }],
          [returned.id, { outcome: "void", amount: 50, reward: 0 }]
        ]
      )
    })
  )

  it.effect("An agent is told of replies and mentions by others, and nothing of its own actions", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [agent, other, third] = [yield* claimedAgent(), yield* claimedAgent(), yield* claimedAgent()]
      const event = yield* newEvent()
      const [start, startOfThird] = [yield* latest(agent), yield* latest(third)]
      const own = yield* comment(agent, event)
      yield* reply(agent, own, `Said I, @${agent}.`)
      const replied = yield* reply(
        other,
        own,
        `To @${agent}, and to @${third.toUpperCase()}, twice: @${third}.`
      )
      const mentioning = yield* comment(other, event, { content: `@${agent} @${agent}x @nobody` })
      const { notices } = yield* read(agent, { after: start })
      assert.deepStrictEqual<unknown>(
        notices.map(({ notice }) => [notice.type, notice.subject, notice.data]),
        [
          [
            "comment.replied",
            {
              comment_id: replied.comment_id,
              event_id: event.event_id,
              parent_comment_id: own.comment_id
            },
            { agent_id: other }
          ],
          [
            "comment.mentioned",
            { comment_id: mentioning.comment_id, event_id: event.event_id },
            { agent_id: other }
          ]
        ]
      )
      assert.deepStrictEqual(yield* told(third, startOfThird), [
        ["comment.mentioned", replied.comment_id, event.event_id]
      ])
    })
  )

  it.effect(
    "An agent is told of its claim, its suspension with the reason, and revoked keys, once each",
    () =>
      Effect.gen(function* () {
        yield* freshWeek
        const { agentId, code, token } = yield* claimable()
        const start = yield* latest(agentId)
        const [owner = yield* anotherOperator] = yield* ownersOn(["pro"])
        yield* claimWithCode(token, code, owner)
        const registry = yield* Registry
        yield* registry.amend(agentId, { credit_arena_enabled: true })
        const by = { kind: "agent", id: agentId } as const
        const { key_id } = yield* GatewayKeys.use((keys) => keys.create(by, agentId, {}))
        yield* GatewayKeys.use((keys) => Effect.andThen(keys.revoke(by, key_id), keys.revoke(by, key_id)))
        yield* registry.amend(agentId, { suspended: true, reason: "a test" })
        yield* registry.amend(agentId, { suspended: true })
        yield* registry.amend(agentId, { suspended: false })
        yield* registry.amend(agentId, { suspended: true })
        const { notices } = yield* read(agentId, { after: start })
        assert.deepStrictEqual<unknown>(
          notices.map(({ notice }) => [notice.type, notice.subject, notice.data]),
          [
            ["agent.claimed", { agent_id: agentId }, { claimed_at: notices[0]?.notice.created_at }],
            ["key.revoked", { key_id }, { name: "default" }],
            ["agent.suspended", { agent_id: agentId }, { reason: "a test" }],
            ["agent.suspended", { agent_id: agentId }, { reason: null }]
          ]
        )
      })
  )
})

layer(testServices())("Administrators and owners at the same moment", (it) => {
  it.effect("An agent is told once of each concurrent suspension, and of the end of a key", () =>
    Effect.gen(function* () {
      const { agentId, code, token } = yield* claimable()
      const [owner = yield* anotherOperator] = yield* ownersOn(["pro"])
      yield* claimWithCode(token, code, owner)
      const registry = yield* Registry
      yield* registry.amend(agentId, { credit_arena_enabled: true })
      const by = { kind: "agent", id: agentId } as const
      const keys = yield* GatewayKeys
      const { key_id } = yield* keys.create(by, agentId, {})
      const start = yield* latest(agentId)
      yield* Effect.all(
        times(40, (index) =>
          index % 4 === 0 ? keys.revoke(by, key_id) : registry.amend(agentId, { suspended: index % 2 === 0 })
        ),
        { concurrency: "unbounded" }
      )
      const sql = yield* SqlClient.SqlClient
      const [epoch = []] = yield* sql`select token_epoch from agents where id = ${agentId}::uuid`.values
      const types = (yield* told(agentId, start)).map(([type]) => type)
      assert.deepStrictEqual(
        [
          types.filter((type) => type === "key.revoked").length,
          types.filter((type) => type === "agent.suspended").length
        ],
        [1, Number(epoch[0])]
      )
    })
  )
})

/** Another instance on the same database. */
const replica = Effect.map(Layer.build(Layer.fresh(NoticesOnPostgres.layer)), Context.get(Notices))

layer(testServices())("The order of notices", (it) => {
  it.effect("A notice committed late comes after those already read, for every reader", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const start = yield* latest("public")
      const held = yield* Deferred.make<void>()
      const written = yield* Deferred.make<string>()
      const late = yield* Effect.forkChild(
        transaction(sql)(
          Effect.gen(function* () {
            const { event_id } = yield* newEvent()
            yield* Deferred.succeed(written, event_id)
            yield* Deferred.await(held)
          })
        )
      )
      const first = yield* Deferred.await(written)
      const { event_id: second } = yield* newEvent()
      const before = yield* read("public", { after: start })
      assert.deepStrictEqual(
        before.notices.map(({ notice }) => Object.values(notice.subject)),
        [[second]]
      )
      yield* Deferred.succeed(held, undefined)
      yield* Fiber.join(late)
      const after = yield* told("public", before.cursor)
      assert.deepStrictEqual(after, [["event.published", first]])
      assert.deepStrictEqual(yield* told("public", start), [["event.published", second], ...after])
    })
  )

  it.effect("The order of notices is the same for pages of any size, while two instances number them", () =>
    Effect.gen(function* () {
      const start = yield* latest("public")
      const [first, second] = [yield* Notices, yield* replica]
      const writing = yield* Effect.forkChild(
        Effect.all(
          times(60, () => newEvent()),
          { concurrency: 8 }
        )
      )
      const advancing = yield* Effect.forkChild(
        Effect.forever(Effect.all([first.advance, second.advance], { concurrency: 2 }))
      )
      const readAll = Effect.fnUntraced(function* (limit: number) {
        const titles: Array<string> = []
        let after = start
        while (titles.length < 60) {
          const instance = limit === 7 ? second : first
          const page = yield* instance.read("public", { after, types: undefined, limit })
          titles.push(...page.notices.map(({ notice }) => notice.id))
          after = page.cursor
        }
        return titles
      })
      const lists = yield* Effect.all([readAll(1), readAll(7), readAll(200)], { concurrency: 3 })
      yield* Fiber.join(writing)
      yield* Fiber.interrupt(advancing)
      assert.strictEqual(new Set(lists[0]).size, 60)
      assert.deepStrictEqual(lists[1], lists[0])
      assert.deepStrictEqual(lists[2], lists[0])
    })
  )

  it.effect("A reader of notices goes on after more settlements than one statement looks at", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const agent = yield* claimedAgent()
      const start = yield* latest(agent)
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        insert into notices (type, cause, subject, data, created_at)
        select 'challenge.settled', 'a test ' || n, jsonb_build_object('challenge_id', gen_random_uuid()),
               '{"version": 1}', ${DateTime.toDateUtc(now)}::timestamptz from generate_series(1, 450) n`
      const challenge = yield* newChallenge()
      yield* predict(agent, challenge)
      yield* moveTo(plus(now, "1 hour"))
      yield* importQuotes("GC", [[plus(now, "1 hour"), 110]])
      yield* settleDue
      const notices = yield* Notices
      yield* notices.advance
      const query = { after: start, types: ["prediction.settled" as const], limit: 10 }
      const { notices: found } = yield* notices.next(agent, query, Duration.seconds(1))
      assert.deepStrictEqual(
        found.map(({ notice }) => notice.type),
        ["prediction.settled"]
      )
    })
  )

  it.effect("Notices are kept for the set time: an older cursor has expired, and says where to start", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const notices = yield* Notices
      const oldest = yield* latest("public")
      yield* newEvent({ title: "Old" })
      const old = yield* latest("public")
      yield* TestClock.adjust("29 days")
      const { event_id } = yield* newEvent({ title: "New" })
      yield* notices.advance
      yield* TestClock.adjust("2 days")
      yield* notices.trim
      yield* notices.trim
      const expired = yield* Effect.flip(read("public", { after: oldest }))
      assert(expired._tag === "CursorExpired")
      for (const after of [expired.start, old, undefined]) {
        assert.deepStrictEqual(yield* told("public", after), [["event.published", event_id]])
      }
    })
  )

  it.effect("A reader cannot use another's cursor, nor one of notices that a restore has lost", () =>
    Effect.gen(function* () {
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      yield* newEvent()
      const start = yield* latest("public")
      yield* newEvent()
      const cursor = yield* latest(agent)
      for (const [reader, after] of [
        [other, cursor],
        ["public", cursor],
        [agent, `${cursor}x`],
        [agent, ""]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(read(reader, { after })))._tag, "InvalidRequest")
      }
      const ahead = yield* latest("public")
      yield* asOwner(
        SqlClient.SqlClient.use((sql) =>
          Effect.andThen(
            sql`delete from notices where seq = (select head from notice_state)`,
            sql`update notice_state set head = head - 1`
          )
        )
      )
      assert.strictEqual((yield* Effect.flip(read("public", { after: ahead })))._tag, "CursorExpired")
      yield* newEvent()
      assert.strictEqual((yield* Effect.flip(read("public", { after: ahead })))._tag, "CursorExpired")
      assert.lengthOf((yield* read("public", { after: start })).notices, 1)
    })
  )
})

layer(testServices({ AUSPEX_MAX_WAITING_READERS: "1000" }))("Waiting readers", (it) => {
  it.effect("Readers without a token have twenty places an address, and leave half of all to agents", () =>
    Effect.gen(function* () {
      const { reserveWaiter } = yield* Notices
      const taken = (address: string, count: number) =>
        Effect.map(
          Effect.forEach(Array.from({ length: count }), () => Effect.result(reserveWaiter({ address }))),
          (all) => all.filter(Result.isSuccess).length
        )
      const room = Effect.scoped(
        Effect.gen(function* () {
          assert.strictEqual(yield* taken("192.0.2.1", 30), 20)
          // A customer's network of IPv6, by addresses and by networks.
          assert.strictEqual(yield* taken("2001:db8:0:1::1", 15), 15)
          assert.strictEqual(yield* taken("2001:db8:0:2::/64", 15), 5)
          assert.strictEqual(yield* taken("2001:db8:0:ff:1::", 1), 0)
          assert.strictEqual(yield* taken("2001:db8:0:100::1", 1), 1)
          let all = 41
          for (let network = 0; network < 30; network++) all += yield* taken(`198.51.100.${network}`, 20)
          assert.strictEqual(all, 500)
          yield* Effect.forEach(Array.from({ length: 500 }), () => reserveWaiter("agent"))
          assert.strictEqual((yield* Effect.flip(reserveWaiter("agent"))).retry_after, 10)
        })
      )
      yield* room
      yield* room
    })
  )
})

describe("A list of types", () => {
  const ofEverybody = Schema.decodeUnknownResult(PublicTypes)
  const own = Schema.decodeUnknownResult(NoticeTypes)

  it("A list of types has each once, however often it is named", () => {
    assert.deepStrictEqual(
      ofEverybody("event.published,event.published"),
      Result.succeed(["event.published"])
    )
    assert.deepStrictEqual(
      own("event.published,comment.mentioned,event.published"),
      Result.succeed(["event.published", "comment.mentioned"])
    )
  })

  it("A list of types is not longer than all, and has none that the reader may not get", () => {
    for (const types of ["event.published,".repeat(6) + "event.published", "prediction.settled", ""]) {
      assert.isTrue(Result.isFailure(ofEverybody(types)), types)
    }
    for (const types of ["comment.liked", "event.published,"])
      assert.isTrue(Result.isFailure(own(types)), types)
  })
})

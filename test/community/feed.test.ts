import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { AgentId, EventId } from "../../src/services/domain/ids.ts"
import { breadth } from "../support/breadth.ts"
import { claimedAgents } from "../support/agents.ts"
import { rowsOf } from "../support/database.ts"
import { allPages, firstPage } from "../support/paging.ts"
import { held } from "../support/locking.ts"
import { testServices } from "../support/services.ts"
import {
  writeComment,
  feedOf,
  follow,
  writeLike,
  makeEvent,
  nextOf,
  tamperedCursors,
  unfollow
} from "../support/social.ts"

const commentsOf = (page: { readonly items: ReadonlyArray<{ readonly comment_id: string }> }) =>
  page.items.map((item) => item.comment_id)

/** The expected feed, by the plain definition. */
const plainFeed = (agentId: AgentId) =>
  rowsOf(
    Schema.Struct({ id: Schema.String }),
    (sql) => sql`
      select id::text from comments
       where parent_id is null
         and agent_id in (select followed_id from follows where follower_id = ${agentId}::uuid)
       order by id desc`
  ).pipe(Effect.map((rows) => rows.map((row) => row.id)))

layer(testServices())("The feed", (it) => {
  it.effect("The feed shows the comments of followed agents, newest first, with agent and event", () =>
    Effect.gen(function* () {
      yield* makeEvent
      const [ada, bob, cem, dan] = yield* claimedAgents(4)
      assert(ada !== undefined && bob !== undefined && cem !== undefined && dan !== undefined)
      const first = yield* writeComment(bob, { content: "Rain is coming." })
      yield* TestClock.adjust("1 second")
      const second = yield* writeComment(cem)
      yield* writeComment(dan)
      yield* writeComment(ada)
      yield* follow(ada, bob)
      yield* follow(ada, cem)
      yield* writeLike(ada, first, bob)
      yield* writeLike(cem, first, bob)
      const page = yield* feedOf(ada, firstPage)
      assert.deepStrictEqual(commentsOf(page), [second, first])
      assert.deepStrictEqual(page.items[1], {
        type: "comment",
        agent_id: bob,
        agent_name: "agent 1",
        name_tag: null,
        event_id: EventId.make("storm"),
        event_title: "A storm",
        comment_id: first,
        content: "Rain is coming.",
        like_count: 2,
        created_at: "1970-01-01T00:00:00.000Z"
      })
      assert.isNull(page.next_cursor)
      yield* unfollow(ada, cem)
      assert.deepStrictEqual(commentsOf(yield* feedOf(ada, firstPage)), [first])
    })
  )

  it.effect("The feed shows comments and no replies", () =>
    Effect.gen(function* () {
      yield* makeEvent
      const [ada, bob] = yield* claimedAgents(2)
      assert(ada !== undefined && bob !== undefined)
      yield* follow(ada, bob)
      const top = yield* writeComment(bob)
      yield* writeComment(bob, { parent: top })
      assert.deepStrictEqual(commentsOf(yield* feedOf(ada, firstPage)), [top])
    })
  )

  it.effect("The feed of an agent that follows nobody, or only the silent, is empty", () =>
    Effect.gen(function* () {
      const [ada, bob] = yield* claimedAgents(2)
      assert(ada !== undefined && bob !== undefined)
      assert.deepStrictEqual(yield* feedOf(ada, firstPage), { items: [], next_cursor: null })
      yield* follow(ada, bob)
      assert.deepStrictEqual(yield* feedOf(ada, firstPage), { items: [], next_cursor: null })
    })
  )

  it.effect("The feed refuses a cursor that was changed", () =>
    Effect.gen(function* () {
      yield* makeEvent
      const [ada, bob] = yield* claimedAgents(2)
      assert(ada !== undefined && bob !== undefined)
      yield* follow(ada, bob)
      yield* Effect.replicateEffect(writeComment(bob), 3)
      const cursor = nextOf(yield* feedOf(ada, { limit: 1, cursor: undefined }))
      assert.strictEqual((yield* feedOf(ada, { limit: 1, cursor })).items.length, 1)
      for (const each of tamperedCursors(cursor)) {
        const rejected = yield* Effect.flip(feedOf(ada, { limit: 1, cursor: each }))
        assert.deepStrictEqual(
          rejected.errors.map((error) => error.path),
          ["cursor"]
        )
      }
    })
  )

  it.effect("A comment committed late appears once in a walk at most, and always on a new first page", () =>
    Effect.gen(function* () {
      yield* makeEvent
      const [ada, bob, cem] = yield* claimedAgents(3)
      assert(ada !== undefined && bob !== undefined && cem !== undefined)
      for (const each of [bob, cem]) yield* follow(ada, each)
      const [one, two] = [yield* writeComment(bob), yield* writeComment(bob)]
      const late = yield* held(writeComment(cem, { event: "calm" }))
      const three = yield* writeComment(bob)
      const [deep, shallow] = [
        nextOf(yield* feedOf(ada, { limit: 2, cursor: undefined })),
        nextOf(yield* feedOf(ada, { limit: 1, cursor: undefined }))
      ]
      const id = yield* late.commit
      assert.isTrue(two < id && id < three)
      assert.deepStrictEqual(commentsOf(yield* feedOf(ada, { limit: 2, cursor: deep })), [one])
      assert.deepStrictEqual(commentsOf(yield* feedOf(ada, { limit: 2, cursor: shallow })), [id, two])
      assert.deepStrictEqual(commentsOf(yield* feedOf(ada, firstPage)), [three, id, two, one])
    })
  )

  const author = Schema.Literals([1, 2, 3, 4, 5])
  const Step = Schema.Union([
    Schema.Struct({ does: Schema.Literal("post"), author }),
    Schema.Struct({ does: Schema.Literals(["follow", "unfollow"]), author }),
    Schema.Struct({ does: Schema.Literal("read") })
  ])
  const cast = Effect.gen(function* () {
    yield* makeEvent
    const [reader, ...authors] = yield* claimedAgents(6)
    assert(reader !== undefined)
    const agentAt = (place: number) => authors[place - 1] ?? reader
    return { reader, agentAt, authors }
  })

  it.effect.prop(
    "The feed page by page is the plain definition's, after any comments and follows",
    [Schema.Array(Step).check(Schema.isMaxLength(60)), Schema.Literals([1, 2, 3, 7])],
    ([steps, limit]) =>
      Effect.gen(function* () {
        const { agentAt, reader } = yield* cast
        for (const step of steps) {
          if (step.does === "post") yield* writeComment(agentAt(step.author))
          if (step.does === "follow") yield* follow(reader, agentAt(step.author))
          if (step.does === "unfollow") yield* unfollow(reader, agentAt(step.author))
        }
        const pages = yield* allPages(limit, (page) => feedOf(reader, page))
        assert.deepStrictEqual(
          pages.flatMap((items) => items.map((item) => item.comment_id)),
          yield* plainFeed(reader)
        )
      }),
    { arbitrary: { runs: breadth(4, 12), size: 60 } }
  )

  it.effect.prop(
    "A walk of the feed repeats nothing, and skips nothing that was there at its start",
    [
      Schema.Array(author).check(Schema.isMaxLength(12)),
      Schema.Array(Step).check(Schema.isMaxLength(50)),
      Schema.Literals([1, 2, 3])
    ],
    ([before, steps, limit]) =>
      Effect.gen(function* () {
        const { agentAt, authors, reader } = yield* cast
        // Half of them are followed at the start.
        for (const each of authors.slice(0, 3)) yield* follow(reader, each)
        for (const place of before) yield* writeComment(agentAt(place))
        const there = yield* plainFeed(reader)
        const everLeft = new Set<AgentId>()
        const seen: Array<{ readonly id: string; readonly by: AgentId }> = []
        const walk: { cursor: string | null | undefined } = { cursor: undefined }
        const read = Effect.gen(function* () {
          if (walk.cursor === null) return
          const page = yield* feedOf(reader, { limit, cursor: walk.cursor })
          seen.push(...page.items.map((item) => ({ id: item.comment_id, by: item.agent_id })))
          walk.cursor = page.next_cursor
        })
        yield* read
        for (const step of steps) {
          if (step.does === "read") yield* read
          else if (step.does === "post") yield* writeComment(agentAt(step.author))
          else if (step.does === "follow") yield* follow(reader, agentAt(step.author))
          else {
            everLeft.add(agentAt(step.author))
            yield* unfollow(reader, agentAt(step.author))
          }
        }
        while (walk.cursor !== null) yield* read
        const ids = seen.map((each) => each.id)
        assert.deepStrictEqual(ids, [...new Set(ids)].sort().toReversed())
        const writerOf = yield* writers
        const stayed = there.filter((id) => !everLeft.has(writerOf(id)))
        assert.deepStrictEqual(
          stayed.filter((id) => !ids.includes(id)),
          []
        )
      }),
    { arbitrary: { runs: breadth(4, 12), size: 50 } }
  )

  const writers = Effect.map(
    rowsOf(
      Schema.Struct({ id: Schema.String, agent_id: AgentId }),
      (sql) => sql`select id::text, agent_id::text from comments`
    ),
    (rows) => {
      const byId = new Map(rows.map((row) => [row.id, row.agent_id]))
      return (id: string) => byId.get(id) ?? AgentId.make("")
    }
  )
})

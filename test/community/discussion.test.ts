/** Comments, replies and likes, by the rules of the interface's "Comments and feed". */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Result, Schema } from "effect"
import { Discussion, NewReply } from "../../src/services/Discussion.ts"
import { Events } from "../../src/services/Events.ts"
import { AgentId, EventId } from "../../src/services/domain/ids.ts"
import type { Page } from "../../src/services/domain/paging.ts"
import { breadth } from "../support/breadth.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import { claimedAgent, claimedAgents, provisionalAgent } from "../support/agents.ts"
import { freshWeek } from "../support/challenges.ts"
import { countOf } from "../support/database.ts"
import { allPages, firstPage, foreignCursors } from "../support/paging.ts"
import { comment, like, newEvent, reply, unlike } from "../support/discussion.ts"
import { keptPosts, leakingPosts, rejectedPosts } from "../support/hostilePosts.ts"
import { testServices } from "../support/services.ts"

const commentsOn = (event: { readonly event_id: string }, page: Page = firstPage) =>
  Discussion.use((discussion) => discussion.comments(event.event_id, page))
const repliesTo = (
  event: { readonly event_id: string },
  parent: { readonly comment_id: string },
  page: Page = firstPage
) => Discussion.use((discussion) => discussion.replies(event.event_id, parent.comment_id, page))
const socialOf = (event: { readonly event_id: string }) =>
  Effect.map(
    Events.use((events) => events.get(event.event_id)),
    ({ social }) => social
  )

const unknown = "01890000-0000-7000-8000-000000000000"

layer(testServices())("Posting", (it) => {
  it.effect("A post answers the record, which the public list shows with its agent", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const ada = yield* claimedAgent("Ada")
      const event = yield* newEvent()
      const posted = yield* comment(ada, event, { content: "Oil will rise.", space_id: "finance" })
      assert.deepStrictEqual(posted, {
        comment_id: posted.comment_id,
        reply_id: null,
        parent_comment_id: null,
        news_id: event.event_id,
        space_id: "finance",
        agent_id: ada,
        content: "Oil will rise.",
        redacted: false,
        like_count: 0,
        reply_count: 0,
        created_at: DateTime.formatIso(now)
      })
      assert.deepStrictEqual(yield* commentsOn(event), {
        news_id: event.event_id,
        total_count: 1,
        comments: [
          {
            comment_id: posted.comment_id,
            content: "Oil will rise.",
            space_id: "finance",
            like_count: 0,
            reply_count: 0,
            has_more_replies: false,
            created_at: DateTime.formatIso(now),
            agent: {
              agent_id: ada,
              name: "Ada",
              name_tag: null,
              model_provider: null,
              model_name: null,
              verified: true
            },
            replies: []
          }
        ],
        next_cursor: null
      })
    })
  )

  it.effect("A post with a parent makes a reply, the same by either endpoint", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [ada, bob] = [yield* claimedAgent("Ada"), yield* provisionalAgent("Bob")]
      const event = yield* newEvent()
      const parent = yield* comment(ada, event)
      const one = yield* comment(bob, event, { content: "one", parent_comment_id: parent.comment_id })
      const two = yield* reply(bob, parent, "two")
      for (const posted of [one, two]) {
        assert.strictEqual(posted.reply_id, posted.comment_id)
        assert.strictEqual(posted.parent_comment_id, parent.comment_id)
        assert.strictEqual(posted.news_id, event.event_id)
      }
      const { comments, total_count } = yield* commentsOn(event)
      assert.strictEqual(total_count, 3)
      assert.deepStrictEqual(
        comments.map(({ comment_id, reply_count }) => [comment_id, reply_count]),
        [[parent.comment_id, 2]]
      )
      const { replies } = comments[0] ?? { replies: [] }
      assert.deepStrictEqual(
        replies.map(({ content, reply_id, agent }) => [content, reply_id, agent.name, agent.verified]),
        [
          ["one", one.comment_id, "Bob", false],
          ["two", two.comment_id, "Bob", false]
        ]
      )
    })
  )

  it.effect("A reply is possible to top-level comments only, and only of the same event", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent()
      const [event, other] = [yield* newEvent(), yield* newEvent()]
      const parent = yield* comment(ada, event)
      const answer = yield* reply(ada, parent)
      const rejected = yield* concurrently([
        reply(ada, answer),
        comment(ada, event, { parent_comment_id: answer.comment_id }),
        comment(ada, other, { parent_comment_id: answer.comment_id }),
        comment(ada, other, { parent_comment_id: parent.comment_id }),
        comment(ada, event, { parent_comment_id: unknown }),
        comment(ada, event, { parent_comment_id: "me" }),
        reply(ada, { comment_id: unknown }),
        reply(ada, { comment_id: "'" }),
        comment(ada, { event_id: EventId.make("nowhere") }),
        comment(ada, { event_id: EventId.make("nowhere") }, { parent_comment_id: parent.comment_id })
      ])
      assert.deepStrictEqual(codesOf(rejected), [
        "reply_to_reply",
        "reply_to_reply",
        "reply_to_reply",
        "parent_of_other_event",
        "not_found",
        "not_found",
        "not_found",
        "not_found",
        "not_found",
        "not_found"
      ])
      assert.strictEqual((yield* commentsOn(event)).total_count, 2)
      assert.strictEqual((yield* commentsOn(other)).total_count, 0)
    })
  )
})

layer(testServices())("A text", (it) => {
  const decode = Schema.decodeUnknownResult(NewReply)

  it("A hostile text is rejected, or stored as sent, and trimmed, in NFC, with line feeds", () => {
    for (const content of rejectedPosts) assert.isTrue(Result.isFailure(decode({ content })), content)
    for (const [sent, content] of [
      ...keptPosts.map((text) => [text, text.normalize("NFC").trim()] as const),
      ["\r\n  one\r\ntwo e\u0301  \n", "one\ntwo \u00e9"] as const
    ]) {
      assert.deepStrictEqual(decode({ content: sent }), Result.succeed({ content }))
    }
  })

  it.effect("A text is stored and shown without our secrets, and otherwise as it is", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent()
      const event = yield* newEvent()
      const kept = keptPosts.map((text) => text.normalize("NFC").trim())
      const stored = [
        ...kept.map((text) => [text, text, false] as const),
        ...leakingPosts.map(([sent, text]) => [sent, text, true] as const)
      ]
      for (const [sent, content, redacted] of stored) {
        assert.deepInclude(yield* comment(ada, event, { content: sent }), { content, redacted })
      }
      const { comments } = yield* commentsOn(event, { limit: 200, cursor: undefined })
      assert.deepStrictEqual(
        comments.map(({ content }) => content).toReversed(),
        stored.map(([, content]) => content)
      )
    })
  )
})

layer(testServices())("Reading", (it) => {
  it.effect("Comments are listed newest first, and replies oldest first, three of them shown", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent()
      const event = yield* newEvent()
      const first = yield* comment(ada, event, { content: "first" })
      const second = yield* comment(ada, event, { content: "second" })
      const none: ReadonlyArray<string> = []
      for (const index of times(3, (each) => each)) yield* reply(ada, first, `reply ${index}`)
      const shown = (yield* commentsOn(event)).comments.map((each) => [
        each.content,
        each.has_more_replies,
        each.replies.map(({ content }) => content)
      ])
      const three = ["reply 0", "reply 1", "reply 2"]
      assert.deepStrictEqual(shown, [
        ["second", false, none],
        ["first", false, three]
      ])
      yield* reply(ada, first, "reply 3")
      const [, full] = (yield* commentsOn(event)).comments
      assert.deepInclude(full, { reply_count: 4, has_more_replies: true })
      assert.deepStrictEqual(
        full?.replies.map(({ content }) => content),
        three
      )
      const all = yield* repliesTo(event, first)
      assert.deepStrictEqual(
        all.items.map(({ content, parent_comment_id }) => [content, parent_comment_id]),
        [...three, "reply 3"].map((content) => [content, first.comment_id])
      )
      assert.deepStrictEqual((yield* repliesTo(event, second)).items, [])
    })
  )

  it.effect("Pages of comments never repeat or skip one while new ones arrive", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent()
      const event = yield* newEvent()
      const parent = yield* comment(ada, event, { content: "0" })
      for (const index of times(6, (each) => each + 1)) yield* comment(ada, event, { content: `${index}` })
      for (const index of times(7, (each) => each)) yield* reply(ada, parent, `${index}`)
      const seen = yield* allPages(2, (page) =>
        Effect.gen(function* () {
          const list = yield* commentsOn(event, page)
          yield* comment(ada, event, { content: "meanwhile" })
          return { items: list.comments.map(({ content }) => content), next_cursor: list.next_cursor }
        })
      )
      assert.deepStrictEqual(seen, [["6", "5"], ["4", "3"], ["2", "1"], ["0"]])
      const replies = yield* allPages(3, (page) => repliesTo(event, parent, page))
      assert.deepStrictEqual(
        replies.flat().map(({ content }) => content),
        times(7, String)
      )
    })
  )

  it.effect("A forged cursor is rejected, and an unknown id is not found", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent()
      const event = yield* newEvent()
      const parent = yield* comment(ada, event)
      for (const index of times(3, (each) => each)) {
        yield* comment(ada, event)
        yield* reply(ada, parent, `${index}`)
      }
      const { next_cursor } = yield* commentsOn(event, { limit: 1, cursor: undefined })
      assert(next_cursor !== null)
      const [payload, seal] = next_cursor.split(".")
      const forged = [
        ...foreignCursors(["comments", event.event_id], `${parent.comment_id}0`, { id: parent.comment_id }),
        `${payload}`,
        `${payload}.`,
        `.${seal}`,
        `${payload}.${seal}.`,
        `${payload}.${seal?.slice(1)}`,
        `${payload}.${seal?.replace(/^./, (first) => (first === "A" ? "B" : "A"))}`,
        `${Buffer.from(JSON.stringify(parent.comment_id)).toString("base64url")}.${seal}`,
        `${payload}=.${seal}`,
        ` ${next_cursor}`
      ]
      for (const cursor of forged) {
        const page = { limit: 1, cursor }
        const rejected = yield* concurrently([
          Effect.asVoid(commentsOn(event, page)),
          Effect.asVoid(repliesTo(event, parent, page))
        ])
        assert.deepStrictEqual(codesOf(rejected), ["invalid_request", "invalid_request"], cursor)
      }
      const other = yield* newEvent()
      const answer = yield* reply(ada, parent)
      const unknowns = yield* concurrently([
        Effect.asVoid(commentsOn({ event_id: "nowhere" })),
        Effect.asVoid(commentsOn({ event_id: "no id" })),
        Effect.asVoid(commentsOn({ event_id: "\0" })),
        Effect.asVoid(repliesTo({ event_id: "nowhere" }, parent)),
        Effect.asVoid(repliesTo(event, { comment_id: "x" })),
        Effect.asVoid(repliesTo(other, parent)),
        Effect.asVoid(repliesTo(event, answer))
      ])
      assert.deepStrictEqual(
        codesOf(unknowns),
        unknowns.map(() => "not_found")
      )
    })
  )
})

layer(testServices())("Liking", (it) => {
  it.effect("A like counts once however often it is sent, and own posts can be liked by others only", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* claimedAgent("Ada"), yield* claimedAgent("Bob")]
      const event = yield* newEvent()
      const parent = yield* comment(ada, event)
      const answer = yield* reply(bob, parent)
      yield* like(bob, parent)
      yield* like(bob, parent)
      yield* like(ada, answer, "reply")
      assert.strictEqual((yield* Effect.flip(like(ada, parent))).code, "own_post")
      assert.strictEqual((yield* Effect.flip(like(bob, answer, "reply"))).code, "own_post")
      const [shown] = (yield* commentsOn(event)).comments
      assert.deepStrictEqual([shown?.like_count, shown?.replies[0]?.like_count], [1, 1])
      yield* unlike(bob, parent)
      yield* unlike(bob, parent)
      assert.strictEqual((yield* commentsOn(event)).comments[0]?.like_count, 0)
    })
  )

  it.effect("A like needs the right kind of post, and ending an absent like changes nothing", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* claimedAgent("Ada"), yield* claimedAgent("Bob")]
      const event = yield* newEvent()
      const parent = yield* comment(ada, event)
      const answer = yield* reply(ada, parent)
      const rejected = yield* concurrently([
        like(bob, parent, "reply"),
        like(bob, answer, "comment"),
        like(bob, { comment_id: unknown }),
        like(bob, { comment_id: "x" }, "reply")
      ])
      assert.deepStrictEqual(codesOf(rejected), ["not_found", "not_found", "not_found", "not_found"])
      yield* like(bob, answer, "reply")
      yield* unlike(bob, answer, "comment")
      yield* unlike(bob, { comment_id: unknown })
      yield* unlike(bob, { comment_id: "x" })
      assert.strictEqual((yield* repliesTo(event, parent)).items[0]?.like_count, 1)
    })
  )

  it.effect("Fifty likes at once are one by one agent, and fifty by fifty agents", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent()
      const fans = yield* claimedAgents(50)
      const event = yield* newEvent()
      const [one, many] = [yield* comment(ada, event), yield* comment(ada, event)]
      const [fan = ada] = fans
      const results = yield* concurrently([
        ...times(50, () => like(fan, one)),
        ...fans.map((each) => like(each, many))
      ])
      assert.deepStrictEqual(codesOf(results), [])
      const counts = new Map(
        (yield* commentsOn(event)).comments.map(({ comment_id, like_count }) => [comment_id, like_count])
      )
      assert.deepStrictEqual([counts.get(one.comment_id), counts.get(many.comment_id)], [1, 50])
      yield* concurrently([...times(50, () => unlike(fan, one)), ...fans.map((each) => unlike(each, many))])
      const left = (yield* commentsOn(event)).comments.map(({ like_count }) => like_count)
      assert.deepStrictEqual(left, [0, 0])
    })
  )
})

layer(testServices())("The social field of an event", (it) => {
  it.effect("An event's social field has its count, and the top three by likes, then the oldest", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent("Ada")
      const fans = yield* claimedAgents(2)
      const event = yield* newEvent()
      assert.deepStrictEqual(yield* socialOf(event), { comment_count: 0, top_comments: [] })
      const posted = yield* Effect.forEach(["a", "b", "c", "d"], (content) =>
        comment(ada, event, { content })
      )
      const [a, , , d] = posted
      assert(a !== undefined && d !== undefined)
      const answer = yield* reply(ada, a)
      for (const fan of fans) {
        yield* like(fan, d)
        yield* like(fan, answer, "reply")
      }
      const social = yield* socialOf(event)
      assert.strictEqual(social.comment_count, 5)
      assert.deepStrictEqual(
        social.top_comments.map(({ content, like_count, reply_count, agent }) => [
          content,
          like_count,
          reply_count,
          agent.name
        ]),
        [
          ["d", 2, 0, "Ada"],
          ["a", 0, 1, "Ada"],
          ["b", 0, 0, "Ada"]
        ]
      )
      const listed = yield* Events.use((events) => events.list({}, firstPage))
      assert.deepStrictEqual(listed.items[0]?.social, social)
      const [again] = yield* Events.use((events) =>
        events.importAll([{ event_id: event.event_id, title: "Renamed" }])
      )
      assert.deepStrictEqual(again?.social, social)
    })
  )
})

layer(testServices())("The interaction context", (it) => {
  it.effect("The interaction context has the discussion by likes, the agent's own part, and its policy", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* claimedAgent("Ada"), yield* claimedAgent("Bob")]
      const event = yield* newEvent({ title: "The Fed holds", spaces: ["finance", "policy"] })
      const first = yield* comment(ada, event, { content: "first" })
      const second = yield* comment(bob, event, { content: "second" })
      const answer = yield* reply(ada, second, "third")
      yield* like(ada, second)
      const context = (scopes: ReadonlyArray<"comment:create" | "comment:reply" | "comment:like">) =>
        Discussion.use((discussion) =>
          discussion.interactionContext({ agentId: ada, scopes: new Set(scopes) }, event.event_id)
        )
      const seen = yield* context(["comment:create", "comment:reply", "comment:like"])
      assert.deepInclude(seen, {
        news_id: event.event_id,
        title: "The Fed holds",
        spaces: ["finance", "policy"],
        total_comment_count: 3
      })
      assert.deepStrictEqual(
        seen.existing_comments.map(({ content, is_liked, is_own, like_count, reply_count }) => [
          content,
          like_count,
          reply_count,
          is_own,
          is_liked
        ]),
        [
          ["second", 1, 1, false, true],
          ["first", 0, 0, true, false]
        ]
      )
      assert.deepStrictEqual(
        seen.own_posts.map(({ comment_id, parent_comment_id }) => [comment_id, parent_comment_id]),
        [
          [answer.comment_id, second.comment_id],
          [first.comment_id, null]
        ]
      )
      assert.deepInclude(seen.comment_policy, {
        comment_enabled: true,
        reply_enabled: true,
        like_enabled: true
      })
      const { comment_policy } = yield* context([])
      assert.deepInclude(comment_policy, {
        comment_enabled: false,
        reply_enabled: false,
        like_enabled: false
      })
      assert.include(comment_policy.reply_hint, "comment:reply")
      const nowhere = yield* Effect.flip(
        Discussion.use((discussion) =>
          discussion.interactionContext({ agentId: ada, scopes: new Set() }, "nowhere")
        )
      )
      assert.strictEqual(nowhere.code, "not_found")
    })
  )
})

layer(testServices())("Counts of the discussion", (it) => {
  it.effect.prop(
    "Counts of a discussion equal a recount after any interleaving of posts and likes",
    [
      Schema.Array(
        Schema.Struct({
          what: Schema.Literals(["comment", "reply", "like", "unlike"]),
          agent: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
          post: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
        })
      ).check(Schema.isMinLength(1), Schema.isMaxLength(60))
    ],
    ([steps]) =>
      Effect.gen(function* () {
        const agents = yield* claimedAgents(4)
        const author = yield* claimedAgent()
        const events = [yield* newEvent(), yield* newEvent()] as const
        const parents = yield* Effect.forEach([0, 1, 2], (index) =>
          comment(author, index === 2 ? events[1] : events[0])
        )
        const answers = yield* Effect.forEach(parents, (parent) => reply(author, parent))
        const results = yield* concurrently(
          steps.map(
            ({ agent, post, what }): Effect.Effect<unknown, { readonly code: string }, Discussion> => {
              const who = agents[agent] ?? author
              const parent = parents[post % 3]
              const target = post < 3 ? parent : answers[post % 3]
              if (parent === undefined || target === undefined) return Effect.die(new Error("no target"))
              const kind = post < 3 ? "comment" : "reply"
              if (what === "comment") return comment(who, events[post % 2 === 0 ? 0 : 1])
              if (what === "reply") return reply(who, parent)
              return what === "like" ? like(who, target, kind) : unlike(who, target, kind)
            }
          )
        )
        assert.deepStrictEqual(codesOf(results), [])
        const wrong = yield* countOf(
          (sql) => sql`
            select (select count(*) from comments c full join comment_counts f on f.comment_id = c.id
                     where f.like_count is distinct from
                             (select count(*) from comment_likes l where l.comment_id = c.id)
                        or f.reply_count is distinct from
                             (select count(*) from comments r where r.parent_id = c.id)
                        or (f.event_id, f.is_reply) is distinct from (c.event_id, c.is_reply))::int
                   + (select count(*) from discussions d
                      full join (select event_id, count(*) as n from comments group by event_id) c using (event_id)
                     where d.comment_count is distinct from c.n)::int as count`
        )
        assert.strictEqual(wrong, 0)
      }),
    { arbitrary: { runs: breadth(6, 20), size: 40 } }
  )
})

layer(testServices())("The tables of the discussion", (it) => {
  it.effect("A post of an unknown agent is not stored", () =>
    Effect.gen(function* () {
      const event = yield* newEvent()
      const died = yield* Effect.exit(comment(AgentId.make(unknown), event))
      assert.strictEqual(died._tag, "Failure")
      assert.strictEqual((yield* commentsOn(event)).total_count, 0)
    })
  )
})

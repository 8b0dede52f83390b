/** Discussions through HTTP: scopes, hostile texts, and the limits. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { rateLimits } from "../../src/config.ts"
import { allScopes } from "../../src/services/Scopes.ts"
import { onboard, onboardClaimed } from "../support/agents.ts"
import { times } from "../support/concurrently.ts"
import { newEvent } from "../support/discussion.ts"
import { keptPosts, leakingPosts, rejectedPosts } from "../support/hostilePosts.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const comments = "/api/v1/agent/comments"
const unknown = "0190f000-0000-7000-8000-000000000000"
const listOf = (newsId: string) => `/api/v1/public/comments/${newsId}`
const idOf = (answer: Answer) => String(answer.json["comment_id"])
const having = (answers: ReadonlyArray<Answer>, status: number) =>
  answers.filter((answer) => answer.status === status).length
const statusAndCode = (answer: Answer) => [answer.status, answer.json["code"]]

layer(testServer())("POST /agent/comments", (it) => {
  it.effect(
    "The parent decides between comment:create and comment:reply, which is checked first of all",
    () =>
      Effect.gen(function* () {
        const { news_id } = yield* newEvent()
        const commenter = yield* onboard({ requested_scopes: ["comment:create"] })
        const replier = yield* onboard({ requested_scopes: ["comment:reply"] })
        const sent = (token: string, json: unknown) => post(comments, { token, json })
        const first = yield* sent(commenter.token, { news_id, content: "What I think.", space_id: "ai" })
        assert.strictEqual(first.status, 201)
        assert.deepInclude(first.json, {
          news_id,
          space_id: "ai",
          agent_id: commenter.agentId,
          redacted: false
        })
        const asReply = { news_id, content: "I disagree.", parent_comment_id: idOf(first) }
        for (const [token, json, scope] of [
          [replier.token, { news_id, content: "What I think." }, "comment:create"],
          [replier.token, { news_id, content: "What I think.", parent_comment_id: null }, "comment:create"],
          [commenter.token, asReply, "comment:reply"]
        ] as const) {
          for (const body of [json, { ...json, content: "" }, { ...json, news_id: 7, space_id: "sports" }]) {
            const rejected = yield* sent(token, body)
            assert.deepStrictEqual(
              [rejected.status, rejected.json["detail"]],
              [403, `Missing required scope: ${scope}`]
            )
          }
          const broken = yield* post(comments, {
            token,
            body: "{",
            headers: { "content-type": "application/json" }
          })
          assert.deepStrictEqual(statusAndCode(broken), [400, "invalid_request"])
        }
        for (const parent_comment_id of [7, "", {}, false]) {
          const rejected = yield* sent(commenter.token, { parent_comment_id })
          assert.strictEqual(rejected.json["detail"], "Missing required scope: comment:reply")
        }
        const neither = yield* onboard({ requested_scopes: ["challenge:read"] })
        for (const [json, scope] of [
          [asReply, "comment:reply"],
          [{}, "comment:create"],
          [{ content: "" }, "comment:create"],
          ["text", "comment:create"],
          [null, "comment:create"]
        ] as const) {
          const rejected = yield* sent(neither.token, json)
          assert.deepStrictEqual(
            [...statusAndCode(rejected), rejected.json["detail"]],
            [403, "missing_scope", `Missing required scope: ${scope}`]
          )
        }
        const unread = yield* post(comments, { token: neither.token, body: "{" })
        assert.deepStrictEqual(statusAndCode(unread), [403, "missing_scope"])
        const reply = yield* sent(replier.token, asReply)
        assert.deepInclude(reply.json, {
          comment_id: idOf(reply),
          reply_id: idOf(reply),
          parent_comment_id: idOf(first)
        })
        const again = yield* sent(replier.token, { ...asReply, parent_comment_id: idOf(reply) })
        assert.deepStrictEqual(statusAndCode(again), [400, "reply_to_reply"])
        const other = yield* newEvent()
        const elsewhere = yield* sent(replier.token, { ...asReply, news_id: other.news_id })
        assert.deepStrictEqual(statusAndCode(elsewhere), [400, "parent_of_other_event"])
        const nowhere = yield* sent(commenter.token, { news_id: "nowhere", content: "?" })
        assert.deepStrictEqual(statusAndCode(nowhere), [404, "not_found"])
        const byPath = yield* post(`${comments}/${idOf(first)}/replies`, {
          token: replier.token,
          json: { content: "As I said." }
        })
        assert.strictEqual(byPath.status, 201)
        const list = yield* get(listOf(news_id))
        assert.strictEqual(list.json["total_count"], 3)
        assert.isNotNull(list.headers.get("etag"))
      })
  )

  it.effect("A post names every field that is wrong", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const answer = yield* post(comments, {
        token,
        json: { news_id: "no id", space_id: "sports", content: 5, parent_comment_id: 7 }
      })
      assert.deepStrictEqual(
        [answer.status, wrongFields(answer)],
        [400, ["content", "news_id", "parent_comment_id", "space_id"]]
      )
    })
  )
})

layer(testServer())("A text", (it) => {
  it.effect("A hostile text is rejected, or stored and shown as sent, without our secrets", () =>
    Effect.gen(function* () {
      assert.isAtLeast(keptPosts.length + rejectedPosts.length + leakingPosts.length, 60)
      const { news_id } = yield* newEvent()
      const { token } = yield* onboardClaimed()
      const posted = (content: string) => post(comments, { token, json: { news_id, content } })
      const stored: Array<string> = []
      for (const content of rejectedPosts) {
        const answer = yield* posted(content)
        assert.deepStrictEqual([answer.status, wrongFields(answer)], [400, ["content"]], content)
      }
      for (const content of keptPosts) {
        const answer = yield* posted(content)
        assert.deepInclude(answer.json, { content: content.normalize("NFC").trim(), redacted: false })
        stored.push(content.normalize("NFC").trim())
      }
      for (const [content, kept] of [
        ...leakingPosts,
        [`Authorization: Bearer ${token}`, "Authorization: Bearer <redacted access token>"] as const
      ]) {
        const answer = yield* posted(content)
        assert.deepInclude(answer.json, { content: kept, redacted: true })
        stored.push(kept)
      }
      const shown = yield* get(`${listOf(news_id)}?limit=200`)
      const contents = member(shown.json, "comments")
      assert(Array.isArray(contents))
      assert.deepStrictEqual(contents.map((each) => member(each, "content")).toReversed(), stored)
    })
  )

  it.effect("The text of a post is trimmed, and stored in NFC with line feeds", () =>
    Effect.gen(function* () {
      const { news_id } = yield* newEvent()
      const { token } = yield* onboard()
      const answer = yield* post(comments, {
        token,
        json: { news_id, content: "\r\n  one\r\ntwo e\u0301  \n" }
      })
      assert.strictEqual(answer.json["content"], "one\ntwo \u00e9")
    })
  )
})

layer(testServer())("Liking", (it) => {
  it.effect("A like and its end are 204 however often, and a like of an own post is 400 own_post", () =>
    Effect.gen(function* () {
      const { news_id } = yield* newEvent()
      const [ada, bob] = [yield* onboardClaimed(), yield* onboardClaimed()]
      const parent = yield* post(comments, { token: ada.token, json: { news_id, content: "Up." } })
      const reply = yield* post(`${comments}/${idOf(parent)}/replies`, {
        token: ada.token,
        json: { content: "Up, I say." }
      })
      const liked = (method: string, kind: string, id: string, token = bob.token) =>
        send(method, `/api/v1/agent/${kind}/${id}/like`, { token })
      for (const [kind, id] of [
        ["comments", idOf(parent)],
        ["replies", idOf(reply)]
      ] as const) {
        for (const _ of times(2, String)) assert.strictEqual((yield* liked("POST", kind, id)).status, 204)
        assert.deepStrictEqual(statusAndCode(yield* liked("POST", kind, id, ada.token)), [400, "own_post"])
        const other = kind === "comments" ? "replies" : "comments"
        assert.strictEqual((yield* liked("POST", other, id)).status, 404)
        for (const nothing of [unknown, "x"]) {
          assert.strictEqual((yield* liked("POST", kind, nothing)).status, 404)
          assert.strictEqual((yield* liked("DELETE", kind, nothing)).status, 204)
        }
        assert.strictEqual((yield* liked("DELETE", kind, id, ada.token)).status, 204)
      }
      const { text } = yield* get(listOf(news_id))
      assert.strictEqual(text.split('"like_count":1').length - 1, 2)
      for (const kind of ["comments", "replies"] as const) {
        const id = kind === "comments" ? idOf(parent) : idOf(reply)
        for (const _ of times(2, String)) assert.strictEqual((yield* liked("DELETE", kind, id)).status, 204)
      }
      assert.notInclude((yield* get(listOf(news_id))).text, '"like_count":1')
    })
  )

  it.effect("A like needs a claimed agent", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard({ requested_scopes: allScopes })
      for (const [kind, scope] of [
        ["comments", "comment:like"],
        ["replies", "reply:like"]
      ] as const) {
        const answer = yield* post(`/api/v1/agent/${kind}/${unknown}/like`, { token })
        assert.strictEqual(answer.json["detail"], `Missing required scope: ${scope}`)
      }
    })
  )
})

layer(testServer())("Reading", (it) => {
  it.effect("Agents read the spaces, an event's social field, and the context that their scopes allow", () =>
    Effect.gen(function* () {
      const event = yield* newEvent({ title: "The Fed holds", spaces: ["finance"] })
      const ada = yield* onboard()
      const spaces = yield* get("/api/v1/agent/spaces", { token: ada.token })
      const items = member(spaces.json, "items")
      assert(Array.isArray(items))
      assert.deepStrictEqual(
        items.map((each) => member(each, "space_id")),
        ["finance", "policy", "technology", "international", "ai"]
      )
      yield* post(comments, { token: ada.token, json: { news_id: event.news_id, content: "Up." } })
      const context = yield* get(`/api/v1/agent/news/${event.news_id}/interaction-context`, {
        token: ada.token
      })
      assert.deepInclude(context.json, { title: "The Fed holds", total_comment_count: 1 })
      assert.deepInclude(member(context.json, "comment_policy"), {
        comment_enabled: true,
        reply_enabled: true,
        // This scope is withheld until the agent is claimed.
        like_enabled: false
      })
      const shown = yield* get(`/api/v1/events/${event.event_id}`)
      assert.strictEqual(member(shown.json, "social", "comment_count"), 1)
      assert.strictEqual(member(shown.json, "social", "top_comments", 0, "agent", "agent_id"), ada.agentId)
      for (const path of ["/api/v1/events/nowhere", listOf("nowhere"), listOf("no%20id")]) {
        assert.strictEqual((yield* get(path)).status, 404)
      }
      const today = yield* get("/api/v1/events/today")
      assert.strictEqual(member(today.json, "items", 0, "social", "comment_count"), 1)
    })
  )
})

/** The limits as they are when an operator sets none. */
const defaults = Object.fromEntries(
  [rateLimits.comments, rateLimits.replies, rateLimits.likes].map(({ defaultText, name }) => [
    name,
    defaultText ?? ""
  ])
)

layer(testServer({ environment: defaults }))("The limits of an agent", (it) => {
  it.effect.each([
    ["comments", 5, "comments"],
    ["replies", 10, "comments"],
    ["replies", 10, "replies"],
    ["likes", 30, "like"]
  ] as const)("An agent may make this many %s a minute: %i", ([what, most, path]) =>
    Effect.gen(function* () {
      const { news_id } = yield* newEvent()
      const [ada, bob] = [yield* onboardClaimed(), yield* onboardClaimed()]
      const eve = yield* onboardClaimed()
      const parent = yield* post(comments, { token: eve.token, json: { news_id, content: "First." } })
      const id = String(parent.json["comment_id"])
      const once = (token: string) => {
        const content = "What I think."
        if (path !== "comments") return post(`${comments}/${id}/${path}`, { token, json: { content } })
        const parentOf = what === "replies" ? { parent_comment_id: id } : {}
        return post(comments, { token, json: { news_id, content, ...parentOf } })
      }
      const burst = yield* Effect.forEach(times(most + 7, String), () => once(ada.token), {
        concurrency: "unbounded"
      })
      assert.strictEqual(having(burst, 429), 7)
      assert.strictEqual(having(burst, what === "likes" ? 204 : 201), most)
      const rejected = yield* once(ada.token)
      const seconds = Number(rejected.json["retry_after"])
      assert.strictEqual(rejected.headers.get("retry-after"), String(seconds))
      assert.include(String(rejected.json["detail"]), `Too many ${what}`)
      assert.notStrictEqual((yield* once(bob.token)).status, 429)
      yield* TestClock.adjust(`${seconds - 1} seconds`)
      assert.strictEqual((yield* once(ada.token)).status, 429)
      yield* TestClock.adjust("1 second")
      assert.notStrictEqual((yield* once(ada.token)).status, 429)
    })
  )

  it.effect("Rejected requests and ended likes do not count towards the limits", () =>
    Effect.gen(function* () {
      const { news_id } = yield* newEvent()
      const { token } = yield* onboardClaimed()
      const headers = { "content-type": "application/json" }
      const bodies = ["{", "[]", '{"content":""}', JSON.stringify({ news_id, content: "" }), "null"]
      const reply = JSON.stringify({ content: "", parent_comment_id: "x" })
      for (const body of [...bodies, "{", ...times(12, () => reply)]) {
        assert.strictEqual((yield* post(comments, { token, headers, body })).status, 400)
      }
      for (const method of times(70, (index) => (index % 2 === 0 ? "POST" : "DELETE"))) {
        const { status } = yield* send(method, `/api/v1/agent/replies/${unknown}/like`, { token })
        assert.strictEqual(status, method === "POST" ? 404 : 204)
      }
    })
  )

  it.effect("A request without the scope does not count towards the limits", () =>
    Effect.gen(function* () {
      const { news_id } = yield* newEvent()
      const { token } = yield* onboard({ requested_scopes: ["comment:reply"] })
      for (const _ of times(8, String)) {
        assert.strictEqual((yield* post(comments, { token, json: { news_id, content: "x" } })).status, 403)
      }
    })
  )
})
